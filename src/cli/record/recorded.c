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

struct recorded_word {
	const char *word;
	size_t with; /* recordings that have it */
};

static int recorded_take(void *arg, const struct store_block *block, const struct batch *b)
{
	struct recorded_word *w = arg;

	for (size_t row = 0; row < b->rows; row++)
		w->with += bytes_is(batch_get_bytes(b, MARK_NAME, row), "weir.with") &&
			   recorded_has(batch_get_bytes(b, MARK_TEXT, row), w->word);
	return 0;
}

int recorded_with(const struct store *s, const char *word)
{
	struct recorded_word w = {.word = word};
	size_t recordings = MAX(store_recording_count(s), (size_t)1);
	int r = store_each(s, 1ull << TABLE_MARK, ~0ull, recorded_take, &w, NULL);

	return r < 0		      ? r
	       : !w.with	      ? RECORDED_NOT
	       : w.with >= recordings ? RECORDED_YES
				      : RECORDED_SOME;
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
