/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/calls/request.h"
#include "capture/ebpf/side/content.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/load/load.h"
#include "privilege/privilege.h"
#include "calls.skel.h"
#include "uring.skel.h"
#include "uring_content.skel.h"

_Static_assert(STATUS_NO_END == 1 << 16 && STATUS_SHOT == 1 << 17 && STATUS_POLLED == 1 << 18 &&
		       STATUS_OVERFLOW == 1 << 20 && STATUS_UNSURE == 1 << 21 && KIND_IO_URING == 1,
	       "src/bpf/lib/request/request.h repeats these");

/* Sections shared with the calls object must have the same layout in both (bpf/lib/state.h). */
#define LIES_ALIKE(section, field)                                           \
	_Static_assert(offsetof(struct uring_bpf__##section, field) ==       \
			       offsetof(struct calls_bpf__##section, field), \
		       "the compiler put " #field " elsewhere")
LIES_ALIKE(data_calls_shared, cpus);
LIES_ALIKE(data_calls_shared, plans);
LIES_ALIKE(data_calls_shared, next_file);
LIES_ALIKE(data_calls_shared, probe_modes);
LIES_ALIKE(rodata_calls_shared, min_dur_ns);
LIES_ALIKE(rodata_calls_shared, filter);
LIES_ALIKE(rodata_calls_shared, tests);
_Static_assert(offsetof(struct uring_content_bpf__bss, request_counts) ==
			       offsetof(struct uring_bpf__bss, request_counts) &&
		       offsetof(struct uring_content_bpf__rodata, request_ops) ==
			       offsetof(struct uring_bpf__rodata, request_ops),
	       "both objects of requests have their own variables at the same place");

#define AIO_MANY     32768     /* half of the programs' limit */
#define SKIP_SUCCESS (1u << 6) /* IOSQE_CQE_SKIP_SUCCESS */
#define DATASYNC     1u	       /* IORING_FSYNC_DATASYNC */
#define OP_FSYNC     3

#define POS	WIRE_REQUEST_POS
#define FILE_	WIRE_REQUEST_FILE
#define EARLY	WIRE_REQUEST_EARLY
#define RETURNS WIRE_REQUEST_RETURNS
#define WORDS	WIRE_REQUEST_WORDS
#define NAMES	WIRE_REQUEST_NAMES
#define UNLINK	WIRE_REQUEST_UNLINK
#define CREATES WIRE_REQUEST_CREATES
#define APPENDS WIRE_REQUEST_APPENDS
#define MODE	WIRE_REQUEST_MODE
#define SPLICE	WIRE_REQUEST_SPLICE
#define LEN	WIRE_REQUEST_LEN
#define ADDR	WIRE_REQUEST_ADDR
#define OFF	WIRE_REQUEST_OFF
#define VECTOR	WIRE_REQUEST_VECTOR
#define MSG	WIRE_REQUEST_MSG

/* By opcode, numbered as in enum io_uring_op: a distribution's headers may lack newer ones. */
static const struct request_row {
	const char *op;
	uint16_t what; /* enum wire_request_what */
	uint8_t size;  /* enum wire_request_size */
} uring_rows[WIRE_REQUEST_OPS] = {
	[0] = {"uring_nop", 0, 0},
	[1] = {"readv", FILE_ | POS, VECTOR},
	[2] = {"writev", FILE_ | POS | APPENDS, VECTOR},
	[OP_FSYNC] = {"fsync", FILE_, 0},
	[4] = {"read", FILE_ | POS, LEN}, /* READ_FIXED: its buffer is registered */
	[5] = {"write", FILE_ | POS | APPENDS, LEN},
	[6] = {"poll", FILE_, 0},
	[7] = {"uring_poll_remove", 0, 0},
	[8] = {"sync_file_range", FILE_ | POS | WORDS, LEN},
	[9] = {"sendmsg", FILE_ | WORDS, MSG},
	[10] = {"recvmsg", FILE_ | WORDS, MSG},
	[11] = {"uring_timeout", 0, 0},
	[12] = {"uring_timeout_remove", 0, 0},
	[13] = {"accept4", FILE_ | RETURNS | WORDS, 0},
	[14] = {"uring_cancel", 0, 0},
	[15] = {"uring_link_timeout", 0, 0},
	[16] = {"connect", FILE_, 0},
	[17] = {"fallocate", FILE_ | POS | WORDS | MODE, ADDR},
	[18] = {"openat", RETURNS | CREATES | WORDS, 0},
	[19] = {"close", EARLY, 0},
	[20] = {"uring_files_update", 0, 0},
	[21] = {"statx", WORDS, 0},
	[22] = {"read", FILE_ | POS, LEN},
	[23] = {"write", FILE_ | POS | APPENDS, LEN},
	[24] = {"fadvise64", FILE_ | POS, LEN},
	[25] = {"madvise", 0, LEN},
	[26] = {"sendto", FILE_ | WORDS, LEN},
	[27] = {"recvfrom", FILE_ | WORDS, LEN},
	[28] = {"openat2", RETURNS | CREATES, 0},
	[29] = {"epoll_ctl", EARLY, 0},
	[30] = {"splice", FILE_ | SPLICE, 0},
	[31] = {"uring_provide_buffers", 0, 0},
	[32] = {"uring_remove_buffers", 0, 0},
	[33] = {"tee", FILE_ | SPLICE, 0},
	[34] = {"shutdown", FILE_, 0},
	[35] = {"renameat2", NAMES | UNLINK | WORDS, 0},
	[36] = {"unlinkat", UNLINK | WORDS, 0},
	[37] = {"mkdirat", 0, 0},
	[38] = {"symlinkat", 0, 0},
	[39] = {"linkat", WORDS, 0},
	[40] = {"uring_msg_ring", FILE_, 0},
	[41] = {"fsetxattr", FILE_, 0},
	[42] = {"setxattr", 0, 0},
	[43] = {"fgetxattr", FILE_, 0},
	[44] = {"getxattr", 0, 0},
	[45] = {"socket", RETURNS, 0},
	[46] = {"uring_cmd", FILE_, 0},
	[47] = {"sendto", FILE_ | WORDS, LEN}, /* SEND_ZC */
	[48] = {"sendmsg", FILE_ | WORDS, MSG},
	[49] = {"read", FILE_ | POS, LEN}, /* READ_MULTISHOT */
	[50] = {"waitid", 0, 0},
	[51] = {"futex_wait", 0, 0},
	[52] = {"futex_wake", 0, 0},
	[53] = {"futex_waitv", 0, 0},
	[54] = {"uring_install_fd", FILE_, 0},
	[55] = {"ftruncate", FILE_, OFF},
	[56] = {"bind", FILE_, 0},
	[57] = {"listen", FILE_, 0},
	[58] = {"recvfrom", FILE_ | WORDS, LEN}, /* RECV_ZC */
	[59] = {"epoll_wait", FILE_, 0},
	[60] = {"readv", FILE_ | POS, VECTOR}, /* READV_FIXED */
	[61] = {"writev", FILE_ | POS | APPENDS, VECTOR},
	[62] = {"pipe2", WORDS, 0},
	[63] = {"uring_other", WORDS, 0},
};

/* By IOCB_CMD_*. */
static const struct request_row aio_rows[WIRE_AIO_OPS] = {
	[0] = {"pread64", FILE_ | POS, LEN},
	[1] = {"pwrite64", FILE_ | POS | APPENDS, LEN},
	[2] = {"fsync", FILE_, 0},
	[3] = {"fdatasync", FILE_, 0},
	[5] = {"poll", FILE_, 0},
	[7] = {"preadv", FILE_ | POS, VECTOR},
	[8] = {"pwritev", FILE_ | POS | APPENDS, VECTOR},
};

static const struct request_row *request_row(enum call_kind kind, uint8_t opcode)
{
	if (kind == KIND_LIBAIO && opcode < WIRE_AIO_OPS && aio_rows[opcode].op)
		return &aio_rows[opcode];
	return &uring_rows[kind == KIND_IO_URING ? MIN(opcode, WIRE_REQUEST_OPS - 1)
						 : WIRE_REQUEST_OPS - 1];
}

uint32_t request_op(enum call_kind kind, uint8_t opcode, uint32_t flags)
{
	const char *name = request_row(kind, opcode)->op;
	int code;

	if (opcode == WIRE_REQUEST_EVENT)
		name = "uring_event";
	else if (kind == KIND_IO_URING && opcode == OP_FSYNC && flags & DATASYNC)
		name = "fdatasync";
	code = op_find(name);
	assert(code >= 0);
	return (uint32_t)code;
}

/* Whether the programs record an opcode; for fsync both operations, which the recorder then distinguishes. */
static bool request_is_selected(const struct select *s, enum call_kind kind, uint8_t opcode)
{
	if (select_op(s, request_op(kind, opcode, 0)))
		return true;
	if (kind != KIND_IO_URING)
		return false;
	return (opcode == OP_FSYNC && select_op(s, request_op(kind, opcode, DATASYNC))) ||
	       (opcode == WIRE_REQUEST_OPS - 1 &&
		select_op(s, request_op(kind, WIRE_REQUEST_EVENT, 0)));
}

static struct wire_request_op request_plan(const struct select *s, enum call_kind kind,
					   uint8_t opcode)
{
	const struct request_row *row = request_row(kind, opcode);

	return (struct wire_request_op){
		.what = row->what |
			(request_is_selected(s, kind, opcode) ? WIRE_REQUEST_RECORD : (uint16_t)0) |
			(op_way(request_op(kind, opcode, 0)) == OP_WAY_OUT ? WIRE_REQUEST_OUT
									   : (uint16_t)0),
		.size = row->size,
	};
}

bool requests_selected(const struct ebpf_options *opt)
{
	uint16_t what = 0;

	for (uint8_t i = 0; i < WIRE_REQUEST_OPS; i++)
		what |= request_plan(opt->select, KIND_IO_URING, i).what;
	return what & WIRE_REQUEST_RECORD;
}

void requests_of_aio(const struct select *s, struct wire_request_op *ret)
{
	for (uint8_t i = 0; i < WIRE_AIO_OPS; i++) {
		ret[i] = aio_rows[i].op ? request_plan(s, KIND_LIBAIO, i)
					: (struct wire_request_op){0};
	}
}

int requests_prepare(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct bpf_map *map = object_section(bpf, ".rodata");
	struct uring_bpf__rodata *ro;
	size_t size = 0;

	assert(map);
	ro = (struct uring_bpf__rodata *)bpf_map__initial_value(map, &size);
	assert(ro && size >= sizeof(*ro));
	for (uint8_t i = 0; i < WIRE_REQUEST_OPS; i++)
		ro->request_ops[i] = request_plan(opt->select, KIND_IO_URING, i);
	return content_prepare_how(bpf, opt);
}

bool requests_seen(const struct loaded *l, enum call_kind kind)
{
	return kind == KIND_LIBAIO || l->objects.all[OBJECT_URING].bpf || l->uring_left_out;
}

static void request_identity(const struct decode *d, const struct wire_request *w, uint32_t cpu,
			     uint32_t op, struct batch_row *row)
{

	row_set_if(row, w->start, OP_START, (int64_t)w->start + d->opt.clock_offset);
	if (w->start && !(w->status & STATUS_NO_END))
		row_set(row, OP_DUR, (int64_t)(w->head.time - w->start));
	row_set(row, OP_THREAD_ID, w->thread);
	row_set(row, OP_TID, w->tid);
	row_set_if(row, cpu != DECODE_NO_CPU, OP_CPU, cpu);
	row_set(row, OP_KIND, w->kind);
	row_set(row, OP_OP, op);
	row_set_if(row, !(w->status & (STATUS_UNFINISHED | STATUS_NO_END)), OP_RET, w->ret);
	row_set_if(row, w->status, OP_STATUS, w->status);
}

/* The file that it opened is its file, as for a call. */
static bool request_opens(const struct wire_request *w)
{
	uint16_t what = request_row(w->kind, w->opcode)->what;

	return w->kind == KIND_IO_URING && what & RETURNS && !(what & FILE_);
}

static void request_where(struct decode *d, const struct wire_request *w, struct batch_row *row)
{
	bool opens = request_opens(w);
	int32_t fd = opens ? w->fd2 : w->fd;
	uint64_t file = opens ? w->file2 : w->file;

	row_set_if(row, fd >= 0, OP_FD, fd);
	if (file)
		row_set(row, OP_FILE_ID, decode_file_key(d, file));
	row_set_if(row, w->pos != WIRE_NONE, OP_POS, w->pos);
	row_set_if(row, w->pos2 != WIRE_NONE, OP_POS2, w->pos2);
	row_set_if(row, w->size != WIRE_SIZE_UNKNOWN, OP_SIZE, (int64_t)w->size);
	row_set_if(row, w->parts & WIRE_REQUEST_FLAGS, OP_FLAGS, w->flags);
	if (opens)
		return;
	row_set_if(row, w->fd2 >= 0, OP_FD2, w->fd2);
	if (w->file2)
		row_set(row, OP_FILE2_ID, decode_file_key(d, w->file2));
}

/* The row for those of its bytes without a content record. */
static int request_content(struct decode *d, const struct wire_request *w, uint32_t op,
			   struct batch_set *out)
{
	const struct op_def *def = op_def(op);

	if (!def || def->ret != RET_BYTES || w->ret <= 0 || w->hashed >= (uint64_t)w->ret ||
	    w->status & (STATUS_UNFINISHED | STATUS_NO_END))
		return 0;
	return decode_content_unseen(
		d,
		&(struct content_unseen){.start = w->start,
					 .end = w->head.time,
					 .file = w->file,
					 .pos = w->pos,
					 .bytes = (uint64_t)w->ret - w->hashed,
					 .thread = w->thread,
					 .op = op,
					 .done = w->hashed,
					 .lost = w->memory == WIRE_MEMORY_TAKEN},
		out);
}

int decode_request(struct decode *d, const struct wire_request *w, uint32_t cpu,
		   struct batch_set *out)
{
	uint32_t op;
	struct batch_row row;
	int r;

	if (w->head.size < sizeof(*w) || (w->kind != KIND_IO_URING && w->kind != KIND_LIBAIO))
		return -EBADMSG;
	op = request_op(w->kind, w->opcode, w->flags);
	if (w->ret >= 0 && request_row(w->kind, w->opcode)->what & (NAMES | UNLINK))
		names_forget(d->names);
	if (!select_op(d->opt.select, op) ||
	    (!names_selected(d->names, w->file) && !names_selected(d->names, w->file2))) {
		d->filtered++;
		return 0;
	}
	row = batch_set_row(out, TABLE_OP);
	request_identity(d, w, cpu, op, &row);
	request_where(d, w, &row);
	r = row.r ? row.r : request_content(d, w, op, out);
	return r < 0 ? r : 1;
}

static struct wire_request request_unfinished(const struct wire_live *p, enum call_kind kind,
					      bool ended)
{

	return (struct wire_request){
		.head = {.type = WIRE_REQUEST,
			 .size = sizeof(struct wire_request),
			 .time = (uint64_t)clock_monotonic_ns()},
		.start = p->start,
		.ret = -1, /* changed nothing, as far as known */
		.file = p->file,
		.pos = p->pos == -1 ? WIRE_NONE : p->pos,
		.pos2 = p->pos2,
		.size = p->size,
		.thread = p->thread,
		.tid = p->tid,
		.fd = p->parts & WIRE_REQUEST_FIXED ? -1 : p->fd,
		.fd2 = p->fd2,
		.flags = p->flags,
		.status = p->status | (uint32_t)(ended ? STATUS_NO_END : STATUS_UNFINISHED),
		.kind = (uint8_t)kind,
		.opcode = p->opcode,
		.parts = p->parts,
	};
}

static int request_live(struct decode *d, const struct wire_live *p, enum call_kind kind,
			struct batch_set *out)
{
	const struct select *s = d->opt.select;
	/* For a silent one, and for those of ended threads, the end is unknown. */
	bool ended = (kind == KIND_IO_URING && p->sqe_flags & SKIP_SUCCESS) ||
		     load_has_ended((uint32_t)p->tid);
	struct wire_request w = request_unfinished(p, kind, ended);

	if (s->failed_only || (int64_t)(w.head.time - w.start) < (int64_t)s->min_dur_ns)
		return 0;
	return decode_request(d, &w, DECODE_NO_CPU, out);
}

/* The requests in a map whose keys have at most 16 bytes. */
static int64_t requests_live_of(int map, enum call_kind kind, struct decode *d,
				struct batch_set *out, uint64_t *ret_ops)
{
	_privileged_(PRIVILEGE_BPF);
	uint64_t key[2], *at = NULL;
	struct wire_live p;
	int64_t count = 0;

	for (; map >= 0 && !bpf_map_get_next_key(map, at, key); at = key) {
		int r;

		if (bpf_map_lookup_elem(map, key, &p))
			continue;
		count++;
		r = request_live(d, &p, kind, out);
		if (r < 0)
			return r;
		*ret_ops += (uint64_t)r;
	}
	return count;
}

static bool process_has_ended(struct map *known, int32_t tgid)
{
	uint64_t ended;

	if (map_get(known, (uint32_t)tgid, &ended))
		return ended;
	ended = load_has_ended((uint32_t)tgid);
	(void)!map_set(known, (uint32_t)tgid, ended);
	return ended;
}

int requests_forget(const struct loaded *l, struct decode *d, struct batch_set *out,
		    struct requests_missing *m, uint64_t *ret_ops)
{
	_privileged_(PRIVILEGE_BPF);
	const struct wire_requests *c = &l->skel->bss->aio_counts;
	int64_t alive = (int64_t)(c->submitted - c->ended - c->silent - c->full - m->forgotten);
	int fd = bpf_map__fd(l->skel->maps.aio_requests), r = 0;
	uint64_t key[2], next[2];
	bool more = alive >= AIO_MANY && !bpf_map_get_next_key(fd, NULL, key);
	struct map processes = {0};
	struct wire_live p;

	while (more && r >= 0) {
		more = !bpf_map_get_next_key(fd, key, next);
		if (!bpf_map_lookup_elem(fd, key, &p) && process_has_ended(&processes, p.tgid) &&
		    !bpf_map_delete_elem(fd, key)) {
			m->forgotten++;
			r = request_live(d, &p, KIND_LIBAIO, out);
			*ret_ops += r > 0;
		}
		memcpy(key, next, sizeof(key));
	}
	map_free(&processes);
	return MIN(r, 0);
}

static int64_t requests_live(const struct loaded *l, struct decode *d, struct batch_set *out,
			     uint64_t *ret_ops)
{
	int64_t uring = requests_live_of(object_map(&l->objects, OBJECT_URING, "requests"),
					 KIND_IO_URING, d, out, ret_ops);
	int64_t aio = uring < 0 ? uring
				: requests_live_of(bpf_map__fd(l->skel->maps.aio_requests),
						   KIND_LIBAIO, d, out, ret_ops);

	return aio < 0 ? aio : uring + aio;
}

static void requests_sum(struct wire_requests *sum, const struct wire_requests *c)
{
	sum->submitted += c->submitted;
	sum->ended += c->ended;
	sum->shots += c->shots;
	sum->unstarted += c->unstarted;
	sum->notices += c->notices;
	sum->full += c->full;
	sum->replaced += c->replaced;
	sum->silent += c->silent;
	sum->unsearched += c->unsearched;
}

static struct wire_requests requests_counted(const struct loaded *l)
{
	_privileged_(PRIVILEGE_BPF);
	const struct bpf_object *bpf = l->objects.all[OBJECT_URING].bpf;
	const struct bpf_map *map = bpf ? object_section(bpf, ".bss") : NULL;
	_cleanup_free_ struct uring_bpf__bss *bss = map ? malloc(sizeof(*bss)) : NULL;
	struct wire_requests sum = l->skel->bss->aio_counts;
	uint32_t zero = 0;

	if (!bss || bpf_map_lookup_elem(bpf_map__fd(map), &zero, bss))
		return sum;
	for (size_t i = 0; i < l->cpus; i++)
		requests_sum(&sum, &bss->request_counts[i]);
	return sum;
}

int requests_mark(const struct loaded *l, int64_t now, struct batch_set *out)
{
	const char *kinds = requests_seen(l, KIND_IO_URING) ? "io_uring libaio" : "libaio";

	return batch_set_add_mark(out, now, "weir.requests", kinds, strlen(kinds));
}

int requests_end(const struct loaded *l, struct decode *d, struct batch_set *out,
		 struct requests_missing *m, uint64_t *ret_ops)
{
	int64_t live = requests_live(l, d, out, ret_ops);
	struct wire_requests c;
	uint64_t known;

	if (live < 0)
		return (int)live;
	c = requests_counted(l);
	known = c.ended + c.silent + c.full + m->forgotten + (uint64_t)live;
	m->missing = c.submitted > known ? c.submitted - known : 0;
	m->full = c.full;
	return 0;
}
