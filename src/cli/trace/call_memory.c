/* SPDX-License-Identifier: Apache-2.0 */
/* call_memory.c: finds a call's memory in the rows of other tables that belong to it. */
#include "cli/trace/call_memory.h"

#include <string.h>

#include "base/utf8.h"
#include "schema/vocab.h"

#define CONTENT_SHOWN 32 /* bytes, strace's default for -s */

static struct bytes memory_find(const struct call_writer *w, uint64_t address, bool given,
				int64_t *ret_was)
{
	const struct call_rows *d = &w->style->details;

	for (size_t i = 0; address && i < d->count; i++) {
		int64_t was = batch_get(d->batch, DETAIL_WAS, d->rows[i], 0);

		if ((uint64_t)batch_get(d->batch, DETAIL_ADDRESS, d->rows[i], 0) != address ||
		    (given && !was))
			continue;
		if (ret_was)
			*ret_was = was;
		return batch_get_bytes(d->batch, DETAIL_CONTENT, d->rows[i]);
	}
	return (struct bytes){NULL, 0};
}

struct bytes call_memory(const struct call_writer *w, uint64_t address)
{
	const struct call_rows *d = &w->style->details;
	struct bytes found = {NULL, 0};

	/* the last match: the memory at entry comes before that at exit */
	for (size_t i = 0; address && i < d->count; i++) {
		if ((uint64_t)batch_get(d->batch, DETAIL_ADDRESS, d->rows[i], 0) == address)
			found = batch_get_bytes(d->batch, DETAIL_CONTENT, d->rows[i]);
	}
	return found;
}

struct bytes call_memory_was(const struct call_writer *w, uint64_t address, int64_t *ret_was)
{
	return memory_find(w, address, true, ret_was);
}

bool call_memory_recorded(const struct call_writer *w)
{
	return w->style->detailed;
}

struct bytes call_memory_content(const struct call_writer *w)
{
	const struct call_rows *c = &w->style->content;

	for (size_t i = 0; i < c->count; i++) {
		if (batch_get(c->batch, CHUNK_FORM, c->rows[i], -1) == FORM_PAYLOAD &&
		    batch_get(c->batch, CHUNK_CALL_POS, c->rows[i], -1) == 0)
			return batch_get_bytes(c->batch, CHUNK_CONTENT, c->rows[i]);
	}
	return (struct bytes){NULL, 0};
}

uint64_t call_memory_address(const struct call_writer *w, unsigned int i)
{
	return (uint64_t)call_value(w, OP_A0 + i, 0);
}

/* True if all bytes are characters, except a last one that is cut. */
static bool memory_is_text(struct bytes b)
{
	uint32_t c;

	for (size_t i = 0, len; i < b.len; i += len) {
		len = utf8_decode(b.data + i, b.len - i, &c);
		if (!len && b.len - i < 4 && b.data[i] >= 0xc2)
			return true;
		if (!len)
			return false;
	}
	return true;
}

void call_put_content(struct call_writer *w, struct bytes text, uint64_t whole)
{
	size_t most = w->style->content_max ? w->style->content_max : CONTENT_SHOWN;
	struct bytes shown = {text.data, MIN(text.len, most)};

	bool text_only = memory_is_text(shown);

	call_put(w, "\"");
	call_note(w, text_only ? call_text_escape(w->to, shown, "\"")
			       : call_text_escape_bytes(w->to, shown));
	call_put(w, shown.len < whole ? "\"..." : "\"");
}
