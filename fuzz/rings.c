/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program wrote into the memory of its spans: any bytes, as names, as records of two rings, as stamps beside the moments of
 * a recorder. What becomes rows has names and texts within their limits, a time, and an end that is no earlier.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/ebpf/spans/span_rows.h"

#define RINGS	   2
#define NAME_BYTES SPAN_PAGE

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct start {
	uint64_t first_tsc,
		ticks; /* of the recorder's counter from its start to the last round, and to this one */
	uint32_t names, ring; /* bytes of names, and of the first ring's records */
	uint8_t clock, close;
	uint8_t pad[6];
};

static void check_row(const struct batch *b)
{
	for (size_t i = 0; b && i < b->rows; i++) {
		unsigned int name = b->table == TABLE_SPAN ? SPAN_NAME : NOTE_NAME;

		if (b->table == TABLE_SPAN && batch_get(b, SPAN_DUR, i, 0) < 0)
			abort();
		if (batch_get_bytes(b, name, i).len > 4 * SPAN_NAME_LEN)
			abort();
	}
}

static void give(struct span_rows *rows, struct span_process *p, struct span_events *e, bool close)
{
	_cleanup_batch_set_ struct batch_set out = {0};
	const struct span_event *ev;
	int r = 0;

	while (r >= 0 && (ev = span_events_next(e, INT64_MAX))) {
		r = span_rows_event(rows, p, ev, ev->tid & 3, 1, &out);
		if (ev->name_len + ev->service_len + ev->key_len + ev->value_len > 4 * UINT16_MAX)
			abort();
	}
	if (r >= 0 && close)
		r = span_rows_close(rows, p, SPAN_STATUS_CUT, p->attached, 1, &out);
	check_row(out.tables[TABLE_SPAN]);
	check_row(out.tables[TABLE_NOTE]);
}

/* A chunk of its own size, so that a step beyond it is seen. */
static void add(struct span_process *p, uint32_t ring, const struct start *s, const uint8_t *data,
		size_t size, struct span_events *e)
{
	const size_t len = MIN(size, (size_t)SPAN_RING_LEAST) & ~(size_t)7;
	struct span_chunk *c = malloc(sizeof(*c) + len);

	if (!c)
		return;
	*c = (struct span_chunk){.process = p,
				 .ring = ring,
				 .len = (uint32_t)len,
				 .until = p->attached + 1000000000,
				 .first = {s->first_tsc, 1000},
				 .before = {s->first_tsc + s->ticks / 2, p->attached},
				 .at = {s->first_tsc + s->ticks, p->attached + 4000000}};
	memcpy(c + 1, data, len);
	if (span_events_add(e, c) < 0)
		abort();
	free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span_ring_read rings[RINGS] = {0};
	struct span_process p = {.number = 1,
				 .attached = 5000000000000,
				 .ring_max = RINGS,
				 .ring_bytes = SPAN_RING_LEAST,
				 .name_bytes = NAME_BYTES,
				 .service = "fuzz",
				 .rings = rings};
	struct span_events e = {0};
	struct span_rows rows = {0};
	struct start s;
	size_t names, first;

	if (size < sizeof(s))
		return 0;
	memcpy(&s, data, sizeof(s));
	data += sizeof(s);
	size -= sizeof(s);
	p.clock = s.clock & 1 ? SPAN_CLOCK_TSC : SPAN_CLOCK_MONOTONIC;
	names = MIN(s.names % NAME_BYTES, size);
	first = MIN(s.ring % SPAN_RING_LEAST, size - names);
	p.map = malloc(SPAN_PAGE + NAME_BYTES);
	if (!p.map)
		return 0;
	memset(p.map, 0, SPAN_PAGE + NAME_BYTES);
	memcpy(p.map + SPAN_PAGE, data, names);
	span_rows_init(&rows);
	add(&p, 0, &s, data + names, first, &e);
	add(&p, 1, &s, data + names + first, size - names - first, &e);
	give(&rows, &p, &e, s.close & 1);
	span_rows_free(&rows);
	span_events_free(&e);
	free(p.map);
	return 0;
}
