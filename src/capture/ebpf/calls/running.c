/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.c: calls that have not ended, while recording and at the stop. The kernel programs never saw the threads of
 * calls that began before recording; /proc/TID/syscall shows the call.
 */
#include "capture/ebpf/calls/running.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "privilege/privilege.h"
#include "schema/ops.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define MARK_AFTER_NS \
	NSEC_PER_SEC /* run time after which a mark lists a call; also the interval of looks */
#define MARK_AGAIN_NS (5 * NSEC_PER_SEC)
#define MARK_AGAIN_PART \
	8 /* of the time without a change: a program that waits for a day gets 70 marks, not 17,000 */
#define MARKED_MAX 256 /* calls per mark */

int running_read(int prog, struct buf *out)
{
	return running_read_map(prog, -1, out);
}

int running_read_map(int prog, int map, struct buf *out)
{
	union bpf_iter_link_info info = {.map.map_fd = (uint32_t)map};
	LIBBPF_OPTS(bpf_link_create_opts, of_map, .iter_info = &info,
		    .iter_info_len = sizeof(info));
	_cleanup_close_ int link = -1, fd = -1;
	uint8_t part[16384];
	ssize_t n;
	int r = 0;

	link = bpf_link_create(prog, 0, BPF_TRACE_ITER, map < 0 ? NULL : &of_map);
	if (link < 0)
		return -errno;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, part, sizeof(part));
		if (n > 0 && (r = buf_append(out, part, (size_t)n)) < 0)
			break;
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return n < 0 ? -errno : r;
}

const struct wire_op *running_next(const struct buf *b, size_t *at)
{
	const struct wire_op *w = (const void *)(b->data + *at);

	if (*at + sizeof(*w) > b->len || w->head.size < sizeof(*w) || *at + w->head.size > b->len)
		return NULL;
	*at += w->head.size;
	return w;
}

uint64_t running_key(const struct wire_op *w)
{
	return (uint64_t)w->thread << 32 | w->call;
}

int running_keys(int prog, struct map *ret)
{
	_cleanup_buf_ struct buf calls = {0};
	const struct wire_op *w;
	size_t at = 0;
	int r = running_read(prog, &calls);

	while (r >= 0 && (w = running_next(&calls, &at)))
		r = map_set(ret, running_key(w), 1);
	return r;
}

/* ---- while recording ---- */

/* An accept() on an unselected socket may still return a selected one: marks leave it out, as the rows at the stop do. */
static bool is_news(const struct decode *d, const struct wire_op *w, int64_t now)
{
	const struct op_def *def = op_def(d->codes[w->nr]);

	return w->start && now - (int64_t)w->start >= MARK_AFTER_NS &&
	       names_selected(d->names, w->file) &&
	       !(d->opt.select->everything && def && def->class == CLASS_WAIT);
}

static int marked_add(struct buf *text, const struct decode *d, const struct wire_op *w)
{
	char name[32];

	return buf_printf(text, "%s%u %s %lld", text->len ? ", " : "", w->tid,
			  op_name(d->codes[w->nr], name),
			  (long long)((int64_t)w->start + d->opt.clock_offset));
}

static int running_look(int prog, struct buf *out)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);

	return running_read(prog, out);
}

bool running_marks_due(struct running_marks *t, struct bytes text, int64_t now)
{
	uint64_t hash = hash_bytes(text.data, text.len);
	bool same = hash == t->hash && t->any == (text.len > 0);
	int64_t again = MAX(MARK_AGAIN_NS, (now - t->since) / MARK_AGAIN_PART);

	if (same && (!text.len || now - t->at < again))
		return false;
	if (!text.len && !t->any) /* no call was listed yet */
		return false;
	t->since = same ? t->since : now;
	t->at = now;
	t->hash = hash;
	t->any = text.len > 0;
	return true;
}

