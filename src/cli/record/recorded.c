/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/recorded.h"

#include <errno.h>
#include <string.h>

#include "schema/schema.h"

/* "block,net,phases" */
static bool recorded_has(struct bytes list, const char *word)
{
	while (list.len) {
		const uint8_t *comma = memchr(list.data, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.data) : list.len;

		if (bytes_is((struct bytes){list.data, len}, word))
			return true;
		len += comma != NULL;
		list = (struct bytes){list.data + len, list.len - len};
	}
	return false;
}

int recorded_with(const struct store *s, const char *word)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	size_t with = 0, recordings = MAX(store_recording_count(s), (size_t)1);
	int r = store_cursor_new(&cursor, s);

	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++) {
		const struct store_block *block = store_block(s, i);
		const struct batch *b;

		if (block->table != TABLE_MARK || !store_block_counts(block))
			continue;
		r = store_decode(cursor, i, ~0ull, &b, NULL);
		for (size_t row = 0; r >= 0 && row < b->rows; row++)
			with += bytes_is(batch_get_bytes(b, MARK_NAME, row), "weir.with") &&
				recorded_has(batch_get_bytes(b, MARK_TEXT, row), word);
		r = r == -EBADMSG ? 0 : r;
	}
	return r < 0 ? r : !with ? RECORDED_NOT : with >= recordings ? RECORDED_YES : RECORDED_SOME;
}

/* What did not happen, per word. */
static const char *what_of(const char *word)
{
	static const struct {
		const char *word, *what;
	} known[] = {
		{"block", "no disk had a request"},
		{"net", "no recorded thread used a TCP connection"},
		{"phases", "no call ended"},
		{"sched", "no recorded thread was without a CPU"},
		{"irq", "no interrupt handler ran"},
		{"mem", "no page was allocated or freed"},
		{"faults", "no page fault read a mapped file"},
		{"stacks", "no selected call had a stack"},
		{"content", "no call moved a byte"},
		{"details", "no argument pointed to data"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].word, word))
			return known[i].what;
	}
	return "no such events occurred";
}

int recorded_put_none(FILE *to, const struct store *s, const char *word)
{
	static const char *const options[] = {"stacks", "content", "phases"};
	bool option = false; /* of its own, besides --with */
	int r = s ? recorded_with(s, word) : RECORDED_NOT;

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		option |= !strcmp(word, options[i]);
	if (r == RECORDED_NOT)
		fprintf(to,
			"this trace was recorded without %s; use weir record --%s%s -- "
			"CMD\n",
			word, option ? "" : "with ", word);
	else
		fprintf(to, "%s%s was on, and %s\n", option ? "--" : "--with ", word,
			what_of(word));
	return 0;
}
