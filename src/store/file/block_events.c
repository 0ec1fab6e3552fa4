/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/block_events.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "store/file/read/reader.h"

#define RANGE_MAX (5 * VARINT_MAX) /* bytes of one CPU in an extra */
#define CPUS_MAX  (1u << 16)	   /* a reader accepts no higher number */

/* ---- writing ---- */

int events_note(struct event_notes *n, const struct event_count *cpus, size_t count)
{
	if (!n->count && count) {
		n->now = calloc(count, sizeof(*n->now));
		n->written = calloc(count, sizeof(*n->written));
		if (!n->now || !n->written) {
			events_free(n);
			return -ENOMEM;
		}
		n->count = count;
	}
	assert(count == n->count);
	if (count)
		memcpy(n->now, cpus, count * sizeof(*cpus));
	return 0;
}

int events_text(struct event_notes *n, struct bytes *ret)
{
	int r = 0;

	buf_clear(&n->text);
	for (size_t i = 0; i < n->count && r >= 0; i++) {
		const struct event_count *now = &n->now[i], *written = &n->written[i];
		uint8_t text[RANGE_MAX];
		size_t len;

		assert(now->next >= written->next && now->came >= written->came);
		if (now->next == written->next && now->filtered == written->filtered)
			continue;
		len = varint_put(text, i);
		len += varint_put(text + len, written->next);
		len += varint_put(text + len, now->next - written->next);
		len += varint_put(text + len, now->came - written->came);
		len += varint_put(text + len, now->filtered - written->filtered);
		assert(len <= sizeof(text));
		r = buf_append(&n->text, text, len);
	}
	*ret = (struct bytes){n->text.data, n->text.len};
	return r;
}

void events_committed(struct event_notes *n)
{
	if (n->count)
		memcpy(n->written, n->now, n->count * sizeof(*n->now));
}

void events_free(struct event_notes *n)
{
	free(n->now);
	free(n->written);
	buf_free(&n->text);
	*n = (struct event_notes){0};
}

/* ---- reading ---- */

bool events_next(const uint8_t **p, const uint8_t *end, struct event_range *ret)
{
	struct event_range e;

	if (!varint_get(p, end, &e.cpu) || !varint_get(p, end, &e.first) ||
	    !varint_get(p, end, &e.numbers) || !varint_get(p, end, &e.came) ||
	    !varint_get(p, end, &e.filtered) || e.cpu >= CPUS_MAX || e.came > e.numbers ||
	    e.first + e.numbers < e.first)
		return false;
	*ret = e;
	return true;
}

/*
 * Adds a CPU's range, which must continue that CPU's numbers in the recording. If the first files were dropped, it
 * may begin with any number.
 */
static int add_range(struct store_events *sum, struct map *next, const struct trace *t,
		     const struct event_range *e)
{
	uint64_t key = (uint64_t)t->recording << 32 ^ e->cpu, from = 0;

	assert(e->cpu < CPUS_MAX && e->came <= e->numbers);
	if (!map_get(next, key, &from) && t->part)
		from = e->first;
	sum->told = true;
	sum->gaps += e->first != from;
	sum->numbers += e->numbers;
	sum->missing += e->numbers - e->came;
	sum->filtered += e->filtered;
	return map_set(next, key, e->first + e->numbers);
}

void store_events(const struct store *s, struct store_events *ret)
{
	_cleanup_(map_free) struct map next = {0};
	int r = 0;

	*ret = (struct store_events){0};
	for (size_t i = 0; i < store_block_count(s) && r >= 0; i++) {
		const struct block *b = reader_block(s, i);
		const struct block_extra *x = NULL;

		while ((x = block_extra(&b->view, x)) && r >= 0) {
			const uint8_t *p = (const uint8_t *)(x + 1), *end = p + x->len;
			struct event_range e;

			while (x->kind == EXTRA_EVENTS && r >= 0 && events_next(&p, end, &e))
				r = add_range(ret, &next, &s->traces[b->pub.trace], &e);
		}
	}
	/* Without memory nothing can be proved. */
	ret->gaps += r < 0;
}