int running_mark(struct running_marks *t, int prog, uint32_t *unsent, const struct decode *d,
		 struct batch_set *out)
{
	int64_t now = clock_monotonic_ns();
	_cleanup_buf_ struct buf calls = {0}, text = {0};
	const struct wire_op *w;
	size_t at = 0, count = 0;
	int r;

	if (now < t->next)
		return 0;
	t->next = now + MARK_AFTER_NS;
	r = running_look(prog, &calls);
	*unsent = 0;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	while (r >= 0 && count < MARKED_MAX && (w = running_next(&calls, &at))) {
		if (!is_news(d, w, now))
			continue;
		r = marked_add(&text, d, w);
		count++;
	}
	if (r < 0 || !running_marks_due(t, buf_bytes(&text), now))
		return r;
	return batch_set_add_mark(out, now + d->opt.clock_offset, "weir.running", buf_str(&text),
				  text.len);
}

/* ---- at the stop ---- */

static bool number_name(const char *name, int32_t *ret)
{
	char *end;
	long v = strtol(name, &end, 10);

	*ret = (int32_t)v;
	return end != name && !*end && v > 0;
}

/* Errors for processes that no longer exist. */
static bool is_gone(int error)
{
	return error == ENOENT || error == ESRCH;
}

/* Parses "0 0x3 0x7ffd... 0x10 ... sp pc": the call and its arguments; "running" or "-1 sp pc" if in no call. Kernel
 * threads have call 0 and no stack. 1: it is in a call. */
static int call_read(int32_t pid, int32_t tid, struct running_call *ret)
{
	char path[64], text[256];
	unsigned long long a[WIRE_ARGS], sp;
	_cleanup_close_ int fd = -1;
	int64_t now = clock_monotonic_ns();
	ssize_t n;
	long nr;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return is_gone(errno) ? 0 : -errno;
	text[n] = 0;
	if (sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3],
		   &a[4], &a[5], &sp) != 8 ||
	    !sp || nr < 0)
		return 0;
	*ret = (struct running_call){.tid = tid,
				     .tgid = pid,
				     .nr = (uint16_t)(nr < WIRE_CALLS_KNOWN ? nr : WIRE_CALL_OTHER),
				     .number = (uint32_t)nr,
				     .seen = now};
	for (int i = 0; i < WIRE_ARGS; i++)
		ret->args[i] = a[i];
	return 1;
}

static void comm_read(struct running_call *c)
{
	char path[64];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", c->tgid, c->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, c->comm, sizeof(c->comm) - 1);
	c->comm[n > 0 ? n - (c->comm[n - 1] == '\n') : 0] = 0;
}

static int running_add(struct running *r, const struct running_call *c)
{
	return array_add(r->calls, r->count, r->cap, *c);
}

/* Adds the calls in which a process's threads are (or one of them). A process that is gone adds none. 0 or negative: some
 * could not be read. */
static int running_process(struct running *r, int32_t pid, int32_t only_tid)
{
	char path[64];
	struct dirent *e;
	int result = 0;
	DIR *dir;

	if (pid == getpid()) /* a parent of weir was selected, with all its children */
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir && is_gone(errno))
		return 0;
	r->more |= !dir;
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		struct running_call c;
		int32_t tid;
		int found;

		if (!number_name(e->d_name, &tid) || (only_tid && tid != only_tid))
			continue;
		found = call_read(pid, tid, &c);
		r->unread += found < 0;
		if (found > 0) {
			comm_read(&c);
			found = running_add(r, &c);
		}
		result = result ? result : found;
	}
	closedir(dir);
	return result;
}

/* Those of every process but this one. */
static int running_everything(struct running *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int result = 0;

	r->more |= !dir;
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		int32_t pid;
		int read = 0;

		if (number_name(e->d_name, &pid))
			read = running_process(r, pid, 0);
		result = result ? result : read;
	}
	closedir(dir);
	return result;
}

