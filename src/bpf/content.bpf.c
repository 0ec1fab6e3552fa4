// SPDX-License-Identifier: GPL-2.0-only
/*
 * content.bpf.c: hashes the bytes that calls move, as the calls end (record --content). It is attached before the calls
 * object, so that it runs first: its records precede that of their call in the ring, so that the recorder knows what is
 * missing when it reads the call. It also takes the end time of the call, which the calls object uses, so that hashing
 * does not count as part of the call.
 *
 * A call's memory is read at its exit, when the kernel has touched all of it: of 10,000 never used buffers none was
 * missing except in writes to /dev/null, where the kernel does not read them either. If another thread writes to the
 * buffer meanwhile, this program sees different data than the kernel.
 *
 * Measured (Linux 6.18): about 0.15 us for a call of 64 bytes, 0.8 us for 4 KiB, then 5 GB/s.
 */
#include "bpf/lib/content/content_aio.h"
#include "bpf/lib/content/content_begin.h"
#include "bpf/lib/call/filter.h"

#define FMODE_WRITE 2
#define ROOM_NAME   (sizeof(struct wire_content) + WIRE_ADDR_MAX)

char LICENSE[] SEC("license") = "GPL";

/* Set before loading. */
const volatile struct wire_content_plan content_plans[WIRE_CALLS_MAX];

struct messages {
	struct content_room *m;
	__u64 at;
	__u32 room; /* of an address */
};

/* Whether the next address is the one that was sent last. */
static __always_inline bool name_is_last(const struct content_room *m, __u32 len)
{
	__u64 other = m->named ^ len;

	for (__u32 i = 0; i < WIRE_ADDR_MAX / 8; i++)
		other |= m->last[i] ^ m->name[i];
	return !other;
}

static __always_inline void name_send(struct content_room *m, __u32 len)
{
	struct wire_content *r;
	struct ring_place p;
	__u32 seq;

	m->named = 0;
	r = content_room_in_ring(&p, ROOM_NAME, ROOM_NAME, &seq);
	if (!r) {
		content_lost();
		return;
	}
	*r = m->c;
	r->head.size = ROOM_NAME;
	r->head.seq = seq;
	r->form = WIRE_CONTENT_ADDRESS;
	r->flags &= WIRE_CONTENT_OUT;
	r->outcome = WIRE_CONTENT_HANDLED;
	r->pieces = 0;
	r->pos = WIRE_NONE;
	r->at = 0;
	r->bytes = len;
	__builtin_memcpy(r + 1, m->name, sizeof(m->name));
	__builtin_memcpy(m->last, m->name, sizeof(m->name));
	ring_commit(&p);
	m->named = len;
}

/* Sends the address of a message, unless the one before has the same. */
verified_alone int message_name(struct content_room *m, __u64 user, __u32 len, __u32 room)
{
	if (!m)
		return 0;
	m->c.flags &= ~WIRE_CONTENT_ADDRESSED;
	/* beyond the caller's buffer is what was there before */
	if (!user || !len || len > room || len > WIRE_ADDR_MAX)
		return 0;
	__builtin_memset(m->name, 0, sizeof(m->name));
	barrier_var(len); /* check and use must be adjacent for 6.1's verifier */
	if (len > WIRE_ADDR_MAX || bpf_probe_read_user(m->name, len, (void *)user))
		return 0;
	if (!name_is_last(m, len))
		name_send(m, len);
	if (m->named)
		m->c.flags |= WIRE_CONTENT_ADDRESSED;
	return 0;
}

static long message_take(__u32 i, struct messages *of)
{
	struct content_room *m = of->m;
	struct mmsg e;

	if (bpf_probe_read_user(&e, sizeof(e), (void *)(of->at + i * sizeof(e))))
		return 1;
	message_name(m, i < WIRE_CONTENT_NAMES ? e.msg.name : 0, e.msg.namelen, of->room);
	content_source(m, 0, 0, e.msg.iov, e.msg.iovlen);
	m->total = e.len;
	m->c.flags |= WIRE_CONTENT_COUNTS;
	content_rewind(m, WIRE_CONTENT_BUFFER, 0, m->at);
	content_walk(m);
	return 0;
}

/* The TCP stream position, if the descriptor of the call still refers to the socket. */
static __always_inline void call_pos_tcp(struct content_room *m, struct thread_state *ts, bool out,
					 __s64 ret)
{
	__u64 file = ts->call.file;

	if (fd_file_apart(ts->call.op.fd) == file)
		content_pos_tcp(m, file, true, out ? ts->content.out : ts->content.in, out, ret);
}

