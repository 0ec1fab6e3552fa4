// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring.bpf.c: requests of io_uring, from submission to completion, as rows next to those of calls.
 *
 * What the kernel reports (6.1 and 6.18, plain and polled rings, workers, links, fixed files, multishot, overflow):
 *   - Every completion is one event `complete` or one `cqe_overflow`; that of a request carries its address, by which it is
 *     found again. A shot of a multishot request has no address, an overflow neither: there ring and user_data must do.
 *   - The request's file is known when it has completed, its position when it is submitted: the kernel moves it on.
 *   - A request whose success is not wanted (IOSQE_CQE_SKIP_SUCCESS) ends in silence. It is known to have ended when its
 *     memory is used again.
 *   - What was refused before it became a request is seen in `req_failed`, then in `complete`.
 * The submission queue entry is ABI, the same everywhere, so that is read rather than each operation's internal form.
 */
#include "bpf/lib/request/request.h"
#ifdef URING_CONTENT
#	include "bpf/lib/content/content_uring.h"
#else
#	include "bpf/lib/content/content_none.h"
#endif

#define SETUP_SQPOLL	 (1u << 1)
#define SETUP_SQE128	 (1u << 10)
#define SETUP_NO_SQARRAY (1u << 16)
#define SQE_FIXED_FILE	 (1u << 0)
#define SQE_SKIP_SUCCESS (1u << 6)
#define SPLICE_FD_FIXED	 (1u << 31) /* SPLICE_F_FD_IN_FIXED */
#define CQE_MORE	 (1u << 1)
#define CQE_NOTICE	 (1u << 3)
#define OP_POLL_ADD	 6
#define OP_RECVMSG	 10
#define OP_TIMEOUT	 11
#define OP_ACCEPT	 13
#define OP_RECV		 27
#define OP_URING_CMD	 46
#define OP_SEND_ZC	 47
#define OP_SENDMSG_ZC	 48
#define OP_READ_MULTI	 49
#define OP_RECV_ZC	 58
#define EFFECTS		 (WIRE_REQUEST_NAMES | WIRE_REQUEST_UNLINK | WIRE_REQUEST_CREATES)
#define SEARCH_MAX	 (8 * 1024 * 1024) /* entries visited over a recording, about 0.2 s */

char LICENSE[] SEC("license") = "GPL";

struct bpf_map;

/* The rest of SEARCH_MAX. */
static __s64 search_left = SEARCH_MAX;

/* Reads the entry from which the kernel has just made a request. False: it was a different one. */
static __always_inline bool sqe_read(struct sqe *s, __u64 request)
{
	__u64 ctx = knum(struct io_kiocb, request, ctx);
	__u32 setup = kread(struct io_ring_ctx, ctx, flags);
	__u32 at = kread(struct io_ring_ctx, ctx, cached_sq_head) - 1;

	at &= kread(struct io_ring_ctx, ctx, sq_entries) - 1;
	if (!(setup & SETUP_NO_SQARRAY))
		bpf_probe_read_kernel(
			&at, sizeof(at),
			(void *)(knum(struct io_ring_ctx, ctx, sq_array) + 4 * (__u64)at));
	if (setup & SETUP_SQE128)
		at <<= 1;
	if (bpf_probe_read_kernel(
		    s, sizeof(*s),
		    (void *)(knum(struct io_ring_ctx, ctx, sq_sqes) + sizeof(*s) * (__u64)at)))
		return false;
	return s->opcode == kread(struct io_kiocb, request, opcode) &&
	       s->user_data == kread(struct io_kiocb, request, cqe.user_data);
}

static __always_inline bool sqe_is_multishot(const struct sqe *s)
{
	switch (s->opcode) {
	case OP_POLL_ADD:
		return s->len & 1;
	case OP_ACCEPT:
		return s->ioprio & 1;
	case OP_RECV:
	case OP_RECVMSG:
	case OP_RECV_ZC:
		return s->ioprio & 2;
	case OP_TIMEOUT:
		return s->op_flags & 1 << 6;
	case OP_URING_CMD:
		return s->op_flags & 1 << 1;
	default:
		return s->opcode == OP_READ_MULTI;
	}
}

