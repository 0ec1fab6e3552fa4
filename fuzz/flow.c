/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `weir flow` and its tables of equal data over traces whose values are wrong, though their blocks are whole. An input is one byte,
 * which chooses the options, and a trace file. The mutator decodes the trace, changes, repeats, removes or moves rows, and encodes
 * it again, so that everything behind the checksums is reached.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tests/common/copy_trace.h"
#include "analysis/flow/flow.h"

#define CHANGES_MAX 8

extern const struct analysis analysis_flow;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);

/* ---- the mutator ---- */

struct flow_mutation {
	unsigned short state[3]; /* of nrand48() */
	size_t rows, at;	 /* of the trace; of those that were copied */
	struct {
		size_t row;
		unsigned int how;
	} changes[CHANGES_MAX];
	size_t count;
};

static uint64_t mutation_draw(struct flow_mutation *m, uint64_t below)
{
	uint64_t bits = (uint64_t)nrand48(m->state) << 31 ^ (uint64_t)nrand48(m->state);

	return below ? bits % below : bits;
}

/* A value near the old one, one of another row, or an extreme one. */
static int64_t mutation_value(struct flow_mutation *m, const struct batch *b, unsigned int column,
			      int64_t old)
{
	static const int64_t extremes[] = {0, 1, -1, 4095, 4096, 65536, INT64_MAX, INT64_MIN};

	switch (mutation_draw(m, 4)) {
	case 0:
		return (int64_t)((uint64_t)old + mutation_draw(m, 33) - 16);
	case 1:
		return (int64_t)((uint64_t)old ^ 1ull << mutation_draw(m, 64));
	case 2:
		return extremes[mutation_draw(m, ARRAY_SIZE(extremes))];
	default:
		return batch_get(b, column, mutation_draw(m, b->rows), old);
	}
}

static int mutation_of_value(struct flow_mutation *m, struct batch *to, const struct batch *b)
{
	unsigned int column = (unsigned int)mutation_draw(m, schema_table(b->table)->column_count);
	size_t row = to->rows - 1;

	if (column_is_bytes(schema_table(b->table)->columns[column].type))
		return 0;
	return batch_set(to, column, row,
			 mutation_value(m, b, column, batch_get(to, column, row, 0)));
}

static int mutate_row(struct flow_mutation *m, struct batch *to, const struct batch *b, size_t row)
{
	unsigned int how = 0;
	int r;

	for (size_t i = 0; i < m->count; i++) {
		if (m->changes[i].row == m->at)
			how = m->changes[i].how;
	}
	m->at++;
	if (how == 1) /* lost */
		return 0;
	if (how == 2) /* another row in its place */
		row = mutation_draw(m, b->rows);
	r = batch_append(to, b, row, row + 1);
	if (r >= 0 && how == 3) /* twice */
		r = batch_append(to, b, row, row + 1);
	for (uint64_t n = how > 3 ? 1 + mutation_draw(m, 3) : 0; n && r >= 0; n--)
		r = mutation_of_value(m, to, b);
	return r;
}

static int mutate_block(void *arg, const struct batch *b, struct store_writer *to,
			struct error *err)
{
	_cleanup_(batch_freep) struct batch *kept = NULL;
	int r = batch_new(&kept, b->table);

	for (size_t row = 0; row < b->rows && r >= 0; row++)
		r = mutate_row(arg, kept, b, row);
	return r < 0 || !kept->rows ? r : store_append(to, kept, err);
}

static int count_block(void *arg, const struct batch *b, struct store_writer *to, struct error *err)
{
	struct flow_mutation *m = arg;

	(void)to;
	(void)err;
	m->rows += b->rows;
	return 0;
}

static bool trace_write(const char *path, const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "we");
	bool good = f && fwrite(data, 1, size, f) == size;

	return f && fclose(f) == 0 && good;
}

/* 0: it does not fit. */
static size_t trace_read(const char *path, uint8_t *data, size_t max)
{
	FILE *f = fopen(path, "re");
	size_t size = f ? fread(data, 1, max, f) : 0;

	if (f && fgetc(f) != EOF)
		size = 0;
	if (f)
		fclose(f);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct flow_mutation m = {.state = {(unsigned short)seed, (unsigned short)(seed >> 16)}};
	char from[64], to[64];
	struct error err = {0};
	size_t made = 0;

	snprintf(from, sizeof(from), "/dev/shm/fuzz-flow-%d.from", getpid());
	snprintf(to, sizeof(to), "/dev/shm/fuzz-flow-%d.to", getpid());
	if (size > 1 && trace_write(from, data + 1, size - 1) &&
	    copy_trace(from, to, count_block, &m, &err) >= 0 && m.rows) {
		unlink(to);
		m.count = 1 + mutation_draw(&m, CHANGES_MAX);
		for (size_t i = 0; i < m.count; i++) {
			m.changes[i].row = mutation_draw(&m, m.rows);
			m.changes[i].how = 1 + (unsigned int)mutation_draw(&m, 8);
		}
		if (copy_trace(from, to, mutate_block, &m, &err) >= 0)
			made = trace_read(to, data + 1, max - 1);
	}
	unlink(from);
	unlink(to);
	if (size && !mutation_draw(&m, 4))
		data[0] = (uint8_t)mutation_draw(&m, 256);
	return made ? made + 1 : size;
}

/* ---- the target ---- */

static void flow_of(const char *path, uint8_t choice)
{
	static const struct flow_options options[] = {
		{0},
		{.list = true, .most = 50},
		{.from = "op == write || op == sendto"},
		{.past = "1"},
		{.alike = {.groups = true, .least = 60}, .list = true},
		{.alike = {.order = true}},
	};
	struct flow_options o = options[choice % ARRAY_SIZE(options)];
	struct analysis_run run = {.name = "fuzz", .from = INT64_MIN, .to = INT64_MAX};
	struct analysis_input in = {
		.analysis = &analysis_flow, .runs = &run, .count = 1, .options = &o, .threads = 1};
	struct analysis_result out = {0};
	struct error err = {0};
	struct buf text = {0};

	if (store_open_corrected(&run.store, &path, 1, &err) < 0)
		return;
	store_range(run.store, &run.first, &run.last);
	analysis_run_within(&run, run.first, run.last);
	if (analysis_answer(&in, &out, &err) >= 0 &&
	    analysis_flow.put_members(&in, &out, &text) < 0)
		abort();
	buf_free(&text);
	analysis_result_free(&analysis_flow, &out);
	store_free(run.store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd;

	if (size < 2)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	flow_of(path, data[0]);
	close(fd);
	return 0;
}