static __always_inline void content_pos(struct content_room *m, struct thread_state *ts,
					struct wire_plan *p, bool out, __s64 ret)
{
	__u64 inode;
	__u16 status = 0;

	m->pos = WIRE_NONE;
	m->sample = 0;
	m->stream = 0;
	if (ts->call.kind & FILE_SEEKABLE) {
		m->pos = call_pos(bpf_get_current_task_btf(), &ts->call, p, ret, &status);
		if (m->pos < 0)
			m->pos = WIRE_NONE;
		if (status & STATUS_CONTESTED)
			m->c.flags |= WIRE_CONTENT_CONTESTED;
		inode = (__u64)kread(struct file, ts->call.file, f_inode);
		if (!out)
			m->end = kread(struct inode, inode, i_size);
		if (content_how.parts > 1)
			m->sample = kread(struct inode, inode, i_ino);
	} else if (ts->content.tcp) {
		call_pos_tcp(m, ts, out, ret);
	}
}

/* The position of the call's bytes in one of its two files; 1: the second one. WIRE_NONE: the file has no positions. */
static __always_inline __s64 content_pos_file(struct content_room *m, struct thread_state *ts,
					      struct wire_plan *p, int which, __s64 ret)
{
	struct call *c = &ts->call;
	__s8 arg_of = which ? p->posp2 : p->posp;
	__u64 file = which ? c->file2 : c->file, user = has(arg_of) ? arg(c, arg_of) : 0;
	__s64 before = which ? c->pos2 : c->pos, pos;

	if (!((which ? c->kind2 : c->kind) & FILE_SEEKABLE) || !file)
		return WIRE_NONE;
	if (user)
		return bpf_probe_read_user(&pos, sizeof(pos), (void *)user) || pos < ret
			       ? WIRE_NONE
			       : pos - ret;
	pos = kread(struct file, file, f_pos) - ret;
	if (pos != before)
		m->c.flags |= WIRE_CONTENT_CONTESTED;
	return pos < 0 ? WIRE_NONE : pos;
}

/*
 * Bytes moved from one file to another within the kernel: read from the page cache of the file that has positions. They
 * are counted in the rows of the source file; those of the other file have their own pieces.
 */
verified_alone int content_files(struct content_room *m, struct thread_state *ts,
				 struct wire_plan *p, __u32 from, __s64 ret)
{
	__s64 in, out;
	__u64 file = 0;
	__u8 contested;
	struct call *c;

	if (!m || !ts || !p)
		return 0;
	c = &ts->call;
	m->total = ret;
	out = content_pos_file(m, ts, p, !from, ret);
	contested = m->c.flags & WIRE_CONTENT_CONTESTED;
	m->c.flags = 0;
	in = content_pos_file(m, ts, p, from, ret);
	if (in != WIRE_NONE)
		file = from ? c->file2 : c->file;
	else if (out != WIRE_NONE)
		file = from ? c->file : c->file2;
	m->cache = file ? cache_of(file) : 0;
	content_source(m, in != WIRE_NONE ? in : out, m->cache ? ret : 0, 0, 0);
	if (!m->cache) /* unreadable */
		m->source[0] = 0;
	m->source[1] = ret;
	m->pos = in;
	m->c.file = from ? c->key2 : c->op.file;
	m->c.other = from ? c->op.file : c->key2;
	content_bytes(m);
	m->counts = 0;
	m->c.flags = contested | WIRE_CONTENT_OUT;
	m->c.file = from ? c->op.file : c->key2;
	m->c.other = from ? c->key2 : c->op.file;
	m->pos = out;
	if (out == WIRE_NONE && from && ts->content.tcp)
		call_pos_tcp(m, ts, true, ret);
	m->at = 0;
	return content_bytes(m);
}

/* Processes the bytes of a call from their location. */
static __always_inline int content_take(struct content_room *m, struct thread_state *ts,
					struct wire_plan *p, __u32 nr, __s64 ret)
{
	const volatile struct wire_content_plan *plan = &content_plans[nr & (WIRE_CALLS_MAX - 1)];
	struct call *c;
	struct msg msg;
	__u64 at;