/* The number of bytes that a message requests. */
verified_alone __u64 message_sum(__u64 at)
{
	struct msg m;

	return bpf_probe_read_user(&m, sizeof(m), (void *)at) ? WIRE_SIZE_UNKNOWN
							      : vector_sum(m.iov, m.iovlen);
}

static __always_inline __u64 sqe_size(const struct sqe *s, __u32 how)
{
	/* Vectors of 32-bit programs have another layout. */
	bool vectors = !is_compat(bpf_get_current_task_btf());

	switch (how) {
	case WIRE_REQUEST_LEN:
		return s->len;
	case WIRE_REQUEST_ADDR:
		return s->addr;
	case WIRE_REQUEST_OFF:
		return s->off;
	case WIRE_REQUEST_VECTOR:
		return vectors ? vector_sum(s->addr, s->len) : WIRE_SIZE_UNKNOWN;
	case WIRE_REQUEST_MSG:
		return vectors ? message_sum(s->addr) : WIRE_SIZE_UNKNOWN;
	default:
		return WIRE_SIZE_UNKNOWN;
	}
}

/* splice and tee: the request belongs to the file that is written, which is known at the end. */
static __always_inline void splice_fill(struct wire_live *p, const struct sqe *s)
{
	p->fd2 = s->flags & SQE_FIXED_FILE ? -1 : s->fd;
	p->pos2 = s->off == (__u64)AT_OWN_POS ? WIRE_NONE : (__s64)s->off;
	p->pos = s->addr == (__u64)AT_OWN_POS ? WIRE_NONE : (__s64)s->addr;
	p->size = s->len;
	p->flags = s->op_flags & ~SPLICE_FD_FIXED;
	p->parts |= WIRE_REQUEST_FLAGS;
	if (!(s->op_flags & SPLICE_FD_FIXED))
		p->fd = s->file_index; /* splice_fd_in */
}

static __always_inline void request_fill(struct wire_live *p, const struct sqe *s)
{
	const volatile struct wire_request_op *op = op_of(s->opcode);
	__u32 what = op->what;

	p->user_data = s->user_data;
	p->shots = sqe_is_multishot(s);
	p->sqe_flags = s->flags;
	if (what & WIRE_REQUEST_SPLICE) {
		splice_fill(p, s);
		return;
	}
	p->fd = what & (WIRE_REQUEST_FILE | WIRE_REQUEST_EARLY) ? s->fd : -1;
	/* For close it is one more than the index. */
	if ((s->flags & SQE_FIXED_FILE) || ((what & WIRE_REQUEST_EARLY) && s->file_index))
		p->parts |= WIRE_REQUEST_FIXED;
	if ((what & WIRE_REQUEST_RETURNS) && s->file_index)
		p->parts |= WIRE_REQUEST_SLOT;
	if (what & WIRE_REQUEST_POS)
		p->pos = s->off;
	p->size = sqe_size(s, op->size);
	memory_fill(p, s, op);
	p->flags = what & WIRE_REQUEST_MODE ? s->len : s->op_flags;
	if ((what & WIRE_REQUEST_WORDS) || s->opcode >= WIRE_REQUEST_OPS - 1)
		p->parts |= WIRE_REQUEST_FLAGS;
	if (s->opcode >= WIRE_REQUEST_OPS - 1)
		p->flags = s->opcode;
}

/* Reads what the program wrote to the queue; `sqe`: the kernel's address of the entry, 0: unknown. The stack is small,
 * so the file look-up gets it to itself. */
verified_alone int request_describe(struct wire_live *p, __u64 request, __u64 sqe)
{
	struct sqe s;

	if (!p)
		return 0;
	if (sqe ? !bpf_probe_read_kernel(&s, sizeof(s), (void *)sqe) : sqe_read(&s, request))
		request_fill(p, &s);
	else
		p->status |= STATUS_ARG_UNREAD;
	return 0;
}

/* Sets the submitting thread, if it is known and not the current one. */
static __always_inline void request_issuer(struct wire_live *p, struct task_struct *issuer)
{
	struct thread_state *ts = issuer ? bpf_task_storage_get(&threads, issuer, 0, 0) : NULL;

	if (!ts || !(ts->flags & THREAD_SENT)) {
		p->status |= STATUS_POLLED;
		return;
	}
	p->thread = ts->version;
	p->tid = ts->tid;
}

