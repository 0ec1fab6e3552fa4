/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thin FROM TO SEED BURST [TABLE...]: copies a trace as if its recorder had lost 1 % of the rows of these tables (op), so many
 * after each other at a time, and had counted them. Content (chunk) that is lost leaves a row with its position and size. Prints
 * how many.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/copy_trace.h"
#include "schema/vocab.h"

#define LOST_SHARE 0.01

struct thinner {
	unsigned short state[3]; /* of erand48() */
	int burst, left;	 /* calls of the burst that are still to be lost */
	int64_t cpu;		 /* a burst is lost on one CPU */
	uint64_t lost;
	char *const *tables; /* ends with NULL */
	struct map sockets;  /* ids */
};

/* Of a call; records of other tables go through one ring for all CPUs. */
static int64_t cpu_of(const struct batch *b, size_t row)
{
	return b->table == TABLE_OP ? batch_get(b, OP_CPU, row, -1) : 0;
}

/* Whether this row is lost: one of the CPU whose ring is full. */
static bool is_lost(struct thinner *t, const struct batch *b, size_t row)
{
	if (t->left == 0 && erand48(t->state) < LOST_SHARE / t->burst) {
		t->left = t->burst;
		t->cpu = cpu_of(b, row);
	}
	if (t->left == 0 || cpu_of(b, row) != t->cpu)
		return false;
	t->left--;
	t->lost++;
	return true;
}

/* A row of loss for a call, as a recorder knows it: when, where and whose. */
static int add_loss(struct batch *losses, const struct batch *b, size_t row)
{
	int64_t stop = batch_get(b, OP_START, row, 0) + batch_get(b, OP_DUR, row, 0);
	size_t at = losses->rows;
	int r = batch_add_row(losses);

	if (r < 0 || (r = batch_set(losses, LOSS_START, at, stop)) < 0 ||
	    (r = batch_set(losses, LOSS_STOP, at, stop)) < 0 ||
	    (r = batch_set(losses, LOSS_CPU, at, batch_get(b, OP_CPU, row, 0))) < 0 ||
	    (r = batch_set(losses, LOSS_CAUSE, at, CAUSE_RING_FULL)) < 0 ||
	    (r = batch_set(losses, LOSS_EVENTS, at, 1)) < 0)
		return r;
	return batch_is_null(b, OP_THREAD_ID, row)
		       ? 0
		       : batch_set(losses, LOSS_THREAD_ID, at, batch_get(b, OP_THREAD_ID, row, 0));
}

/* The same of a row of another table: how many. */
static int add_loss_beside(struct batch *losses, enum table_id table)
{
	size_t at = losses->rows;
	int r = batch_add_row(losses);

	if (r >= 0)
		r = batch_set(losses, LOSS_CAUSE, at, CAUSE_SIDE_FULL);
	if (r >= 0)
		r = batch_set_str(losses, LOSS_OF, at, schema_table(table)->name);
	return r < 0 ? r : batch_set(losses, LOSS_EVENTS, at, 1);
}

static int note_sockets(struct thinner *t, const struct batch *b)
{
	int r = 0;

	for (size_t row = 0; row < b->rows && r >= 0; row++) {
		if (batch_get(b, FILE_TYPE, row, -1) == FILE_TYPE_SOCKET)
			r = map_set(&t->sockets, (uint64_t)batch_get(b, FILE_ID, row, 0), 1);
	}
	return r;
}

/* What a recorder stores of content that did not reach it: where it was in a file, as the call knows, but not what. */
static int add_unknown(struct thinner *t, struct batch *kept, const struct batch *b, size_t row)
{
	static const unsigned int known[] = {CHUNK_START,   CHUNK_DUR, CHUNK_THREAD_ID, CHUNK_OP,
					     CHUNK_FILE_ID, CHUNK_WAY, CHUNK_CALL_POS,	CHUNK_SIZE,
					     CHUNK_FORM,    CHUNK_POS};
	bool socket = map_get(&t->sockets, (uint64_t)batch_get(b, CHUNK_FILE_ID, row, -1), NULL);
	size_t at = kept->rows;
	int r;

	if (batch_is_null(b, CHUNK_OUTCOME, row))
		return 0;
	r = (int)batch_add_row(kept);
	for (size_t i = 0; i < ARRAY_SIZE(known) - socket && r >= 0; i++) {
		if (!batch_is_null(b, known[i], row))
			r = batch_set(kept, known[i], at, batch_get(b, known[i], row, 0));
	}
	return r < 0 ? r : batch_set(kept, CHUNK_OUTCOME, at, OUTCOME_LOST);
}

static bool is_thinned(const struct thinner *t, enum table_id table)
{
	for (char *const *name = t->tables; *name; name++) {
		if (strcmp(*name, schema_table(table)->name) == 0)
			return true;
	}
	return table == TABLE_OP && !*t->tables;
}

static int thin_block(void *arg, const struct batch *b, struct store_writer *to, struct error *err)
{
	struct thinner *t = arg;
	_cleanup_(batch_freep) struct batch *kept = NULL, *losses = NULL;
	int r;

	if (b->table == TABLE_FILE && note_sockets(t, b) < 0)
		return -ENOMEM;
	if (!is_thinned(t, b->table))
		return store_append(to, b, err);
	r = batch_new(&kept, b->table);
	if (r >= 0)
		r = batch_new(&losses, TABLE_LOSS);
	for (size_t row = 0; row < b->rows && r >= 0; row++) {
		bool lost = is_lost(t, b, row);

		if (!lost)
			r = batch_append(kept, b, row, row + 1);
		else if (b->table == TABLE_OP)
			r = add_loss(losses, b, row);
		else
			r = add_loss_beside(losses, b->table);
		if (r >= 0 && b->table == TABLE_CHUNK && lost)
			r = add_unknown(t, kept, b, row);
	}
	if (r >= 0 && kept->rows)
		r = store_append(to, kept, err);
	if (r >= 0 && losses->rows)
		r = store_append(to, losses, err);
	return r;
}

int main(int argc, char **argv)
{
	struct thinner t = {0};
	struct error err = {0};
	int r;

	if (argc < 5 || (t.burst = (int)strtol(argv[4], NULL, 10)) < 1) {
		fprintf(stderr, "usage: thin FROM TO SEED BURST [TABLE...]\n");
		return 2;
	}
	t.tables = argv + 5;
	t.state[0] = (unsigned short)strtol(argv[3], NULL, 10);
	r = copy_trace(argv[1], argv[2], thin_block, &t, &err);
	if (r < 0)
		fprintf(stderr, "thin: %s\n", err.message);
	else
		printf("%llu\n", (unsigned long long)t.lost);
	map_free(&t.sockets);
	return r < 0;
}