	c = &ts->call;
	at = arg(c, plan->arg);
	m->total = ret;
	if (plan->how == WIRE_CONTENT_OF_FILES)
		return content_files(m, ts, p, plan->arg, ret);
	if (plan->how == WIRE_CONTENT_OF_MESSAGES) {
		struct messages of = {
			.m = m, .at = at, .room = plan->out ? WIRE_ADDR_MAX : ts->content.room};

		m->pos = WIRE_NONE;
		m->named = 0;
		bpf_loop(ret < IOV_MAX ? ret : IOV_MAX, message_take, &of, 0);
		return 0;
	}
	if (plan->how == WIRE_CONTENT_OF_MESSAGE) {
		if (bpf_probe_read_user(&msg, sizeof(msg), (void *)at))
			return 0;
		content_source(m, 0, 0, msg.iov, msg.iovlen);
	} else if (plan->how == WIRE_CONTENT_OF_VECTOR) {
		content_source(m, 0, 0, at, arg(c, plan->count));
	} else {
		/* MSG_TRUNC: the received message was longer than the buffer */
		if (m->total > c->op.size)
			m->total = c->op.size;
		content_source(m, plan->how == WIRE_CONTENT_OF_SYSV ? at + 8 : at, m->total, 0, 0);
	}
	return content_bytes(m);
}

static __always_inline int content_of_call(struct thread_state *ts, struct wire_plan *p, __s64 ret,
					   __u64 end)
{
	const volatile struct wire_content_plan *plan;
	struct content_room *m;
	struct call *c;
	__u32 nr;
	bool out;

	m = content_room();
	if (!m) {
		content_lost();
		return 0;
	}
	c = &ts->call;
	nr = c->op.nr & (WIRE_CALLS_MAX - 1);
	plan = &content_plans[nr];
	__builtin_memset(&m->c, 0, sizeof(m->c));
	m->c.head.type = WIRE_CONTENT;
	m->c.head.time = end;
	m->c.start = c->op.start;
	m->c.file = c->op.file;
	m->c.thread = c->op.thread;
	m->c.call = c->op.call;
	m->c.nr = nr;
	out = plan->out;
	if (plan->out == WIRE_CONTENT_OUT_IF_WRITABLE)
		out = kread(struct file, c->file, f_mode) & FMODE_WRITE;
	m->c.flags = out ? WIRE_CONTENT_OUT : 0;
	m->at = 0;
	m->end = 0;
	m->sample = 0;
	m->stream = 0;
	m->cache = 0;
	m->counts = 1;
	if (plan->how != WIRE_CONTENT_OF_FILES)
		content_pos(m, ts, p, out, ret);
	content_take(m, ts, p, nr, ret);
	m->busy = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_content, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	struct wire_plan *p;
	const __u32 in_call = THREAD_SELECTED | THREAD_IN_CALL;
	__u64 end;
	__u32 nr;

	if (ts && (ts->flags & in_call) == in_call) {
		p = plan_of(ts->call.op.nr);
		if (unlikely(p && (p->flags & WIRE_PLAN_AIO)))
			content_aio(ts, p, ret);
	}
	if (!ts || (ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) != THREAD_IN_CALL || ret <= 0)
		return 0;
	nr = ts->call.op.nr;
	p = plan_of(nr);
	if (!p || !content_plans[nr & (WIRE_CALLS_MAX - 1)].how || call_is_unsent(ts))
		return 0;
	/* MSG_PEEK leaves the data for a later call to move. */
	if ((p->flags & WIRE_PLAN_RECEIVES) && (ts->call.op.flags & MSG_PEEK))
		return 0;
	end = bpf_ktime_get_ns();
	if (!call_selected(ts, p, ret, end))
		return 0;
	ts->content.end = end;
	content_of_call(ts, p, ret, end);
	return 0;
}

/*
 * Reads the kernel's variables. Only this type of program may look names up; for `extern ... __ksym` libbpf would parse
 * all of /proc/kallsyms, a third of the time of a start with --content.
 */
SEC("syscall")
int weir_content_variables(void *ctx)
{
	static const char pages[] = "vmemmap_base", memory[] = "page_offset_base";
	__u64 at = 0;

	if (!bpf_kallsyms_lookup_name(pages, sizeof(pages), 0, &at))
		bpf_probe_read_kernel(&content_tables.probed[0], 8, (void *)at);
	if (!bpf_kallsyms_lookup_name(memory, sizeof(memory), 0, &at))
		bpf_probe_read_kernel(&content_tables.probed[1], 8, (void *)at);
	return 0;
}

/* The recorder's own file, whose first word is known: tests the page table addresses with it. */
SEC("iter/task")
int weir_content_probe(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *self = bpf_get_current_task_btf();
	__u64 file, word = 0;

	if (!task || task->pid != task->tgid || task->tgid != self->tgid)
		return 0;
	file = fd_file(tread(struct task_struct, self, files), content_tables.probe_fd);
	content_tables.read = file && !cache_read(&word, sizeof(word), cache_of(file), 0);
	content_tables.word = word;
	return 0;
}
