// SPDX-License-Identifier: Apache-2.0
/* stall.c: classifies calls, and updates sockets and threads. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/features/stall/stall.h"

#define STANDARD_FDS  2	    /* highest standard descriptor */
#define EPHEMERAL_MIN 32768 /* first ephemeral port of clients (ip_local_port_range) */

/* ---- classification of calls ---- */

static const struct feature_ops stall_ops[] = {
	{ACT_READ, "read readv pread64 preadv preadv2"},
	{ACT_WRITE,
	 "write writev pwrite64 pwritev pwritev2 sendfile splice copy_file_range vmsplice tee"},
	{ACT_RECV, "recvfrom recvmsg recvmmsg"},
	{ACT_SEND, "sendto sendmsg sendmmsg"},
	{ACT_ACCEPT, "accept accept4"},
	{ACT_CONNECT, "connect"},
	{ACT_LISTEN, "listen"},
	{ACT_CLOSE, "close"},
	{ACT_TOUCH, "getsockopt getpeername shutdown"},
	{ACT_ASK,
	 "stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat "
	 "getdents getdents64"},
	{ACT_OPEN, "open openat openat2"},
	{ACT_CHANGE,
	 "rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat link linkat symlink "
	 "symlinkat truncate ftruncate creat bind"},
	{ACT_MULTI, "poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2"},
	{ACT_SLEEP, "nanosleep clock_nanosleep"},
	{ACT_FUTEX, "futex"},
	{ACT_CHILD, "wait4 waitid"},
	{ACT_FLOCK, "flock"},
	{ACT_FCNTL, "fcntl"},
	{ACT_WAIT, "pause semop semtimedop msgrcv rt_sigtimedwait rt_sigsuspend mq_timedreceive "
		   "restart_syscall "
		   "futex_waitv futex_wait io_getevents io_pgetevents io_uring_enter"},
	{ACT_EXIT, "exit exit_group"},
};

enum stall_act stall_act(const struct stall *s, const struct feature_call *c)
{
	enum stall_act act = (enum stall_act)s->acts[c->op % OP_CODE_MAX];
	bool select = c->op == STALL_OP_SELECT || c->op == STALL_OP_PSELECT6;

	if (act == ACT_MULTI &&
	    ((stall_is_poll(c->op) && c->rest->a1 == 0) || (select && c->rest->a0 == 0)))
		return ACT_SLEEP;
	if (act == ACT_FCNTL && c->rest->a1 != F_SETLK && c->rest->a1 != F_SETLKW &&
	    c->rest->a1 != F_OFD_SETLK && c->rest->a1 != F_OFD_SETLKW)
		return ACT_NONE;
	return act;
}

bool stall_opens_to_write(const struct feature_call *c, enum stall_act act)
{
	return act == ACT_OPEN && (c->flags & O_ACCMODE) != O_RDONLY;
}

/* ---- files ---- */

static bool stall_fs_is_virtual(struct bytes fs)
{
	static const char *const names[] = {"proc",    "sysfs",	  "cgroup",    "cgroup2",
					    "debugfs", "tracefs", "securityfs"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (bytes_is(fs, names[i]))
			return true;
	}
	return false;
}

struct stall_file *stall_file(struct stall *s, uint32_t file, int64_t file_id)
{
	struct stall_file *f = &s->files[file];
	struct dims_file room;
	const struct dims_file *d;

	assert(file < s->file_count);
	if (f->type)
		return f;
	d = dims_file(s->world->dims, file_id, &room);
	f->type = (uint8_t)((d && d->type >= 0 && d->type < FILE_TYPE_COUNT ? d->type
									    : FILE_TYPE_UNKNOWN) +
			    1);
	f->virtual = d && stall_fs_is_virtual(d->fs);
	f->datagrams = d && d->proto >= 0 && (d->proto >> 16 & 0xf) != SOCK_STREAM;
	return f;
}

/* The number after the last colon of "10.0.0.1:80"; 0 if there is none. */
static unsigned int stall_port(struct bytes a)
{
	unsigned int port = 0, factor = 1;

	for (size_t i = a.len;
	     i > 0 && factor <= 10000 && a.data[i - 1] >= '0' && a.data[i - 1] <= '9';
	     i--, factor *= 10)
		port += (unsigned int)(a.data[i - 1] - '0') * factor;
	return port;
}

/*
 * True if somebody chose the address of the unix socket. The kernel names a socket "@" and five hexadecimal digits that
 * sends its credentials unbound (SO_PASSCRED): a client's, or an end of a socketpair().
 */
