/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/span_stack.h"

#include <string.h>

#include "capture/ebpf/spans/spans.h"

#define OF_STACKS (1ull << 63) /* distinguishes them from numbers of processes with rings */

void span_stack_init(struct decode *d, struct span_stack *s, enum span_source source, int32_t pid,
		     uint64_t process_start)
{
	*s = (struct span_stack){.as = {.pid = pid,
					.process_start = process_start,
					.number = OF_STACKS | ++spans_rows(d->spans)->stacks,
					.source = source}};
}

void span_stack_free(struct span_stack *s)
{
	free(s->open);
	s->open = NULL;
}

/* An id that is unique across recordings, and never 0. */
static uint64_t stack_id(struct decode *d, const struct span_stack *s, int64_t time)
{
	const uint64_t ident[4] = {(uint32_t)s->as.pid, s->as.process_start,
				   (uint64_t)(time + d->opt.clock_offset),
				   ++spans_rows(d->spans)->stack_ids};
	uint64_t id = hash_bytes(ident, sizeof(ident));

	return id ? id : 1;
}

/* Converts to an event for span_rows.h. */
static int stack_event(struct decode *d, const struct span_stack *s, const struct span_event *head,
		       struct bytes name, struct bytes value, int64_t thread, struct batch_set *out)
{
	struct {
		struct span_event head;
		uint8_t text[SPAN_NAME_LEN + SPAN_VALUE_LEN];
	} e = {.head = *head};

	e.head.process = s->as.number;
	e.head.name_len = (uint16_t)MIN(name.len, (size_t)SPAN_NAME_LEN);
	e.head.value_len = (uint16_t)MIN(value.len, (size_t)SPAN_VALUE_LEN);
	if (e.head.name_len)
		memcpy(e.text, name.data, e.head.name_len);
	if (e.head.value_len)
		memcpy(e.text + e.head.name_len, value.data, e.head.value_len);
	return span_rows_event(spans_rows(d->spans), &s->as, &e.head, thread, d->opt.clock_offset,
			       out);
}

int span_stack_begin(struct decode *d, struct span_stack *s, struct span_stack_open what,
		     struct bytes name, int64_t thread, int64_t time, struct batch_set *out)
{
	struct span_event e = {.type = SPAN_BEGIN, .time = time};
	int r;

	if (s->count >= SPAN_STACK_MAX) {
		s->beyond++;
		spans_rows(d->spans)->refused++;
		return 0;
	}
	r = grow((void **)&s->open, &s->cap, s->count + 1, sizeof(*s->open));
	if (r < 0)
		return r;
	e.span = what.span = stack_id(d, s, time);
	if (s->count) {
		e.parent = s->open[s->count - 1].span;
	} else {
		s->trace[0] = stack_id(d, s, time);
		s->trace[1] = stack_id(d, s, time);
	}
	memcpy(e.trace, s->trace, sizeof(e.trace));
	s->open[s->count++] = what;
	return stack_event(d, s, &e, name, (struct bytes){0}, thread, out);
}

bool span_stack_find(const struct span_stack *s, uint64_t key, uint64_t at, size_t *ret)
{
	for (size_t i = s->count; i > 0; i--) {
		if (s->open[i - 1].key == key && (!at || s->open[i - 1].at == at)) {
			*ret = i - 1;
			return true;
		}
	}
	return false;
}

int span_stack_end(struct decode *d, struct span_stack *s, size_t at, bool cut, int64_t thread,
		   int64_t time, struct batch_set *out)
{
	struct span_event e = {.type = SPAN_END, .time = time};
	int r = 0;

	while (s->count > at && !r) { /* the innermost first */
		e.span = s->open[--s->count].span;
		e.flags = s->count > at || cut ? SPAN_CUT : 0;
		r = stack_event(d, s, &e, (struct bytes){0}, (struct bytes){0}, thread, out);
	}
	return r;
}

int span_stack_note(struct decode *d, const struct span_stack *s, struct bytes name,
		    struct bytes value, int64_t integer, uint8_t flags, int64_t thread,
		    int64_t time, struct batch_set *out)
{
	struct span_event e = {.type = SPAN_NOTE, .time = time, .integer = integer, .flags = flags};

	if (s->count)
		e.span = s->open[s->count - 1].span;
	if (value.len > SPAN_VALUE_LEN)
		e.flags |= SPAN_CUT;
	return stack_event(d, s, &e, name, value, thread, out);
}

int span_stack_close(struct decode *d, struct span_stack *s, enum span_status status, int64_t time,
		     struct batch_set *out)
{
	s->count = 0;
	return span_rows_close(spans_rows(d->spans), &s->as, status, time, d->opt.clock_offset,
			       out);
}