verified_alone int shot_begin(struct wire_live *p, __u64 request)
{
	struct shot first = {.request = request, .count = 1}, *s;
	struct shot_key k;

	if (!p)
		return 0;
	k.ctx = p->ctx;
	k.user_data = p->user_data;
	if (!bpf_map_update_elem(&shots, &k, &first, BPF_NOEXIST))
		return 0;
	s = bpf_map_lookup_elem(&shots, &k);
	if (!s)
		return 0;
	s->request = 0;
	__sync_fetch_and_add(&s->count, 1);
	return 0;
}

verified_alone int shot_end(struct wire_live *p)
{
	struct shot_key k;
	struct shot *s;

	if (!p)
		return 0;
	k.ctx = p->ctx;
	k.user_data = p->user_data;
	s = bpf_map_lookup_elem(&shots, &k);
	if (s && __sync_fetch_and_add(&s->count, -1) <= 1)
		bpf_map_delete_elem(&shots, &k);
	return 0;
}

/* A request whose memory the kernel reuses ended unseen. */
verified_alone int request_replaced(__u64 request)
{
	struct wire_live *p = bpf_map_lookup_elem(&requests, &request);
	struct request_end e = {};

	if (!p)
		return 0;
	e.now = bpf_ktime_get_ns();
	e.status = STATUS_NO_END;
	e.file = p->file;
	e.pos = p->pos == AT_OWN_POS ? WIRE_NONE : p->pos;
	e.fd2 = p->fd2;
	__sync_fetch_and_add(
		p->sqe_flags & SQE_SKIP_SUCCESS ? &counts()->silent : &counts()->replaced, 1);
	if (!end_left_out(p, &e)) /* not a failed one: the kernel reports failures */
		request_record(p, &e, KIND_IO_URING);
	if (p->shots)
		shot_end(p);
	memory_forget(request);
	bpf_map_delete_elem(&requests, &request);
	return 0;
}

static __always_inline int request_add(struct wire_live *p, __u64 request)
{
	int r = bpf_map_update_elem(&requests, &request, p, BPF_NOEXIST);

	__sync_fetch_and_add(&counts()->submitted, 1);
	if (unlikely(r == -EEXIST)) {
		request_replaced(request);
		r = bpf_map_update_elem(&requests, &request, p, BPF_NOEXIST);
	}
	if (unlikely(r)) {
		__sync_fetch_and_add(&counts()->full, 1);
		return 0;
	}
	if (unlikely(p->shots))
		shot_begin(p, request);
	return 0;
}

static __always_inline int request_begin(__u64 request, bool rejected, __u64 sqe,
					 struct task_struct *issuer)
{
	__u8 opcode = kread(struct io_kiocb, request, opcode);
	struct thread_state *ts;
	struct scratch *room;
	struct wire_live *p;

	if (sqe)
		bpf_probe_read_kernel(&opcode, 1, (void *)sqe);
	if (!(op_of(opcode)->what & WIRE_REQUEST_RECORD))
		return 0;
	/* A rejected one is not worth a third program with all that a thread and a file take: its thread usually is
	 * known from the call that submits it, otherwise its start remains unknown; its file is looked up at its end. */
	ts = rejected ? thread_recorded_before() : thread_recorded();
	room = ts ? request_room() : NULL;
	if (!room)
		return 0;
	p = (struct wire_live *)room->data;
	p->ctx = knum(struct io_kiocb, request, ctx);
	p->user_data = kread(struct io_kiocb, request, cqe.user_data);
	p->pos = p->pos2 = WIRE_NONE;
	p->size = WIRE_SIZE_UNKNOWN;
	p->thread = ts->version;
	p->tid = ts->tid;
	p->fd = p->fd2 = -1;
	p->opcode = opcode;
	request_describe(p, request, sqe);
	if (unlikely(op_of(opcode)->what & (WIRE_REQUEST_EARLY | WIRE_REQUEST_SPLICE)) &&
	    p->fd >= 0 && !(p->parts & WIRE_REQUEST_FIXED)) {
		if (rejected)
			p->parts |= WIRE_REQUEST_LATE;
		else
			request_file(ts, p);
	}
	if (bpf_get_current_task_btf()->flags & PF_IO_WORKER)
		request_issuer(p, issuer);
	memory_keep(p, request);
	p->start = bpf_ktime_get_ns();
	request_add(p, request);
	scratch_put(room);
	return 0;
}