static bool stall_is_named(struct bytes a)
{
	const size_t chosen = strlen("unix:"), automatic = chosen + strlen("@fcf0b");

	if (a.len != automatic || a.data[chosen] != '@')
		return a.len > chosen;
	for (size_t i = chosen + 1; i < automatic; i++) {
		if (!isxdigit((unsigned char)a.data[i]))
			return true;
	}
	return false;
}

/* The role of a socket that existed before the recording. */
static enum stall_role stall_role_by_address(const struct dims_file *d)
{
	unsigned int local = stall_port(d->local), peer = stall_port(d->peer);

	if (d->family == AF_UNIX) {
		if (stall_is_named(d->peer))
			return ROLE_CLIENT;
		return stall_is_named(d->local) ? ROLE_SERVER : ROLE_UNKNOWN;
	}
	if (!local || !peer || (local >= EPHEMERAL_MIN) == (peer >= EPHEMERAL_MIN))
		return ROLE_UNKNOWN;
	return local >= EPHEMERAL_MIN ? ROLE_CLIENT : ROLE_SERVER;
}

enum stall_role stall_role(struct stall *s, struct stall_file *f, int64_t file_id)
{
	struct dims_file room;
	const struct dims_file *d;

	if (f->role == ROLE_UNKNOWN && !f->addressed) {
		f->addressed = true;
		d = dims_file(s->world->dims, file_id, &room);
		if (d)
			f->role = stall_role_by_address(d);
		f->clients = f->role == ROLE_SERVER;
	}
	return (enum stall_role)f->role;
}

int stall_object(struct stall *s, const void *address, size_t len, uint32_t *ret)
{
	if (s->objects.count < STALL_OBJECTS_MAX)
		return intern_add(&s->objects, address, len, ret);
	if (!intern_find(&s->objects, address, len, ret))
		*ret = FEATURE_NONE;
	return 0;
}

int stall_peer(struct stall *s, int64_t file_id, int64_t given, uint32_t *ret, int64_t *ret_id)
{
	const int64_t ids[] = {file_id, given};
	uint32_t object;
	int r;

	*ret_id = -1;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct dims_file room;
		const struct dims_file *d =
			ids[i] >= 0 ? dims_file(s->world->dims, ids[i], &room) : NULL;
		struct bytes address = d ? dims_peer(d) : (struct bytes){NULL, 0};

		if (!address.len)
			continue;
		r = stall_object(s, address.data, address.len, &object);
		if (r < 0 || object == FEATURE_NONE)
			return r;
		*ret = object;
		*ret_id = ids[i];
		return 0;
	}
	return 0;
}

/* ---- threads ---- */

static int stall_slots_fit(struct stall *s)
{
	size_t want = s->world->task_count;
	int r = grow((void **)&s->slots, &s->slot_cap, want, sizeof(*s->slots));

	if (r < 0)
		return r;
	for (; s->slot_count < want; s->slot_count++)
		s->slots[s->slot_count] = FEATURE_NONE;
	return 0;
}

/* Judges its open wait by what is known so far. */
static int stall_task_end(struct stall *s, struct stall_task *t)
{
	int r = stall_judge(s, t, FEATURE_NONE, -1);

	if (r >= 0)
		r = stall_asks_end(s, t);
	if (t->task != FEATURE_NONE)
		s->slots[t->task] = FEATURE_NONE;
	t->task = FEATURE_NONE;
	return r;
}

/* A new thread takes the slot of one that ended, or of the next one in turn. */
static int stall_task_place(struct stall *s, struct stall_task **ret)
{
	int r;

	if (s->task_count < STALL_TASKS_MAX) {
		r = grow((void **)&s->tasks, &s->task_cap, s->task_count + 1, sizeof(*s->tasks));
		if (r < 0)
			return r;
		*ret = &s->tasks[s->task_count++];
		**ret = (struct stall_task){.task = FEATURE_NONE};
		return 0;
	}
	*ret = &s->tasks[s->hand++ % STALL_TASKS_MAX];
	return stall_task_end(s, *ret);
}

static int stall_task(struct stall *s, uint32_t task, struct stall_task **ret)
{
	int r;

	if (likely(s->slots[task] != FEATURE_NONE)) {
		*ret = &s->tasks[s->slots[task]];
		return 0;
	}
	r = stall_task_place(s, ret);
	if (r < 0)
		return r;
	**ret = (struct stall_task){.task = task,
				    .sent = FEATURE_NONE,
				    .given_to = FEATURE_NONE,
				    .request = FEATURE_NONE,
				    .denied = FEATURE_NONE,
				    .given = -1};
	s->slots[task] = (uint32_t)(*ret - s->tasks);
	return 0;
}

