// SPDX-License-Identifier: Apache-2.0
/*
 * fdlife.c: the descriptors of each process, from open to close: the table `fdlife`.
 *
 * Each process has a table of descriptors, as in the kernel. The trace does not contain descriptors that were open
 * before recording, inherited by a child, or received over a socket (SCM_RIGHTS). Such a descriptor is found by the
 * first call on it, counted in `before`, and treated as open from the beginning; one that no call uses remains unknown.
 * An exec closes descriptors with close-on-exec. For descriptors that were found open this flag is unknown: they are
 * dropped, and found again if they are used.
 *
 * If a call names another file than the table has for its descriptor, a close and an open were missed: both rows are
 * inexact. This also happens with tables that threads or processes share in unusual ways (CLONE_FILES between
 * processes, unshare()).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/features/fdlife/fd_acts.h"
#include "analysis/features/fdlife/fd_gone.h"
#include "analysis/features/fdlife/fd_rows.h"
#include "analysis/features/feature.h"
#include "analysis/features/file_patterns.h"
#include "base/saturate.h"

#define FD_ENTRIES_MAX	    (1u << 20) /* of all processes; further descriptors are not tracked */
#define FD_CLOSE_RANGE_EXEC (1 << 2)   /* CLOSE_RANGE_CLOEXEC, missing in Debian 12's headers */

enum fd_flag {
	FD_TAKEN = 1 << 0,
	FD_SEEN = 1 << 1, /* its open was recorded */
	FD_CLOEXEC_SET = 1 << 2,
	FD_IS_SOCKET = 1 << 3,
	FD_SENT = 1 << 4,    /* the last call that moved bytes sent them */
	FD_UNNAMED = 1 << 5, /* a socket whose row depends on its peer */
};

struct fd_entry {
	uint32_t file;
	uint32_t row; /* FEATURE_NONE: none, or none yet */
	union {
		uint64_t bytes; /* bytes written to it */
		int64_t opened; /* FD_UNNAMED: time of its open */
	};
	/* time of its last open or close; calls that began before refer to its previous state */
	int64_t since;
	uint32_t flags;
};

struct fd_process {
	struct fd_entry *entries; /* [count], indexed by descriptor */
	size_t count;
	int64_t first; /* time at which the process was first seen */
	uint32_t rows; /* head of its list of rows; FEATURE_NONE: empty */
	bool cut;      /* some descriptors were not tracked */
};

/* Marks an ended process: calls of its threads that end later are ignored. */
static struct fd_process *const FD_ENDED = (struct fd_process *)-1;

struct fdlife {
	const struct feature_world *world;
	struct fd_acts acts;
	struct file_patterns patterns;
	struct fd_rows rows;
	struct fd_gone gone;
	struct fd_process **processes; /* [process], NULL: no descriptors yet */
	size_t process_cap;
	size_t entries; /* number over all processes */
	int socket_op, memfd_op;
};

/* Context: a call, and the process that made it. */
struct fd_event {
	struct fdlife *life;
	struct fd_process *process;
	uint32_t number; /* of the process */
	const struct feature_call *call;
};

static struct fd_row *fd_row(const struct fdlife *l, const struct fd_entry *e)
{
	return e->row == FEATURE_NONE ? NULL : l->rows.rows[e->row];
}

/* ---- the table of a process ---- */

/* The process of a call, created when first seen; NULL: it has ended. 0 or -ENOMEM. */
static int fdlife_process(struct fdlife *l, uint32_t number, int64_t start, struct fd_process **ret)
{
	int r = feature_grow((void **)&l->processes, &l->process_cap, (size_t)number + 1,
			     sizeof(struct fd_process *));

	if (r < 0)
		return r;
	if (!l->processes[number]) {
		l->processes[number] = calloc(1, sizeof(struct fd_process));
		if (!l->processes[number])
			return -ENOMEM;
		l->processes[number]->first = start;
		l->processes[number]->rows = FEATURE_NONE;
	}
	*ret = l->processes[number] == FD_ENDED ? NULL : l->processes[number];
	return 0;
}

/* The entry of a descriptor, in use or free; NULL if there is none. */
static struct fd_entry *fd_entry(const struct fd_process *p, int64_t fd)
{
	return fd >= 0 && (uint64_t)fd < p->count ? &p->entries[fd] : NULL;
}

