/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_rows.c: turns the kernel's records of stacks into rows of table stack.
 *
 * The same stack has different hashes in two processes, as files are mapped at different addresses. Here addresses
 * become positions in files, so that both share a row. The row is added when the stack is first seen, with positions,
 * and again at the end of recording, with names: the last row of an id wins, readers on any machine get the names, and
 * if the recorder is killed, the positions can still be looked up on a machine with the files.
 *
 * Program files are opened when they are first seen, for their build-id, and stay open, so that one that is deleted or
 * replaced while recording still provides its names. They are opened with the caller's rights: function names in files
 * that the caller may not read are not disclosed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/ebpf/calls/decode.h"
#include "privilege/privilege.h"
#include "symbols/symbols.h"

#define STACKS_MAX	 65536
#define STACKS_BYTES_MAX (24u << 20)
#define HASHES_MAX \
	65536 /* bounds twice the number that the programs remember (bpf/lib/call/stack.h) */
#define CALLS_MAX      65536 /* a call's record follows that of its stacks */
#define MODULES_MAX    4096
#define OPEN_MAX       256
#define NAMES_LIMIT_NS (4 * NSEC_PER_SEC) /* half of a session's wait for a stopping source */
#define ANON_KEY       (1ull << 63)

/* The stored form of a stack, followed by struct symbols_frame[count]; equal ones are one stack. */
struct kept_stack {
	uint32_t flags; /* enum wire_stack_flag */
	uint32_t count;
};

struct stacks {
	/* The kernel's hash -> id. The hash covers addresses, which differ between processes. */
	struct recent by_hash;
	/* Thread and number of a call whose record has not arrived -> two ids + 1. It never arrives if it found no
	 * room. */
	struct recent calls;
	struct intern kept; /* struct kept_stack -> id, which is the key of its row */
	struct symbols_module *modules;
	size_t module_count, module_cap, open_count;
	struct map by_file; /* file number, or process with ANON_KEY -> index of its module */
	uint32_t kernel;    /* index of the kernel's module, SYMBOLS_NONE: not seen yet */
	struct buf room;
};

/* The kernel shows addresses if the opener had the privilege to see them. */
int stacks_kallsyms(void)
{
	_privileged_(PRIVILEGE_LOAD | PRIVILEGE_CAP(CAP_SYSLOG));

	return open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->module_count; i++) {
		free((void *)s->modules[i].path);
		if (s->modules[i].fd >= 0 && s->modules[i].kind == SYMBOLS_FILE)
			close(s->modules[i].fd);
	}
	free(s->modules);
	recent_free(&s->by_hash);
	recent_free(&s->calls);
	map_free(&s->by_file);
	intern_free(&s->kept);
	buf_free(&s->room);
	free(s);
}

static struct stacks *stacks_of(struct decode *d)
{
	if (!d->stacks) {
		d->stacks = calloc(1, sizeof(*d->stacks));
		if (!d->stacks)
			return NULL;
		d->stacks->kernel = SYMBOLS_NONE;
		d->stacks->by_hash.max = HASHES_MAX;
		d->stacks->calls.max = CALLS_MAX;
	}
	return d->stacks;
}

/* ---- modules ---- */

static int module_add(struct stacks *s, const struct symbols_module *m, uint32_t *ret)
{
	int r;

	*ret = SYMBOLS_NONE;
	if (s->module_count == MODULES_MAX)
		return 0;
	r = grow((void **)&s->modules, &s->module_cap, s->module_count + 1, sizeof(*m));
	if (r < 0)
		return r;
	s->modules[s->module_count] = *m;
	s->modules[s->module_count].path = strdup(m->path);
	if (!s->modules[s->module_count].path)
		return -ENOMEM;
	*ret = (uint32_t)s->module_count++;
	return 0;
}

static int open_same(const char *path, const struct wire_file *w)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != w->ino)
		return -1;
	return TAKE_FD(fd);
}

/* Opens the program file at the recorder's path, else at the process's; -1: neither. */
static int module_open(struct decode *d, const struct wire_file *w, const struct wire_thread *t)
{
	_privileged_(privilege_files() | PRIVILEGE_CAP(CAP_SYS_PTRACE));
	char path[sizeof(((struct file_paths *)0)->path) + 64];
	struct file_paths paths;
	int fd = -1;

	decode_file_paths(d, w, &paths);
	if (paths.host_len) {
		snprintf(path, sizeof(path), "%.*s", (int)paths.host_len, paths.host);
		fd = open_same(path, w);
	}
	if (fd < 0 && t && paths.len) {
		snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)t->tgid, (int)paths.len,
			 paths.path);
		fd = open_same(path, w);
	}
	return fd;
}