struct stall_sample stall_sample(const struct feature_call *c)
{
	return (struct stall_sample){.start = feature_began(c),
				     .stop = c->stop,
				     .time = c->dur,
				     .longest = c->dur,
				     .thread_id = c->thread_id,
				     .file_id = c->file == FEATURE_NONE ? -1 : c->file_id,
				     .peer_id = -1,
				     .waker_id = MAX(c->rest->waker_id, -1),
				     .runq = c->rest->runq,
				     .process = c->process,
				     .file = c->file,
				     .times = 1,
				     .err = c->err};
}

/* ---- effects ---- */

/* Bytes or messages were sent on a socket. */
static void stall_sent(struct stall_task *t, struct stall_file *f, const struct feature_call *c)
{
	int64_t messages = c->op == STALL_OP_SENDMMSG ? c->ret : 1;

	t->hard++;
	if (f->role == ROLE_UNKNOWN)
		f->role = ROLE_CLIENT;
	f->connecting = false;
	if (f->role == ROLE_SERVER)
		t->request = f->clients ? FEATURE_NONE : t->request;
	else
		f->unanswered =
			f->datagrams ? (uint8_t)MIN(f->unanswered + messages, UINT8_MAX) : 1;
	t->sent = c->file;
	t->sent_id = c->file_id;
	if (c->rest->peer_id >= 0) {
		t->given_to = c->file;
		t->given = c->rest->peer_id;
	}
}

static void stall_received(struct stall_task *t, struct stall_file *f, const struct feature_call *c)
{
	int64_t messages = c->op == STALL_OP_RECVMMSG ? c->ret : 1;

	t->hard++;
	if (f->role == ROLE_UNKNOWN) {
		f->role = ROLE_SERVER;
		f->clients = f->datagrams; /* for a stream: the other end of a socketpair() */
	}
	f->connecting = false;
	f->received = true;
	f->unanswered = f->datagrams ? (uint8_t)MAX(f->unanswered - messages, 0) : 0;
	if (f->clients)
		t->request = c->file;
}

static void stall_moved_bytes(struct stall *s, struct stall_task *t, const struct feature_call *c,
			      bool in)
{
	struct stall_file *f;

	if (c->file == FEATURE_NONE)
		return;
	f = stall_file(s, c->file, c->file_id);
	if (f->type == FILE_TYPE_SOCKET + 1) {
		stall_role(s, f, c->file_id);
		f->user = (uint8_t)t->task;
		if (in)
			stall_received(t, f, c);
		else
			stall_sent(t, f, c);
	} else if (in) {
		/* a read from the beginning of a file may return what it returned before: stall_asks.c */
		t->hard += f->type != FILE_TYPE_REGULAR + 1 || c->pos != 0;
	} else if (c->fd > STANDARD_FDS) {
		t->soft++;
		t->hard += f->type == FILE_TYPE_PIPE + 1;
	}
	if (f->type == FILE_TYPE_PIPE + 1 && !in)
		f->writer = c->process + 1;
	if (f->type == FILE_TYPE_PIPE + 1 && c->fd > STANDARD_FDS) {
		if (t->pipe_role == ROLE_UNKNOWN)
			t->pipe_role = in ? ROLE_SERVER : ROLE_CLIENT;
		t->pipe_sent = !in;
	}
}

static void stall_connected(struct stall *s, struct stall_task *t, const struct feature_call *c)
{
	struct stall_file *f;

	if (c->file == FEATURE_NONE || (c->err && c->err != EINPROGRESS))
		return;
	f = stall_file(s, c->file, c->file_id);
	f->role = ROLE_CLIENT;
	f->connecting = c->err == EINPROGRESS;
	/* connect on a datagram socket sets the peer, and contacts nobody */
	f->connected = !f->datagrams;
	f->received = false;
	f->unanswered = 0;
	t->hard++;
	t->given_to = c->file;
	t->given = c->rest->peer_id;
	if (f->connecting) {
		t->sent = c->file;
		t->sent_id = c->file_id;
	}
}

static void stall_accepted(struct stall *s, struct stall_task *t, const struct feature_call *c)
{
	t->hard++;
	if (c->file != FEATURE_NONE)
		s->files[c->file].role = ROLE_LISTENER;
	if (c->file2 != FEATURE_NONE) {
		s->files[c->file2].role = ROLE_SERVER;
		s->files[c->file2].clients = true;
		s->files[c->file2].received = false;
		s->files[c->file2].unanswered = 0;
	}
}

static void stall_closed(struct stall *s, struct stall_task *t, const struct feature_call *c)
{
	if (c->file == FEATURE_NONE)
		return;
	if (t->request == c->file)
		t->request = FEATURE_NONE;
	if (t->sent == c->file)
		t->sent = FEATURE_NONE;
	s->files[c->file].unanswered = 0;
	s->files[c->file].connecting = false;
}