int running_unseen(struct running *r, const struct select *s, int pids_fd)
{
	uint32_t key, *at = NULL;
	int result = 0, one;

	if (s->comm_count || s->uid_count || s->cgroup_count || s->failed_only)
		return 0;
	if (!s->pid_count && !s->tid_count && !s->follow)
		return running_everything(r);
	while (!bpf_map_get_next_key(pids_fd, at, &key)) {
		one = running_process(r, (int32_t)key, 0);
		result = result ? result : one;
		at = &key;
	}
	for (size_t i = 0; i < s->tid_count; i++) {
		one = running_process(r, s->tids[i], s->tids[i]);
		result = result ? result : one;
	}
	return result;
}

void running_free(struct running *r)
{
	free(r->calls);
	*r = (struct running){0};
}

/* The file's type; must not block on a network file system. */
static uint64_t mode_of(const char *link)
{
	struct statx st;

	return statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 ? st.stx_mode : 0;
}

/* A thread as the kernel programs would have sent it, and the path of its program, which they send as a file. */
struct made_thread {
	struct wire_thread wire;
	char argv[WIRE_ARGV_MAX];
	char exe[4096];
	size_t exe_len; /* 0: unknown */
};

static size_t proc_read(int32_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size);
	return n < 0 ? 0 : (size_t)n;
}

static uint32_t proc_namespace(int32_t pid, const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return stat(path, &st) == 0 ? (uint32_t)st.st_ino : 0;
}

/* The last number in a line of /proc/PID/status: for NSpid that in the innermost namespace. */
static int32_t status_last(const char *status, const char *field)
{
	const char *at = strstr(status, field);
	int32_t value = 0;
	int n;

	for (at = at ? at + strlen(field) : ""; sscanf(at, "%*[ \t]%d%n", &value, &n) == 1;)
		at += n;
	return value;
}

static void made_status(struct wire_thread *t)
{
	char status[4096], name[32];
	unsigned int uid = 0;
	const char *at;

	snprintf(name, sizeof(name), "task/%d/status", t->tid);
	status[proc_read(t->tgid, name, status, sizeof(status) - 1)] = 0;
	at = strstr(status, "\nUid:");
	if (!at || sscanf(at + 5, "%*u %u", &uid) != 1) /* the effective one */
		return;
	t->uid = uid;
	t->ppid = status_last(status, "\nPPid:");
	t->tgid_ns = status_last(status, "\nNStgid:");
	t->tid_ns = status_last(status, "\nNSpid:");
	t->mnt_ns = proc_namespace(t->tgid, "mnt");
	t->net_ns = proc_namespace(t->tgid, "net");
	t->pid_ns = proc_namespace(t->tgid, "pid");
}

/* Removes the suffix that /proc appends to the name of a deleted file. */
static void made_exe(struct made_thread *m)
{
	static const char mark[] = " (deleted)";
	const size_t len = sizeof(mark) - 1;
	char link[64];
	struct statx st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", m->wire.tgid);
	n = readlink(link, m->exe, sizeof(m->exe));
	m->exe_len = n > 0 ? (size_t)n : 0;
	if (m->exe_len > len && !memcmp(m->exe + m->exe_len - len, mark, len) &&
	    statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_NLINK, &st) == 0 && !st.stx_nlink)
		m->exe_len -= len;
}

static void made_thread_fill(struct made_thread *m, const struct running_call *c)
{
	_privileged_(PRIVILEGE_PROC);
	struct wire_thread *t = &m->wire;

	*m = (struct made_thread){.wire = {.head = {.type = WIRE_THREAD},
					   .tid = c->tid,
					   .tid_ns = c->tid,
					   .tgid = c->tgid,
					   .tgid_ns = c->tgid}};
	memcpy(t->comm, c->comm, sizeof(t->comm));
	made_status(t);
	made_exe(m);
	t->argv_len = (uint32_t)proc_read(c->tgid, "cmdline", m->argv, sizeof(m->argv));
	t->head.size = (uint16_t)(sizeof(*t) + t->argv_len);
	t->argv_cut = t->argv_len == sizeof(m->argv);
}

