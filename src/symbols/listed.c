/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed.c: lists of functions in text form: the kernel's in /proc/kallsyms ("ffffffff81000000 T name [module]"), and
 * those of just-in-time compilers in /tmp/perf-PID.map ("START SIZE name", hexadecimal). If an address was compiled
 * several times, the last entry of the map counts.
 */
#include "symbols/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define LISTED_BYTES_MAX (64ul << 20) /* of a map; the rest is not read */

struct entry {
	uint64_t start, size;
	uint32_t name, order;
};

struct listed {
	struct entry *entries; /* sorted by start, later ones after earlier */
	size_t count, cap;
	struct buf names;
};

void listed_free(struct listed *l)
{
	if (!l)
		return;
	free(l->entries);
	buf_free(&l->names);
	free(l);
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return ORDER(x->start, y->start) ?: ORDER(x->order, y->order);
}

static int listed_add(struct listed *l, uint64_t start, uint64_t size, const char *name)
{
	size_t len = strcspn(name, "\n");
	int r = grow((void **)&l->entries, &l->cap, l->count + 1, sizeof(*l->entries));

	if (r < 0 || l->names.len > UINT32_MAX - len - 1)
		return r < 0 ? r : -E2BIG;
	l->entries[l->count] = (struct entry){.start = start,
					      .size = size,
					      .name = (uint32_t)l->names.len,
					      .order = (uint32_t)l->count};
	buf_append(&l->names, name, len);
	r = buf_append(&l->names, "", 1);
	l->count += r >= 0;
	return r;
}

static int listed_take_kernel(struct listed *l, const char *line)
{
	char *end;
	uint64_t start = strtoull(line, &end, 16);

	/* without the privilege to see them, all addresses are 0 */
	if (!start || end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	if (!strchr("tTwW", end[1]))
		return 0;
	line = end + 3;
	return listed_add(l, start, 0, line);
}

static int listed_take_jit(struct listed *l, const char *line)
{
	char *end;
	uint64_t start = strtoull(line, &end, 16), size;

	if (end == line || *end != ' ')
		return 0;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return 0;
	return listed_add(l, start, size, end + 1);
}

static int listed_read(struct listed *l, FILE *f, bool kernel)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0, bytes = 0;
	ssize_t n;
	int r = 0;

	while (r >= 0 && bytes < LISTED_BYTES_MAX && (n = getline(&line, &cap, f)) > 0) {
		bytes += (size_t)n;
		if (kernel)
			line[strcspn(line, "\t")] = 0; /* "[module]" follows a tab */
		r = kernel ? listed_take_kernel(l, line) : listed_take_jit(l, line);
	}
	array_sort(l->entries, l->count, entry_compare);
	return l->count ? 0 : -ENOENT;
}

/* Opens the map in the process's /tmp; after the process has ended, in the recorder's. */
static int open_map(const struct symbols_module *m)
{
	char path[96];
	int fd;

	if (m->pid <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)m->pid,
		 (int)(m->inner_pid > 0 ? m->inner_pid : m->pid));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)m->pid);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

struct listed *listed_open(const struct symbols_module *m)
{
	_cleanup_(listed_freep) struct listed *l = calloc(1, sizeof(*l));
	int fd = m->fd >= 0		  ? fcntl(m->fd, F_DUPFD_CLOEXEC, 0)
		 : m->kind == SYMBOLS_JIT ? open_map(m)
					  : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int r;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	r = l ? listed_read(l, f, m->kind == SYMBOLS_KERNEL) : -ENOMEM;
	fclose(f);
	return r < 0 ? NULL : TAKE_PTR(l);
}

const char *listed_name(const struct listed *l, uint64_t address)
{
	size_t low = array_first(i, 0, l->count, l->entries[i].start > address);
	const struct entry *e;

	if (!low)
		return NULL;
	e = &l->entries[low - 1];
	if (e->size && address - e->start >= e->size)
		return NULL;
	return (const char *)l->names.data + e->name;
}