static void stall_effect(struct stall *s, struct stall_task *t, const struct feature_call *c,
			 enum stall_act act)
{
	bool fine = !c->err && !(c->status & STATUS_UNFINISHED);

	if (act == ACT_CONNECT)
		stall_connected(s, t, c);
	else if (!fine)
		return;
	if ((act == ACT_READ || act == ACT_RECV) && c->ret > 0)
		stall_moved_bytes(s, t, c, true);
	else if ((act == ACT_WRITE || act == ACT_SEND) && c->ret > 0)
		stall_moved_bytes(s, t, c, false);
	else if (act == ACT_ACCEPT)
		stall_accepted(s, t, c);
	else if (act == ACT_LISTEN && c->file != FEATURE_NONE)
		s->files[c->file].role = ROLE_LISTENER;
	else if (act == ACT_CLOSE)
		stall_closed(s, t, c);
	else if (act == ACT_CHANGE || act == ACT_FLOCK || act == ACT_FCNTL)
		t->hard++;
	else if (stall_opens_to_write(c, act)) {
		t->soft++;
		t->hard += (c->flags & O_EXCL) != 0;
	}
}

/* Notes a refused lock for the sleep that may follow; locks that the thread has may be released before it. */
static void stall_denied(struct stall_task *t, const struct feature_call *c, enum stall_act act)
{
	bool lock = act == ACT_FLOCK || act == ACT_FCNTL;

	if (lock && !c->err)
		return;
	t->denied = lock && (c->err == EAGAIN || c->err == EACCES) ? c->file : FEATURE_NONE;
	t->denied_id = c->file_id;
}

/* ---- calls ---- */

static int stall_call(struct stall *s, const struct feature_call *c, enum stall_act act)
{
	struct stall_task *t;
	enum stall_what what;
	int r = stall_task(s, c->task, &t);

	if (r < 0)
		return r;
	if (act == ACT_EXIT)
		return stall_task_end(s, t);
	if (act == ACT_CONNECT && c->rest->peer_id >= 0) {
		t->given_to = c->file;
		t->given = c->rest->peer_id;
	}
	if (stall_is_wait(s, c, act)) {
		r = stall_waited(s, t, c, act);
	} else {
		t->calls++;
		if (t->wait.act != ACT_NONE)
			r = stall_followed(s, t, c, act);
		what = stall_asks(s, c, act);
		if (r >= 0 && what != STALL_IDLE)
			r = stall_asked(s, t, c, what);
	}
	stall_effect(s, t, c, act);
	stall_denied(t, c, act);
	return r;
}

static int stall_calls(void *self, const struct feature_call *calls, size_t count)
{
	struct stall *s = self;
	int r = feature_grow((void **)&s->files, &s->file_count, s->world->file_count,
			     sizeof(*s->files));

	if (r >= 0)
		r = stall_slots_fit(s);
	for (const struct feature_call *c = calls; c < calls + count && r >= 0; c++) {
		enum stall_act act = stall_act(s, c);

		if (act != ACT_NONE && c->task != FEATURE_NONE)
			r = stall_call(s, c, act);
	}
	return r;
}

static int stall_events(void *self, const struct batch *b, const uint32_t *files, size_t from,
			size_t to)
{
	stall_take_ready(self, b, files, from, to);
	return 0;
}

static int stall_begin(void **ret, const struct feature_world *w)
{
	struct stall *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	s->world = w;
	feature_acts(stall_ops, ARRAY_SIZE(stall_ops), s->acts);
	return stall_rows_new(&s->rows);
}

static int stall_end(void *self, enum table_id table, struct feature_rows *out)
{
	struct stall *s = self;
	int r = 0;

	assert(table == TABLE_STALL);
	for (size_t i = 0; i < s->task_count && r >= 0; i++)
		r = stall_task_end(s, &s->tasks[i]);
	free(TAKE_PTR(s->files));
	s->file_count = 0;
	return r < 0 ? r : stall_rows_put(s->rows, s->world, out);
}

static void stall_free(void *self)
{
	struct stall *s = self;

	stall_rows_free(s->rows);
	intern_free(&s->objects);
	free(s->files);
	free(s->slots);
	free(s->tasks);
	free(s);
}

const struct feature feature_stall = {
	.name = "stall",
	.tables = {TABLE_STALL, TABLE_COUNT},
	.more = TABLE_POLL,
	.begin = stall_begin,
	.calls = stall_calls,
	.events = stall_events,
	.end = stall_end,
	.free = stall_free,
};