static int module_of_file(struct decode *d, uint64_t file, const struct wire_thread *t,
			  uint32_t *ret)
{
	struct symbols_module m = {.kind = SYMBOLS_FILE, .fd = -1};
	struct stacks *s = d->stacks;
	_cleanup_buf_ struct buf path = {0};
	const struct wire_file *w;
	struct bytes name;
	uint64_t known;
	int r;

	if (map_get(&s->by_file, file, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	name = names_get(d->names, file);
	r = buf_append(&path, name.data ? (const char *)name.data : "?", name.data ? name.len : 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < path.len; i++) {
		if (path.data[i] == '\n')
			path.data[i] = '?';
	}
	m.path = buf_str(&path);
	w = records_get(&d->files, file, NULL);
	m.fd = w ? module_open(d, w, t) : -1;
	if (m.fd >= 0)
		m.build_id_len = (uint32_t)symbols_build_id(m.fd, m.build_id);
	if (m.fd >= 0 && s->open_count == OPEN_MAX) {
		close(m.fd);
		m.fd = -1;
	}
	r = module_add(s, &m, ret);
	if (r < 0 || *ret == SYMBOLS_NONE) {
		if (m.fd >= 0)
			close(m.fd);
		return r;
	}
	s->open_count += m.fd >= 0;
	return map_set(&s->by_file, file, *ret);
}

static int module_of_process(struct stacks *s, const struct wire_thread *t, uint32_t *ret)
{
	struct symbols_module m = {.kind = SYMBOLS_JIT, .path = "[anon]", .fd = -1};
	uint64_t key = ANON_KEY | (t ? (uint32_t)t->tgid : 0), known;
	int r;

	if (map_get(&s->by_file, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	m.pid = t ? t->tgid : 0;
	m.inner_pid = t ? t->tgid_ns : 0;
	r = module_add(s, &m, ret);
	return r < 0 || *ret == SYMBOLS_NONE ? r : map_set(&s->by_file, key, *ret);
}

static int module_of_kernel(struct decode *d, uint32_t *ret)
{
	const struct symbols_module m = {
		.kind = SYMBOLS_KERNEL, .path = "[kernel]", .fd = d->opt.kallsyms_fd};
	int r = 0;

	if (d->stacks->kernel == SYMBOLS_NONE)
		r = module_add(d->stacks, &m, &d->stacks->kernel);
	*ret = d->stacks->kernel;
	return r;
}

/* ---- stacks ---- */

static uint32_t cut_of(uint32_t flags)
{
	return (flags & WIRE_STACK_DEEP ? SYMBOLS_CUT_DEEP : 0) |
	       (flags & WIRE_STACK_UNREAD ? SYMBOLS_CUT_UNREAD : 0);
}

/* A stored stack in the form of symbols; valid until the next one is stored. */
static struct symbols_stack stack_get(const struct stacks *s, uint32_t id)
{
	struct bytes kept = intern_get(&s->kept, id);
	struct kept_stack k;

	memcpy(&k, kept.data, sizeof(k));
	return (struct symbols_stack){
		.frames = (const void *)(kept.data + sizeof(k)),
		.count = k.count,
		.cut = cut_of(k.flags),
		.has_bottom = k.flags & WIRE_STACK_BOTTOM,
	};
}

/* The modules of a stack: number, build-id, path. */
static int put_modules(const struct stacks *s, const struct symbols_stack *of, struct buf *out)
{
	for (uint32_t i = 0; i < of->count; i++) {
		uint32_t module = of->frames[i].module;
		const struct symbols_module *m;
		bool seen = module == SYMBOLS_NONE;

		for (uint32_t j = 0; j < i && !seen; j++)
			seen = of->frames[j].module == module;
		if (seen)
			continue;
		m = &s->modules[module];
		buf_printf(out, "%u ", module);
		for (uint32_t j = 0; j < m->build_id_len; j++)
			buf_printf(out, "%02x", m->build_id[j]);
		buf_printf(out, "%s %s\n", m->build_id_len ? "" : "-", m->path);
	}
	return buf_status(out);
}

/* The row of a stack; `names` NULL: not looked up. */
static int stack_row(struct stacks *s, uint32_t id, const struct symbols_names *names,
		     struct batch_set *out)
{
	struct symbols_stack of = stack_get(s, id);
	_cleanup_buf_ struct buf modules = {0}, places = {0};
	bool kernel = of.count && of.frames[0].module == s->kernel && s->kernel != SYMBOLS_NONE;
	struct batch_row row;
	int r = put_modules(s, &of, &modules);

	if (r >= 0 && !names)
		r = symbols_put_frames(&of, &places);
	if (r < 0)
		return r;
	row = batch_set_row(out, TABLE_STACK);
	row_set(&row, STACK_ID, id);
	row_set(&row, STACK_KERNEL, kernel);
	row_set(&row, STACK_DEPTH, names ? names->depth : of.count);
	row_set(&row, STACK_CUT, names ? names->cut : of.cut);
	if (names)
		row_set_bytes(&row, STACK_NAMES, names->names.data, names->names.len);
	row_set_bytes(&row, STACK_FRAMES, names ? names->frames.data : places.data,
		      names ? names->frames.len : places.len);
	row_set_bytes(&row, STACK_MODULES, modules.data, modules.len);
	return row.r;
}

static int frame_of(struct decode *d, const struct wire_stack *w, uint64_t frame,
		    const struct wire_thread *t, struct symbols_frame *ret)
{
	const struct wire_module *modules = (const void *)((const uint64_t *)(w + 1) + w->frames);
	uint64_t index = frame >> WIRE_FRAME_MODULE, address = frame & (WIRE_FRAME_ADDRESS - 1);
	const struct wire_module *m;
	int r;

	*ret = (struct symbols_frame){.at = address, .module = SYMBOLS_NONE};
	ret->words = frame >> WIRE_FRAME_WORDS & 0xff;
	if (w->flags & WIRE_STACK_KERNEL) {
		ret->at = frame;
		ret->words = 0;
		return module_of_kernel(d, &ret->module);
	}
	if (!index || index > w->modules)
		return 0;
	m = &modules[index - 1];
	if (!m->file)
		return module_of_process(d->stacks, t, &ret->module);
	r = module_of_file(d, m->file, t, &ret->module);
	if (ret->module != SYMBOLS_NONE)
		ret->at = address - m->start + m->pos;
	return r;
}

int decode_stack(struct decode *d, const struct wire_stack *w, struct batch_set *out)
{
	const struct kept_stack k = {.flags = w->flags, .count = w->frames};
	const uint64_t *frames = (const void *)(w + 1);
	struct stacks *s = stacks_of(d);
	const struct wire_thread *t;
	size_t before;
	uint32_t id;
	int r;

	if (w->head.size < sizeof(*w) || w->frames > WIRE_STACK_FRAMES ||
	    w->modules > WIRE_STACK_MODULES ||
	    w->head.size < sizeof(*w) + w->frames * sizeof(uint64_t) +
				   w->modules * sizeof(struct wire_module))
		return -EBADMSG;
	if (!s)
		return -ENOMEM;
	before = s->kept.count;
	if (before >= STACKS_MAX || s->kept.len >= STACKS_BYTES_MAX)
		return 0; /* its calls are counted instead */
	t = kept_get(&d->thread_records, w->thread);
	buf_clear(&s->room);
	r = buf_append(&s->room, &k, sizeof(k));
	for (uint32_t i = 0; i < w->frames && r >= 0; i++) {
		struct symbols_frame f;

		r = frame_of(d, w, frames[i], t, &f);
		r = r < 0 ? r : buf_append(&s->room, &f, sizeof(f));
	}
	r = r < 0 ? r : intern_add(&s->kept, s->room.data, s->room.len, &id);
	r = r < 0 ? r : recent_set(&s->by_hash, w->stack, id);
	return r < 0 || s->kept.count == before ? r : stack_row(s, id, NULL, out);
}

static uint64_t call_key(uint32_t thread, uint32_t call)
{
	return (uint64_t)thread << 32 | call;
}

/* 1 + the id of a stack; 0: none. */
static uint64_t stack_number(struct decode *d, uint64_t hash)
{
	uint64_t id;

	if (!hash)
		return 0;
	if (recent_get(&d->stacks->by_hash, hash, &id))
		return id + 1;
	d->stacks_left_out++;
	return 0;
}

int decode_call_stacks(struct decode *d, const struct wire_call_stacks *w)
{
	struct stacks *s = stacks_of(d);
	uint64_t user, kernel;

	if (w->head.size < sizeof(*w))
		return -EBADMSG;
	if (!s)
		return -ENOMEM;
	user = stack_number(d, w->user);
	kernel = stack_number(d, w->kernel);
	return recent_set(&s->calls, call_key(w->thread, w->call), user << 32 | kernel);
}

void decode_take_stacks(struct decode *d, const struct wire_op *w, int64_t *ret_user,
			int64_t *ret_kernel)
{
	uint64_t ids, key = call_key(w->thread, w->call);

	*ret_user = *ret_kernel = -1;
	if (!recent_get(&d->stacks->calls, key, &ids))
		return;
	recent_del(&d->stacks->calls, key);
	*ret_user = (int64_t)(ids >> 32) - 1;
	*ret_kernel = (int64_t)(ids & UINT32_MAX) - 1;
}

/* ---- names ---- */

struct naming {
	struct stacks *stacks;
	struct batch_set *out;
};

static int stack_rows_take_names(void *arg, size_t stack, const struct symbols_names *n)
{
	struct naming *g = arg;

	return stack_row(g->stacks, (uint32_t)stack, n, g->out);
}

int decode_stack_names(struct decode *d, struct batch_set *out)
{
	_privileged_(privilege_files() | PRIVILEGE_CAP(CAP_SYS_PTRACE));
	struct stacks *s = d->stacks;
	struct naming g = {.stacks = s, .out = out};
	_cleanup_free_ struct symbols_stack *list = NULL;
	struct symbols_request q = {.limit_ns = NAMES_LIMIT_NS};
	int r;

	if (!s || !s->kept.count)
		return 0;
	list = calloc(s->kept.count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->kept.count; i++)
		list[i] = stack_get(s, i);
	q.stacks = list;
	q.stack_count = s->kept.count;
	q.modules = s->modules;
	q.module_count = s->module_count;
	r = symbols_resolve(&q, stack_rows_take_names, &g);
	/* Without a child, or after a time-out, the rows without names remain. */
	return r == -ENOMEM ? r : 0;
}