/* The record that the kernel programs would have sent, with the descriptor's path from /proc. */
struct made_op {
	struct wire_op op;
	uint64_t args[WIRE_ARGS];
	struct wire_name name;
	char path[4096];
};

static void made_fill(struct made_op *m, const struct running_call *c, const struct wire_plan *p,
		      uint32_t thread, const struct decode_options *opt)
{
	_privileged_(PRIVILEGE_PROC);
	struct stat ns;
	char link[64];
	ssize_t n;

	*m = (struct made_op){
		.op = {.head = {.type = WIRE_OP, .parts = WIRE_PART_ARGS}, .thread = thread}};
	m->op.head.size = offsetof(struct made_op, name);
	m->op.pos = p->pos >= 0 ? (int64_t)c->args[(uint8_t)p->pos] : WIRE_NONE;
	m->op.size = p->size >= 0 ? c->args[(uint8_t)p->size] : 0;
	m->op.flags = p->opflags >= 0		 ? (uint32_t)c->args[(uint8_t)p->opflags]
		      : c->nr == WIRE_CALL_OTHER ? c->number
						 : 0;
	m->op.tid = c->tid;
	m->op.fd = p->op_fd < WIRE_ARGS ? (int32_t)c->args[p->op_fd] : -1;
	m->op.nr = c->nr;
	m->op.status = STATUS_UNFINISHED | STATUS_NO_START;
	memcpy(m->args, c->args, sizeof(m->args));
	if (p->fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", c->tgid, m->op.fd);
	n = readlink(link, m->path, sizeof(m->path));
	if (n <= 0)
		return;
	m->name.len = (uint32_t)n;
	m->name.base = mode_of(link);
	/* The path is valid for this process if both see the same mounts. */
	snprintf(link, sizeof(link), "/proc/%d/ns/mnt", c->tgid);
	m->name.root = stat(link, &ns) == 0 && ns.st_ino == opt->mnt_ns ? opt->root : 0;
	m->op.head.parts |= WIRE_PART_PATH;
	m->op.head.size += sizeof(m->name) + align_up((uint64_t)n, 8);
}

/* Sets a minimum duration in the last row. */
static int at_least(struct batch_set *out, int64_t ns)
{
	struct batch *b = out->tables[TABLE_OP];

	assert(b && b->rows);
	return ns > 0 ? batch_set(b, OP_DUR, b->rows - 1, ns) : 0;
}

int running_give(const struct running *r, struct decode *d, int64_t since, uint32_t *next_thread,
		 const struct wire_plan *plans, struct batch_set *out, uint64_t *ret_ops)
{
	int result = 0;

	for (size_t i = 0; i < r->count && result >= 0; i++) {
		const struct running_call *c = &r->calls[i];
		struct made_thread t;
		struct made_op m;

		if (!(plans[c->nr].flags & WIRE_PLAN_RECORD) || decode_knows_tid(d, c->tid) ||
		    c->seen - since < d->opt.select->min_dur_ns)
			continue;
		made_thread_fill(&t, c);
		t.wire.head.time = (uint64_t)clock_monotonic_ns();
		t.wire.thread = t.wire.task = (*next_thread)++;
		t.wire.process_start = decode_process_start(d, c->tgid);
		result =
			decode_unseen(d, &t.wire, (struct bytes){(uint8_t *)t.exe, t.exe_len}, out);
		if (result < 0)
			break;
		made_fill(&m, c, &plans[c->nr], t.wire.thread, &d->opt);
		m.op.head.time = t.wire.head.time;
		result = decode_op(d, &m.op, DECODE_NO_CPU, out);
		if (result <= 0)
			continue;
		(*ret_ops)++;
		result = at_least(out, c->seen - since);
	}
	return result < 0 ? result : 0;
}