/* Set if only one thread submits to the ring (IORING_SETUP_SINGLE_ISSUER). */
static __always_inline struct task_struct *issuer_of(struct io_kiocb *req)
{
	return req->ctx->submitter_task;
}

/* Linux 6.4 and later. */
SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(weir_submit_req, struct io_kiocb *req)
{
	__u64 at = (__u64)req;

	return request_begin(number_at(&at), false, 0, issuer_of(req));
}

/* Older kernels. */
SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(weir_submit_sqe, struct io_kiocb *req)
{
	__u64 at = (__u64)req;

	return request_begin(number_at(&at), false, 0, issuer_of(req));
}

/* Rejected before it became a request; it completes like one nevertheless. */
SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(weir_req_failed, const void *sqe, struct io_kiocb *req)
{
	__u64 at = (__u64)req, entry = (__u64)sqe;

	return request_begin(number_at(&at), true, number_at(&entry), issuer_of(req));
}

/* The effects of a completed request on files that other processes have open; for every process of the host. */
verified_alone int request_effects(__u32 what, __s64 ret)
{
	__u64 file;

	if (what & WIRE_REQUEST_NAMES)
		__sync_fetch_and_add(&epochs.names, 1);
	if (what & WIRE_REQUEST_UNLINK)
		__sync_fetch_and_add(&epochs.unlinks, 1);
	if (what & WIRE_REQUEST_CREATES) {
		file = fd_file_apart(ret);
		if (file)
			file_created(file);
	}
	return 0;
}

static __always_inline __u8 unstarted_opcode(struct request_end *e)
{
	return e->request ? kread(struct io_kiocb, e->request, opcode) : WIRE_REQUEST_EVENT;
}

/* Whether to record a completion whose request was not seen to begin. */
verified_alone int unstarted_wanted(struct request_end *e)
{
	__u8 opcode;

	if (!e)
		return 0;
	opcode = unstarted_opcode(e);
	/* A message to another ring is recorded where it is sent. */
	return opcode && (op_of(opcode)->what & WIRE_REQUEST_RECORD) && thread_recorded();
}

/* Fills in what is known. 0: its thread is no longer selected. */
verified_alone int unstarted_fill(struct wire_live *p, struct request_end *e)
{
	struct thread_state *ts;

	if (!p || !e)
		return 0;
	p->opcode = unstarted_opcode(e);
	ts = thread_recorded();
	if (!ts)
		return 0;
	__sync_fetch_and_add(&counts()->unstarted, 1);
	p->thread = ts->version;
	p->tid = ts->tid;
	p->fd = p->fd2 = -1;
	p->pos2 = WIRE_NONE;
	p->size = WIRE_SIZE_UNKNOWN;
	/* Its last position, from which end_file() goes back. */
	p->pos = op_of(p->opcode)->what & WIRE_REQUEST_POS ? AT_OWN_POS : WIRE_NONE;
	p->parts = WIRE_REQUEST_SLOT; /* the kind of the returned descriptor is unknown */
	p->status = STATUS_NO_START;
	if (bpf_get_current_task_btf()->flags & PF_IO_WORKER)
		p->status |= STATUS_POLLED;
	return 1;
}

/* The multishot request that this completion belongs to, if only one has its user_data. */
verified_alone int shot_find(struct request_end *e, __u64 ctx, __u64 user_data)
{
	struct shot_key k = {.ctx = ctx, .user_data = user_data};
	struct shot *s = bpf_map_lookup_elem(&shots, &k);

	if (!e || !s)
		return 0;
	e->request = s->request;
	if (!s->request)
		e->status |= STATUS_UNSURE | STATUS_SHOT;
	return 0;
}

