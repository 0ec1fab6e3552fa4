/* SPDX-License-Identifier: Apache-2.0 */
#include "base/records.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FIRST_READ 4096 /* bytes of a record read at first: most are shorter */

/* Layout in the file: the table, then the records, each preceded by its size. A place of 0 means none, so the file
 * begins with padding. */
struct record_run {
	uint64_t places[RECORDS_RUN]; /* offset in data plus 1; in the file: absolute position */
	struct buf data;
};

void records_init(struct records *r, size_t max)
{
	*r = (struct records){.fd = -1, .end = 8, .max = max};
}

static void run_free(struct record_run *run)
{
	if (run)
		buf_free(&run->data);
	free(run);
}

void records_free(struct records *r)
{
	for (size_t i = 0; i < r->count; i++)
		run_free(r->runs[i]);
	free(r->runs);
	free(r->places);
	buf_free(&r->loan);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct records){.fd = -1};
}

static int file_open(void)
{
	const char *const dirs[] = {secure_getenv("TMPDIR"), "/var/tmp", "/tmp"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int fd = dirs[i] && *dirs[i] ? open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
					     : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The table of a run as stored in the file; zeros if the run is not there yet. */
static bool table_read(const struct records *r, size_t index, uint64_t table[RECORDS_RUN])
{
	memset(table, 0, RECORDS_RUN * sizeof(*table));
	return !r->places[index] || pread(r->fd, table, RECORDS_RUN * sizeof(*table),
					  (off_t)r->places[index]) == RECORDS_RUN * sizeof(*table);
}

/*
 * Moves the lowest run in memory to the file. The run may already be there, if another CPU's ring was read later. If
 * this fails, the run stays in memory and moving is not tried again.
 */
static void run_spill(struct records *r)
{
	uint64_t table[RECORDS_RUN], where, data;
	struct record_run *run;

	while (!r->runs[r->first])
		r->first++;
	run = r->runs[r->first];
	if (r->fd < 0)
		r->fd = file_open();
	where = r->places[r->first] ? r->places[r->first] : r->end;
	data = where == r->end ? r->end + sizeof(table) : r->end;
	r->refused = r->fd < 0 || !table_read(r, r->first, table);
	for (size_t i = 0; i < RECORDS_RUN; i++) {
		if (run->places[i])
			table[i] = data + run->places[i] - 1;
	}
	if (r->refused || fd_write_at(r->fd, run->data.data, run->data.len, data) < 0 ||
	    fd_write_at(r->fd, table, sizeof(table), where) < 0) {
		r->refused = true;
		return;
	}
	r->places[r->first] = where;
	r->end = data + run->data.len;
	r->runs[r->first++] = NULL;
	r->in_memory--;
	run_free(run);
}

/* Makes room for the tables of runs up to this one. */
static int runs_reach(struct records *r, size_t index)
{
	int e = grow((void **)&r->runs, &r->runs_cap, index + 1, sizeof(*r->runs));

	e = e ? e : grow((void **)&r->places, &r->places_cap, index + 1, sizeof(*r->places));
	if (e < 0)
		return e;
	for (; r->count <= index; r->count++) {
		r->runs[r->count] = NULL;
		r->places[r->count] = 0;
	}
	return 0;
}

int records_put(struct records *r, uint64_t number, const void *record, size_t size)
{
	size_t index = number / RECORDS_RUN, at;
	uint64_t len = size, padding = 0;
	struct record_run *run;
	int e = runs_reach(r, index);

	if (e < 0)
		return e;
	if (!r->runs[index]) {
		r->runs[index] = calloc(1, sizeof(struct record_run));
		if (!r->runs[index])
			return -ENOMEM;
		r->in_memory++;
		r->first = MIN(r->first, index);
		/* Not the run just begun, although it may be the lowest. */
		while (r->in_memory > r->max && r->first < index && !r->refused)
			run_spill(r);
	}
	run = r->runs[index];
	at = run->data.len;
	buf_append(&run->data, &len, sizeof(len));
	buf_append(&run->data, record, size);
	e = buf_append(&run->data, &padding, -size % sizeof(padding));
	if (e < 0) {
		run->data.len = at;
		return e;
	}
	run->places[number % RECORDS_RUN] = at + 1;
	return 0;
}

/* Reads up to `len` bytes at `at` into the loan; the number of bytes read, or -1. */
static ssize_t loan_read(struct records *r, uint64_t at, size_t len)
{
	buf_clear(&r->loan);
	if (buf_reserve(&r->loan, len) < 0)
		return -1;
	return pread(r->fd, r->loan.data, len, (off_t)at);
}

static const void *file_get(struct records *r, size_t index, uint64_t number, size_t *ret_size)
{
	uint64_t at = 0, size;
	ssize_t n;

	if (pread(r->fd, &at, sizeof(at),
		  (off_t)(r->places[index] + number % RECORDS_RUN * sizeof(at))) != sizeof(at) ||
	    !at)
		return NULL;
	n = loan_read(r, at, FIRST_READ);
	if (n < (ssize_t)sizeof(size))
		return NULL;
	memcpy(&size, r->loan.data, sizeof(size));
	if (size > FIRST_READ - sizeof(size))
		n = loan_read(r, at, sizeof(size) + size);
	if (n < 0 || (size_t)n < sizeof(size) + size)
		return NULL;
	*ret_size = size;
	return r->loan.data + sizeof(size);
}

const void *records_get(struct records *r, uint64_t number, size_t *ret_size)
{
	size_t index = number / RECORDS_RUN, ignored;
	const struct record_run *run;
	uint64_t at, size;

	ret_size = ret_size ? ret_size : &ignored;
	if (index >= r->count)
		return NULL;
	run = r->runs[index];
	at = run ? run->places[number % RECORDS_RUN] : 0;
	if (!at)
		return r->places[index] ? file_get(r, index, number, ret_size) : NULL;
	memcpy(&size, run->data.data + at - 1, sizeof(size));
	*ret_size = size;
	return run->data.data + at - 1 + sizeof(size);
}