/* The same, created if necessary; *ret is NULL if it is not tracked. 0 or -ENOMEM. */
static int fd_entry_need(struct fdlife *l, struct fd_process *p, int64_t fd, struct fd_entry **ret)
{
	size_t count = p->count ? p->count : 16;
	struct fd_entry *entries;

	*ret = fd_entry(p, fd);
	if (*ret || fd < 0)
		return 0;
	while (count <= (uint64_t)fd && count <= FD_ENTRIES_MAX)
		count *= 2;
	if (count <= (uint64_t)fd || l->entries + count - p->count > FD_ENTRIES_MAX) {
		p->cut = true;
		return 0;
	}
	entries = realloc(p->entries, count * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	memset(entries + p->count, 0, (count - p->count) * sizeof(*entries));
	l->entries += count - p->count;
	p->entries = entries;
	p->count = count;
	*ret = &entries[fd];
	return 0;
}

/* Finds the row of a descriptor. 0 or -ENOMEM. */
static int fd_entry_row(struct fdlife *l, uint32_t number, struct fd_entry *e)
{
	struct fd_process *p = l->processes[number];
	struct fd_row *row;
	int r = fd_rows_of(&l->rows, number, e->file, e->since, &e->row);

	if (r < 0)
		e->row = FEATURE_NONE;
	row = fd_row(l, e);
	if (!row) {
		p->cut = true;
		return r;
	}
	if (!row->linked) {
		row->linked = true;
		row->next = p->rows;
		p->rows = e->row;
	}
	return 0;
}

/* ---- events of a descriptor ---- */

static int64_t fd_start(const struct fd_event *ev)
{
	const struct feature_call *c = ev->call;

	return c->start == FEATURE_NULL ? c->stop : c->start;
}

/*
 * Determines a socket's row, whose name cannot become known later; thread_id: the thread to which its open counts, -1:
 * that of the row. 0 or -ENOMEM.
 */
static int fd_name(struct fdlife *l, uint32_t number, struct fd_entry *e, int64_t thread_id)
{
	int64_t opened = e->opened;
	int r;

	if (!(e->flags & FD_UNNAMED))
		return 0;
	e->flags &= ~(uint32_t)FD_UNNAMED;
	e->bytes = 0;
	r = fd_entry_row(l, number, e);
	if (r < 0 || e->row == FEATURE_NONE)
		return r;
	return fd_row_opened(&l->rows, fd_row(l, e), e->file,
			     thread_id < 0 ? fd_row(l, e)->thread_id : thread_id, opened);
}

/* A descriptor was closed: frees its entry. 0 or -ENOMEM. */
static int fdlife_lose(struct fd_event *ev, struct fd_entry *e, bool missed)
{
	int64_t stop = ev->call->stop;
	struct fd_row *row;
	int r = fd_name(ev->life, ev->number, e, ev->call->thread_id);

	row = fd_row(ev->life, e);
	if (row) {
		fd_row_closed(row, stop);
		row->late += missed;
	}
	*e = (struct fd_entry){.since = fd_start(ev)};
	return r;
}

/* A descriptor was opened. 0 or -ENOMEM. */
static int fdlife_gain(struct fd_event *ev, int64_t fd, uint32_t file, uint32_t flags)
{
	const struct feature_call *c = ev->call;
	int64_t start = fd_start(ev);
	struct fdlife *l = ev->life;
	struct fd_entry *e;
	int r;

	if (file == FEATURE_NONE || fd < 0)
		return 0;
	r = fd_entry_need(l, ev->process, fd, &e);
	if (r < 0 || !e)
		return r;
	/* usually its close has not ended yet: the kernel frees a descriptor at the beginning of close() */
	if (e->flags & FD_TAKEN) {
		r = fdlife_lose(ev, e, true);
		if (r < 0)
			return r;
	}
	*e = (struct fd_entry){.file = file,
			       .row = FEATURE_NONE,
			       .since = c->stop,
			       .flags = flags | FD_TAKEN | FD_SEEN};
	if (flags & FD_UNNAMED) {
		e->opened = start;
		return 0;
	}
	r = fd_entry_row(l, ev->number, e);
	if (r < 0 || e->row == FEATURE_NONE)
		return r;
	fd_row(l, e)->last = MAX(fd_row(l, e)->last, c->stop);
	return fd_row_opened(&l->rows, fd_row(l, e), file, c->thread_id, start);
}

static bool fd_is_socket(const struct fdlife *l, uint32_t file)
{
	struct dims_file room;
	const struct dims_file *f =
		dims_file(l->world->dims, feature_id(l->world->files, file), &room);

	return f && f->type == FILE_TYPE_SOCKET;
}

/* The descriptor that a call uses; if it is unknown, it was found open. *ret NULL: not tracked. 0 or -ENOMEM. */
static int fd_use(struct fd_event *ev, struct fd_entry **ret)
{
	const struct feature_call *c = ev->call;
	uint32_t file = c->file;
	struct fdlife *l = ev->life;
	struct fd_entry *e = fd_entry(ev->process, c->fd);
	bool missed = false;
	int r;

	*ret = e;
	if (e && (e->flags & FD_TAKEN) && (e->file == file || file == FEATURE_NONE))
		return 0;
	*ret = NULL;
	if (file == FEATURE_NONE || c->fd < 0)
		return 0;
	r = fd_entry_need(l, ev->process, c->fd, &e);
	if (r < 0 || !e)
		return r;
	if (e->flags & FD_TAKEN) {
		missed = true;
		r = fdlife_lose(ev, e, true);
		if (r < 0)
			return r;
	}
	*e = (struct fd_entry){.file = file,
			       .since = fd_start(ev),
			       .flags = FD_TAKEN | (fd_is_socket(l, file) ? FD_IS_SOCKET : 0)};
	r = fd_entry_row(l, ev->number, e);
	if (r < 0)
		return r;
	*ret = e;
	if (e->row == FEATURE_NONE)
		return 0;
	fd_row(l, e)->inexact |= missed;
	return fd_row_found(&l->rows, fd_row(l, e), file, c->thread_id, fd_start(ev));
}

/* A call moved bytes out of the program through a descriptor, or into it. 0 or -ENOMEM. */
static int fd_move(struct fd_event *ev, struct fd_entry *e, bool sends)
{
	int64_t bytes = ev->call->bytes;
	int r = fd_name(ev->life, ev->number, e, ev->call->thread_id);

	if (r < 0 || bytes <= 0)
		return r;
	if (sends)
		e->bytes = add_sat(e->bytes, (uint64_t)bytes);
	if (!(e->flags & FD_IS_SOCKET))
		return 0;
	if (sends) {
		e->flags |= FD_SENT;
	} else if (e->flags & FD_SENT) {
		e->flags &= ~(uint32_t)FD_SENT;
		if (fd_row(ev->life, e))
			fd_row(ev->life, e)->requests++;
	}
	return 0;
}

/* ---- effects of calls ---- */

static uint32_t fd_flags_of(const struct fd_event *ev)
{
	uint16_t op = ev->call->op;
	int64_t flags = ev->call->flags;
	uint32_t socket = 0;

	/* all flags with this meaning have the value of O_CLOEXEC, with one exception */
	if (op_def(op)->class == CLASS_NET || ev->life->acts.of[op] == FD_ACCEPT)
		socket = FD_IS_SOCKET;
	if (op == ev->life->memfd_op)
		return flags & (int64_t)MFD_CLOEXEC ? FD_CLOEXEC_SET : 0;
	return socket | (flags & O_CLOEXEC ? FD_CLOEXEC_SET : 0);
}

/* The call duplicated the descriptor that it uses. 0 or -ENOMEM. */
static int fd_dup(struct fd_event *ev, uint32_t flags)
{
	int64_t made = ev->call->ret;
	struct fd_entry *e, *old;
	int r = fd_use(ev, &e);

	if (r < 0 || !e || made == ev->call->fd)
		return r;
	r = fd_name(ev->life, ev->number, e, ev->call->thread_id);
	if (r < 0)
		return r;
	flags |= e->flags & FD_IS_SOCKET;
	old = fd_entry(ev->process, made);
	if (old && (old->flags & FD_TAKEN)) {
		uint32_t file = e->file;

		r = fdlife_lose(ev, old, false);
		return r < 0 ? r : fdlife_gain(ev, made, file, flags);
	}
	return fdlife_gain(ev, made, e->file, flags);
}

static int fd_fcntl(struct fd_event *ev)
{
	int64_t command = ev->call->rest->a1;
	struct fd_entry *e;
	int r;

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return fd_dup(ev, command == F_DUPFD_CLOEXEC ? FD_CLOEXEC_SET : 0);
	r = fd_use(ev, &e);
	if (r >= 0 && e && command == F_SETFD)
		e->flags = ev->call->rest->a2 & FD_CLOEXEC ? e->flags | FD_CLOEXEC_SET
							   : e->flags & ~(uint32_t)FD_CLOEXEC_SET;
	return r;
}

static int fd_close_range(struct fd_event *ev)
{
	const struct feature_call *c = ev->call;
	uint32_t first = (uint32_t)c->rest->a0, last = (uint32_t)c->rest->a1;
	int r = 0;

	if (c->rest->a0 == FEATURE_NULL || c->rest->a1 == FEATURE_NULL)
		return 0;
	for (size_t fd = first; fd <= last && fd < ev->process->count && r >= 0; fd++) {
		struct fd_entry *e = &ev->process->entries[fd];

		if (!(e->flags & FD_TAKEN))
			continue;
		if (c->flags & FD_CLOSE_RANGE_EXEC)
			e->flags |= FD_CLOEXEC_SET;
		else
			r = fdlife_lose(ev, e, false);
	}
	return r;
}

/* 0 or -ENOMEM. */
static int fd_exec(struct fd_event *ev)
{
	int r = 0;

	for (size_t fd = 0; fd < ev->process->count && r >= 0; fd++) {
		struct fd_entry *e = &ev->process->entries[fd];

		if (!(e->flags & FD_TAKEN))
			continue;
		if (e->flags & FD_CLOEXEC_SET) {
			r = fdlife_lose(ev, e, false);
		} else if (!(e->flags & FD_SEEN)) {
			struct fd_row *row = fd_row(ev->life, e);

			if (row) {
				assert(row->before > 0);
				row->before--;
			}
			*e = (struct fd_entry){0};
		}
	}
	return r;
}

/* ---- the end of a process ---- */

/* Descriptors still open were open at its end. 0 or -ENOMEM. */
static int fdlife_process_end(struct fdlife *l, uint32_t number, int64_t end)
{
	struct fd_process *p = l->processes[number];
	int r = 0;

	for (size_t fd = 0; fd < p->count && r >= 0; fd++) {
		struct fd_entry *e = &p->entries[fd];
		struct fd_row *row;

		if (!(e->flags & FD_TAKEN))
			continue;
		r = fd_name(l, number, e, -1);
		row = fd_row(l, e);
		if (r < 0 || !row)
			continue;
		row->open_end++;
		if (fd_gone_is(&l->gone, feature_id(l->world->files, e->file), end)) {
			row->deleted++;
			row->deleted_bytes = add_sat(row->deleted_bytes, e->bytes);
		}
	}
	for (uint32_t at = p->rows; at != FEATURE_NONE; at = l->rows.rows[at]->next) {
		struct fd_row *row = l->rows.rows[at];

		fd_row_end(&l->rows, row, end);
		row->inexact |= p->cut;
	}
	l->entries -= p->count;
	free(p->entries);
	free(p);
	l->processes[number] = FD_ENDED;
	return r;
}

/* ---- the feature ---- */

/*
 * Calls come in the order in which they end. True for a call that began when its descriptor had another file: the close
 * of that file, which is counted, or a call that ended after another thread's close.
 */
static bool fdlife_is_late(struct fd_event *ev, enum fd_act act)
{
	const struct feature_call *c = ev->call;
	const struct fd_entry *e = fd_entry(ev->process, c->fd);
	struct fd_rows *rows = &ev->life->rows;
	struct fd_row *row;

	if (!e || fd_start(ev) >= e->since)
		return false;
	if (act != FD_CLOSE || c->file == FEATURE_NONE)
		return true;
	row = fd_rows_find(rows, ev->number, c->file);
	if (row && row->late)
		row->late--;
	return true;
}

/* 0 or -ENOMEM. */
static int fdlife_use(struct fd_event *ev, enum fd_act act)
{
	const struct feature_call *c = ev->call;
	struct fd_entry *e;
	int r;

	if (fdlife_is_late(ev, act))
		return 0;
	r = fd_use(ev, &e);
	if (r < 0 || !e)
		return r;
	if (act == FD_SEND || act == FD_RECEIVE)
		r = fd_move(ev, e, act == FD_SEND);
	else if (act == FD_CONNECT && c->rest->peer_id >= 0)
		r = file_patterns_connected(&ev->life->patterns, e->file, c->rest->peer_id);
	if (r >= 0 && fd_row(ev->life, e))
		fd_row(ev->life, e)->last = MAX(fd_row(ev->life, e)->last, c->stop);
	return r < 0 || act != FD_CLOSE ? r : fdlife_lose(ev, e, false);
}

/* A call that created descriptors. 0 or -ENOMEM. */
static int fdlife_open(struct fd_event *ev, enum fd_act act)
{
	const struct feature_call *c = ev->call;
	uint32_t flags = fd_flags_of(ev), second = c->file2;
	int r;

	if (act == FD_DUP)
		return fd_dup(ev, flags & FD_CLOEXEC_SET);
	if (act == FD_OPEN)
		return fdlife_gain(ev, c->ret, c->file,
				   c->op == ev->life->socket_op ? flags | FD_UNNAMED : flags);
	if (act == FD_PAIR) {
		r = fdlife_gain(ev, c->fd, c->file, flags);
		return r < 0 ? r
			     : fdlife_gain(ev, c->rest->fd2,
					   second == FEATURE_NONE ? c->file : second, flags);
	}
	assert(act == FD_ACCEPT);
	r = fdlife_use(ev, FD_USE);
	if (r >= 0 && second != FEATURE_NONE && c->class == CLASS_WAIT)
		r = file_patterns_accepted(&ev->life->patterns, second);
	return r < 0 ? r : fdlife_gain(ev, c->ret, second, flags);
}

/* A name was removed, or added. 0 or -ENOMEM. */
static int fdlife_names(struct fd_event *ev, enum fd_act act)
{
	const struct feature_call *c = ev->call;
	uint32_t second = c->file2;

	if (act == FD_RENAME)
		return second == FEATURE_NONE || c->flags & RENAME_EXCHANGE
			       ? 0
			       : fd_gone_note(&ev->life->gone,
					      feature_id(ev->life->world->files, second), c->start);
	if (c->file == FEATURE_NONE)
		return 0;
	return act == FD_LINK ? fd_gone_linked(&ev->life->gone, c->file_id)
			      : fd_gone_note(&ev->life->gone, c->file_id, c->start);
}

static int fdlife_act(struct fd_event *ev, enum fd_act act)
{
	const struct feature_call *c = ev->call;

	switch (act) {
	case FD_OPEN:
	case FD_PAIR:
	case FD_ACCEPT:
	case FD_DUP:
		return c->err ? 0 : fdlife_open(ev, act);
	case FD_FCNTL:
		return c->err ? 0 : fd_fcntl(ev);
	case FD_CLOSE_RANGE:
		return c->err ? 0 : fd_close_range(ev);
	case FD_EXEC:
		return c->err ? 0 : fd_exec(ev);
	case FD_EXIT_GROUP:
		return fdlife_process_end(ev->life, ev->number, c->stop);
	case FD_USE:
	case FD_SEND:
	case FD_RECEIVE:
	case FD_CONNECT:
	case FD_CLOSE: /* Linux closes the descriptor even if close() fails */
		return c->err == EBADF ? 0 : fdlife_use(ev, act);
	case FD_UNLINK:
	case FD_RENAME:
	case FD_LINK:
		return c->err ? 0 : fdlife_names(ev, act);
	case FD_NONE:
	case FD_EXIT:
		break;
	}
	return 0;
}

static int fdlife_calls(void *self, const struct feature_call *calls, size_t count)
{
	struct fdlife *l = self;
	struct fd_event ev = {.life = l, .number = FEATURE_NONE};
	int r = 0;

	for (const struct feature_call *c = calls; c < calls + count && r >= 0; c++) {
		enum fd_act act = l->acts.of[c->op % OP_CODE_MAX];

		if (act == FD_NONE || c->process == FEATURE_NONE || c->status & STATUS_UNFINISHED)
			continue;
		ev.call = c;
		if (ev.number != c->process) {
			ev.number = c->process;
			r = fdlife_process(l, ev.number, fd_start(&ev), &ev.process);
		}
		if (r >= 0 && ev.process)
			r = fdlife_act(&ev, act);
		if (act == FD_EXIT_GROUP)
			ev.number = FEATURE_NONE;
	}
	return r;
}

static void fdlife_free(void *self)
{
	struct fdlife *l = self;

	for (size_t i = 0; i < l->process_cap; i++) {
		if (l->processes[i] && l->processes[i] != FD_ENDED) {
			free(l->processes[i]->entries);
			free(l->processes[i]);
		}
	}
	free((void *)l->processes);
	fd_rows_free(&l->rows);
	fd_gone_free(&l->gone);
	file_patterns_free(&l->patterns);
	free(l);
}

DEFINE_CLEANUP(void *, fdlife_free)

static int fdlife_begin(void **ret, const struct feature_world *w)
{
	_cleanup_(fdlife_freep) void *self = calloc(1, sizeof(struct fdlife));
	struct fdlife *l = self;
	int r;

	if (!l)
		return -ENOMEM;
	l->world = w;
	l->socket_op = op_find("socket");
	l->memfd_op = op_find("memfd_create");
	fd_acts_init(&l->acts);
	fd_gone_init(&l->gone, w);
	r = file_patterns_init(&l->patterns, w);
	if (r >= 0)
		r = fd_rows_init(&l->rows, &l->patterns);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(self);
	return 0;
}

static int fdlife_put(const struct fdlife *l, const struct fd_row *row, struct feature_rows *out)
{
	struct bytes text = file_patterns_text(&l->patterns, row->pattern);
	struct batch_row to;

	/* descriptors found open were dropped at exec */
	if (!row->opened && !row->before)
		return 0;
	to = feature_row(out);
	row_set(&to, FDLIFE_PROCESS_ID, feature_id(l->world->processes, row->process));
	row_set(&to, FDLIFE_FILE_ID, feature_id(l->world->files, row->file));
	row_set(&to, FDLIFE_FILES, (int64_t)(distinct_count(&row->files) + row->skipped));
	row_set(&to, FDLIFE_OPENED, (int64_t)row->opened);
	row_set(&to, FDLIFE_CLOSED, (int64_t)row->closed);
	row_set(&to, FDLIFE_OPEN_MOST, (int64_t)row->before + row->net_most);
	row_set(&to, FDLIFE_OPEN_END, row->open_end);
	row_set(&to, FDLIFE_RISING, fd_row_rising(row, row->end));
	row_set(&to, FDLIFE_DELETED, (int64_t)row->deleted);
	row_set(&to, FDLIFE_DELETED_BYTES, (int64_t)MIN(row->deleted_bytes, (uint64_t)INT64_MAX));
	row_set(&to, FDLIFE_REQUESTS, (int64_t)row->requests);
	row_set(&to, FDLIFE_FIRST, row->first);
	row_set(&to, FDLIFE_LAST, MAX(row->last, row->first));
	row_set(&to, FDLIFE_BEFORE, (int64_t)row->before);
	row_set(&to, FDLIFE_INEXACT, row->inexact || row->late || distinct_estimated(&row->files));
	row_set_if(&to, row->thread_id >= 0, FDLIFE_THREAD_ID, row->thread_id);
	row_set_bytes(&to, FDLIFE_PATTERN, text.data, text.len);
	return to.r;
}

static int fdlife_end(void *self, enum table_id table, struct feature_rows *out)
{
	struct fdlife *l = self;
	int r = 0;

	assert(table == TABLE_FDLIFE);
	for (size_t i = 0; i < l->process_cap && r >= 0; i++) {
		const struct dims_process *p;

		if (!l->processes[i] || l->processes[i] == FD_ENDED)
			continue;
		p = dims_process(l->world->dims, feature_id(l->world->processes, i));
		r = fdlife_process_end(l, (uint32_t)i,
				       p && p->stopped != INT64_MIN
					       ? MIN(p->stopped, l->world->last)
					       : l->world->last);
	}
	file_patterns_forget(&l->patterns);
	for (size_t i = 0; i < l->rows.count && r >= 0; i++) {
		if (l->rows.rows[i])
			r = fdlife_put(l, l->rows.rows[i], out);
	}
	return r;
}

const struct feature feature_fdlife = {
	.name = "fdlife",
	.tables = {TABLE_FDLIFE, TABLE_COUNT},
	.more = TABLE_COUNT,
	.begin = fdlife_begin,
	.calls = fdlife_calls,
	.end = fdlife_end,
	.free = fdlife_free,
};