/* A request has completed; `more`: and continues. `readable`: its bytes are read, if content is recorded. */
static __always_inline int request_ended(struct wire_live *p, struct request_end *e, bool more,
					 bool readable)
{
	struct scratch *room;

	if (!p) {
		if (!unstarted_wanted(e)) /* before removing an entry that others may need */
			return 0;
		room = request_room();
		if (!room)
			return 0;
		p = (struct wire_live *)room->data;
		if (unstarted_fill(p, e) && request_end_fill(p, e))
			request_send(p, e);
		scratch_put(room);
		return 0;
	}
	if (more) {
		p->status |= STATUS_SHOT;
		__sync_fetch_and_add(&counts()->shots, 1);
	}
	if (request_end_fill(p, e)) {
		if (readable)
			memory_take(p, e);
		request_send(p, e);
	}
	if (more) {
		p->start = e->now;
		memory_again(p, e);
		return 0;
	}
	if (unlikely(p->shots))
		shot_end(p);
	memory_forget(e->request);
	bpf_map_delete_elem(&requests, &e->request);
	__sync_fetch_and_add(&counts()->ended, 1);
	return 0;
}

static __always_inline int request_complete(__u64 ctx, __u64 request, __u64 user_data, __s32 res,
					    __u32 flags)
{
	struct request_end e = {.request = request, .ret = res};
	struct wire_live *p = NULL;
	__u32 what, opcode = 0;

	if (flags & CQE_NOTICE) {
		__sync_fetch_and_add(&counts()->notices, 1);
		return 0;
	}
	e.now = bpf_ktime_get_ns();
	if (!request) {
		shot_find(&e, ctx, user_data);
	} else {
		opcode = kread(struct io_kiocb, request, opcode);
		what = op_of(opcode)->what;
		if (unlikely(what & EFFECTS) && res >= 0)
			request_effects(what, res);
	}
	if (e.request)
		p = bpf_map_lookup_elem(&requests, &e.request);
	/* A zero-copy send completes first, and later reports that its buffer is free. */
	return request_ended(
		p, &e,
		!request || ((flags & CQE_MORE) && opcode != OP_SEND_ZC && opcode != OP_SENDMSG_ZC),
		true);
}

/* Since Linux 6.15 the argument is a pointer to the completion, before that its fields. */
typedef void (*btf_trace_io_uring_complete)(void *, struct io_ring_ctx *, void *,
					    struct io_uring_cqe *);

SEC("tp_btf/io_uring_complete")
int weir_complete(__u64 *ctx)
{
	__u64 ring = ctx[0];

	ring = number_at(&ring);
	if (bpf_core_type_matches(btf_trace_io_uring_complete)) {
		struct io_uring_cqe *cqe = (void *)ctx[2];

		return request_complete(ring, ctx[1], cqe->user_data, cqe->res, cqe->flags);
	}
	return request_complete(ring, ctx[1], ctx[2], ctx[3], ctx[4]);
}

/* Searches for the oldest request of a ring with a given user_data. */
struct search {
	__u64 ctx, user_data;
	__u64 request, start;
	__u32 found, several; /* flags, not counters: the verifier would track every value */
};

static long search_step(struct bpf_map *map, const void *key, void *value, void *data)
{
	struct wire_live *p = value;
	struct search *s = data;

	if (__sync_fetch_and_add(&search_left, -1) <= 0)
		return 1;
	if (p->ctx != s->ctx || p->user_data != s->user_data)
		return 0;
	if (!s->found || p->start < s->start) {
		s->request = *(const __u64 *)key;
		s->start = p->start;
	}
	if (s->found)
		s->several = 1;
	s->found = 1;
	return 0;
}

/* The program's ring was full: the kernel reports only the request's user_data. */
SEC("tp_btf/io_uring_cqe_overflow")
int BPF_PROG(weir_overflow, void *ring, __u64 user_data, __s32 res, __u32 flags)
{
	struct search s = {.ctx = (__u64)ring, .user_data = user_data};
	struct request_end e = {.ret = res, .status = STATUS_OVERFLOW};
	struct wire_live *p;

	if (flags & CQE_NOTICE)
		return 0;
	e.now = bpf_ktime_get_ns();
	if (search_left > 0)
		bpf_for_each_map_elem(&requests, search_step, &s, 0);
	if (search_left <= 0)
		__sync_fetch_and_add(&counts()->unsearched, 1);
	e.request = s.request;
	p = s.found ? bpf_map_lookup_elem(&requests, &s.request) : NULL;
	if (s.several)
		e.status |= STATUS_UNSURE;
	return request_ended(p, &e, flags & CQE_MORE, false);
}
