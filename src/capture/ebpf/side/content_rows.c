/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/side/content_cuts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/ebpf/calls/request.h"
#include "capture/ebpf/calls/running.h"
#include "schema/content_hash.h"
#include "schema/ops.h"
#include "content.skel.h"

#define BLOCK_WORDS 8 /* as in src/bpf/lib/content/content.h */
#define BLOCK_BYTES (8u * BLOCK_WORDS)

/* The call of a thread's last records. */
struct content_thread {
	uint32_t call;
	bool open;     /* a hash from the call's beginning is being joined */
	bool missing;  /* parts did not arrive, or could not be read */
	uint64_t done; /* bytes whose outcome is in rows */
	uint64_t hash, at, bytes;
	uint64_t payload; /* of the call, from its beginning */
	int64_t peer;	  /* key of the address of its last messages; 0: none */
};

struct contents {
	struct wire_content_how how;
	uint64_t zeros[CONTENT_WORDS + 1]; /* what the first words add to a hash if they are 0 */
	struct cuts *cuts;		   /* if payload is cut; NULL: it is stored */
	struct content_thread *threads;	   /* by version */
	struct content_request {
		uint64_t start;
		uint32_t thread;
		struct content_thread is;
	} request; /* of the last records: those of a request are consecutive */
	size_t count, cap;
};

static const struct {
	const char *name;
	struct wire_content_plan plan;
} content_calls[] = {
	{"read", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"write", {WIRE_CONTENT_OF_BUFFER, 1, .out = 1}},
	{"pread64", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"pwrite64", {WIRE_CONTENT_OF_BUFFER, 1, .out = 1}},
	{"readv", {WIRE_CONTENT_OF_VECTOR, 1, 2}},
	{"writev", {WIRE_CONTENT_OF_VECTOR, 1, 2, .out = 1}},
	{"preadv", {WIRE_CONTENT_OF_VECTOR, 1, 2}},
	{"pwritev", {WIRE_CONTENT_OF_VECTOR, 1, 2, .out = 1}},
	{"preadv2", {WIRE_CONTENT_OF_VECTOR, 1, 2}},
	{"pwritev2", {WIRE_CONTENT_OF_VECTOR, 1, 2, .out = 1}},
	{"sendto", {WIRE_CONTENT_OF_BUFFER, 1, .out = 1}},
	{"recvfrom", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"sendmsg", {WIRE_CONTENT_OF_MESSAGE, 1, .out = 1}},
	{"recvmsg", {WIRE_CONTENT_OF_MESSAGE, 1}},
	{"sendmmsg", {WIRE_CONTENT_OF_MESSAGES, 1, .out = 1}},
	{"recvmmsg", {WIRE_CONTENT_OF_MESSAGES, 1}},
	{"getdents", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"getdents64", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"msgrcv", {WIRE_CONTENT_OF_SYSV, 1}},
	{"mq_timedreceive", {WIRE_CONTENT_OF_BUFFER, 1}},
	{"vmsplice", {WIRE_CONTENT_OF_VECTOR, 1, 2, .out = 1}},
	{"sendfile", {WIRE_CONTENT_OF_FILES, 1}}, /* from its second file */
	{"splice", {WIRE_CONTENT_OF_FILES, 0}},
	{"copy_file_range", {WIRE_CONTENT_OF_FILES, 0}},
	{"process_vm_readv", {WIRE_CONTENT_OF_VECTOR, 1, 2}},
	{"process_vm_writev", {WIRE_CONTENT_OF_VECTOR, 1, 2, .out = 1}},
};

static struct wire_content_plan content_plan(uint32_t code)
{
	const struct op_def *def = op_def(code);

	for (size_t i = 0; def && def->name && i < ARRAY_SIZE(content_calls); i++) {
		if (!strcmp(def->name, content_calls[i].name))
			return content_calls[i].plan;
	}
	return (struct wire_content_plan){0};
}

/* A private section of the object, with the declarations at its beginning; NULL: there is none. */
static void *content_section(const struct bpf_object *bpf, const char *name, size_t least)
{
	struct bpf_map *map = object_section(bpf, name);
	size_t size = 0;
	void *at = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

	assert(!at || size >= least);
	return at;
}

int content_prepare_how(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct content_bpf__rodata_content *how =
		content_section(bpf, ".rodata.content", sizeof(*how));
	struct bpf_map *rooms = bpf_object__find_map_by_name(bpf, "content_rooms");
	int cpus = libbpf_num_possible_cpus();

	if (!how)
		return 0;
	if (!rooms || cpus < 1)
		return -ENOENT;
	memcpy(&how->content_how, &opt->content, sizeof(opt->content));
	for (uint32_t i = 0; i < CONTENT_WORDS; i++)
		how->content_keys[i] = content_key(i);
	return bpf_map__set_max_entries(rooms, (uint32_t)cpus * CONTENT_ROOMS);
}

int content_prepare(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct content_bpf__rodata *ro = content_section(bpf, ".rodata", sizeof(*ro));
	struct wire_request_op aio[WIRE_AIO_OPS];

	if (!ro)
		return -ENOENT;
	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++) {
		uint32_t code = op_code_of_native(nr);

		if (select_op(opt->select, code))
			((struct wire_content_plan *)ro->content_plans)[nr] = content_plan(code);
	}
	requests_of_aio(opt->select, aio);
	for (size_t i = 0; i < ARRAY_SIZE(aio); i++)
		((uint8_t *)ro->content_aio_out)[i] = aio[i].what & WIRE_REQUEST_OUT ? 1 : 0;
	return content_prepare_how(bpf, opt);
}

/* Tests an address of the tables. */
static bool content_try_pages(int map, int program, struct wire_content_tables *t, uint64_t word)
{
	_cleanup_buf_ struct buf nothing = {0};
	uint32_t zero = 0;

	t->read = 0;
	if (bpf_map_update_elem(map, &zero, t, BPF_ANY) || running_read(program, &nothing) < 0 ||
	    bpf_map_lookup_elem(map, &zero, t))
		return false;
	return t->read && t->word == word;
}

void content_find_pages(const struct objects *o)
{
	/* x86-64 with four levels of page tables, and with five */
	static const uint64_t fixed[][2] = {{0xffffea0000000000, 0xffff888000000000},
					    {0xffd4000000000000, 0xff11000000000000}};
	int map = object_map(o, OBJECT_CONTENT, ".data.content"),
	    of_faults = object_map(o, OBJECT_FAULTS, ".data.content"),
	    program = object_program(o, OBJECT_CONTENT, "weir_content_probe"),
	    variables = object_program(o, OBJECT_CONTENT, "weir_content_variables");
	_cleanup_close_ int fd = memfd_create("weir-content", MFD_CLOEXEC);
	uint64_t word = content_mix((uint64_t)getpid() * CONTENT_STEP);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct wire_content_tables t;
	bool found = false;
	uint32_t zero = 0;

	if (map < 0 || program < 0 || fd < 0 || write(fd, &word, sizeof(word)) != sizeof(word))
		return;
	if (variables < 0 || bpf_prog_test_run_opts(variables, &run) ||
	    bpf_map_lookup_elem(map, &zero, &t))
		t = (struct wire_content_tables){0};
	t.probe_fd = (uint32_t)fd;
	for (size_t i = 0; i <= ARRAY_SIZE(fixed) && !found; i++) {
		t.pages = i ? fixed[i - 1][0] : t.probed[0];
		t.memory = i ? fixed[i - 1][1] : t.probed[1];
		found = t.pages && content_try_pages(map, program, &t, word);
	}
	if (!found)
		t.pages = t.memory = 0;
	(void)!bpf_map_update_elem(map, &zero, &t, BPF_ANY);
	if (of_faults >= 0)
		(void)!bpf_map_update_elem(of_faults, &zero, &t, BPF_ANY);
}

int contents_new(struct contents **ret, const struct wire_content_how *how)
{
	struct contents *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->how = *how;
	for (uint32_t i = 0; i < CONTENT_WORDS; i++)
		c->zeros[i + 1] = c->zeros[i] + content_mix(content_key(i));
	if (how->mode == WIRE_CONTENT_CHUNKS && cuts_new(&c->cuts) < 0) {
		free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void contents_free(struct contents *c)
{
	if (!c)
		return;
	cuts_free(c->cuts);
	free(c->threads);
	free(c);
}

int contents_end(struct decode *d, struct batch_set *out)
{
	return d->contents && d->contents->cuts ? cuts_end(d->contents->cuts, d, out) : 0;
}

/* The state of the call; empty for a new one. */
static int content_thread(struct contents *c, uint32_t thread, uint32_t call,
			  struct content_thread **ret)
{
	struct content_thread *t;
	int r = grow((void **)&c->threads, &c->cap, (size_t)thread + 1, sizeof(*c->threads));

	if (r < 0)
		return r;
	while (c->count <= thread)
		c->threads[c->count++] = (struct content_thread){0};
	t = &c->threads[thread];
	if (t->call != call)
		*t = (struct content_thread){.call = call};
	*ret = t;
	return 0;
}

/* Subtracts what the kernel's hash contains for zero words in the blocks at the bounds. */
static uint64_t content_even(const struct contents *c, uint64_t hash, uint64_t from, uint64_t to)
{
	uint64_t first = from / BLOCK_BYTES * BLOCK_WORDS,
		 last = align_up(to, BLOCK_BYTES) / BLOCK_BYTES * BLOCK_WORDS;

	return hash - (c->zeros[last] - c->zeros[first]);
}

/* The operation of a record. */
static uint32_t content_op(const struct decode *d, const struct wire_content *w)
{
	if (w->flags & WIRE_CONTENT_REQUEST && w->nr >> 8 == KIND_FAULT)
		return OP_CODE_FAULT;
	return w->flags & WIRE_CONTENT_REQUEST ? request_op(w->nr >> 8, w->nr & 0xff, 0)
					       : d->codes[w->nr];
}

int content_row(struct decode *d, const struct wire_content *w, const struct chunk_row *c,
		struct batch_set *out)
{
	struct batch_row row = batch_set_row(out, TABLE_CHUNK);

	if (w->start) {
		row_set(&row, CHUNK_START, (int64_t)w->start + d->opt.clock_offset);
		row_set(&row, CHUNK_DUR, (int64_t)(w->head.time - w->start));
	}
	row_set(&row, CHUNK_THREAD_ID, w->thread);
	row_set(&row, CHUNK_OP, content_op(d, w));
	if (w->file)
		row_set(&row, CHUNK_FILE_ID, decode_file_key(d, w->file));
	row_set(&row, CHUNK_WAY, w->flags & WIRE_CONTENT_OUT ? WAY_OUT : WAY_IN);
	row_set_if(&row, c->pos != WIRE_NONE, CHUNK_POS, c->pos);
	row_set(&row, CHUNK_CALL_POS, c->call_pos);
	row_set(&row, CHUNK_SIZE, c->size);
	row_set(&row, CHUNK_FORM, c->form);
	if (c->hash)
		row_set(&row, CHUNK_HASH, (int64_t)*c->hash);
	row_set_if(&row, c->outcome != NO_OUTCOME, CHUNK_OUTCOME, c->outcome);
	row_set_if(&row, w->flags & WIRE_CONTENT_CONTESTED && c->pos != WIRE_NONE, CHUNK_CONTESTED,
		   1);
	row_set_text(&row, CHUNK_HEAD, c->head);
	row_set_text(&row, CHUNK_TAIL, c->tail);
	if (c->content.data)
		row_set_bytes(&row, CHUNK_CONTENT, c->content.data, c->content.len);
	row_set_if(&row, c->peer != 0, CHUNK_PEER_ID, c->peer);
	return row.r;
}

/* The outcome of the call's bytes up to a position. The payload precedes the hashes. */
static enum chunk_outcome outcome_of(const struct contents *c, const struct content_thread *t,
				     const struct wire_content *w, uint64_t end)
{
	if (w->outcome != WIRE_CONTENT_HANDLED)
		return w->outcome == WIRE_CONTENT_DISCARDED ? OUTCOME_DISCARDED : OUTCOME_ABSENT;
	if (c->how.mode >= WIRE_CONTENT_BYTES && t->payload < MIN(end, (uint64_t)c->how.limit))
		return OUTCOME_LOST;
	return c->how.mode == WIRE_CONTENT_BYTES && end > c->how.limit ? OUTCOME_TRUNCATED
								       : OUTCOME_HANDLED;
}

/* Bytes by their position: a row for each piece, or one for all if they were not hashed. */
static int content_pieces(struct decode *d, const struct wire_content *w,
			  const struct content_thread *t, struct batch_set *out)
{
	const struct contents *c = d->contents;
	const uint64_t *hashes = (const void *)(w + 1);
	uint64_t at = 0, pos = (uint64_t)w->pos;
	bool counts = w->flags & WIRE_CONTENT_COUNTS;
	int r = 0;

	if (!counts && w->outcome != WIRE_CONTENT_HANDLED)
		return 0;
	for (uint32_t i = 0; at < w->bytes && r >= 0; i++) {
		uint64_t from = (pos + at) % CONTENT_PIECE,
			 size = MIN(CONTENT_PIECE - from, w->bytes - at), hash;
		struct chunk_row row = {
			.pos = (int64_t)(pos + at),
			.call_pos = (int64_t)(w->at + at),
			.size = (int64_t)size,
			.form = size == CONTENT_PIECE ? FORM_PIECE : FORM_PART,
			.outcome = counts ? (int64_t)outcome_of(c, t, w, w->at + at + size)
					  : NO_OUTCOME};

		if (w->outcome != WIRE_CONTENT_HANDLED) {
			row.size = (int64_t)w->bytes;
			row.form = row.size == CONTENT_PIECE ? FORM_PIECE : FORM_PART;
			return content_row(d, w, &row, out);
		}
		if (i >= w->pieces)
			return -EBADMSG;
		hash = content_even(c, hashes[i], from, from + size);
		row.hash = &hash;
		if (!at)
			row.head = (struct bytes){w->cut_head, w->head_len};
		if (at + size == w->bytes)
			row.tail = (struct bytes){w->cut_tail, w->tail_len};
		r = content_row(d, w, &row, out);
		at += size;
	}
	return r;
}

/* A hash of all of a call's bytes; this may be its last record. */
static int content_buffer(struct decode *d, const struct wire_content *w, struct content_thread *t,
			  struct batch_set *out)
{
	const struct contents *c = d->contents;
	const uint64_t *hashes = (const void *)(w + 1);
	struct chunk_row row = {.pos = w->pos, .form = FORM_BUFFER, .outcome = NO_OUTCOME};
	bool counts = w->flags & WIRE_CONTENT_COUNTS;

	if (!t->open)
		*t = (struct content_thread){.call = t->call,
					     .done = t->done,
					     .payload = t->payload,
					     .peer = t->peer,
					     .at = w->at,
					     .open = true};
	t->missing |= w->outcome != WIRE_CONTENT_HANDLED || w->at != t->at + t->bytes;
	for (uint32_t i = 0; i < w->pieces; i++) {
		uint64_t n = t->bytes / CONTENT_PIECE + i,
			 size = MIN((uint64_t)CONTENT_PIECE, w->bytes - i * CONTENT_PIECE);

		t->hash = content_hash_join(t->hash, content_even(c, hashes[i], 0, size), n);
	}
	t->bytes += w->bytes;
	if (w->flags & WIRE_CONTENT_MORE)
		return 0;
	t->open = false;
	row.call_pos = (int64_t)t->at;
	row.size = (int64_t)t->bytes;
	row.pos = w->pos == WIRE_NONE ? WIRE_NONE : w->pos - (int64_t)(w->at - t->at);
	if (!t->missing)
		row.hash = &t->hash;
	if (w->flags & WIRE_CONTENT_ADDRESSED)
		row.peer = t->peer;
	if (counts)
		row.outcome = !t->missing || t->bytes == w->bytes
				      ? outcome_of(c, t, w, t->at + t->bytes)
				      : OUTCOME_INCOMPLETE;
	return t->missing && !counts ? 0 : content_row(d, w, &row, out);
}

/* The hash from the call's beginning in a record of pieces. */
static int content_joined(struct decode *d, const struct wire_content *w, struct batch_set *out)
{
	uint64_t hash =
		content_even(d->contents, w->joined, 0, MIN(w->bytes, (uint64_t)CONTENT_PIECE));
	const struct chunk_row row = {.pos = w->pos,
				      .size = (int64_t)w->bytes,
				      .form = FORM_BUFFER,
				      .outcome = NO_OUTCOME,
				      .hash = &hash};

	return content_row(d, w, &row, out);
}

static int content_payload(struct decode *d, const struct wire_content *w, struct content_thread *t,
			   struct batch_set *out)
{
	const struct chunk_row row = {.pos = w->pos,
				      .call_pos = (int64_t)w->at,
				      .size = (int64_t)w->bytes,
				      .form = FORM_PAYLOAD,
				      .outcome = NO_OUTCOME,
				      .content = {(const void *)(w + 1), w->bytes}};

	if (t->payload == w->at)
		t->payload = w->at + w->bytes;
	return d->contents->cuts ? cuts_add(d->contents->cuts, d, w, out)
				 : content_row(d, w, &row, out);
}

/* The state of a record's call or request. */
static int content_thread_of(struct contents *c, const struct wire_content *w,
			     struct content_thread **ret)
{
	struct content_request *q = &c->request;

	if (!(w->flags & WIRE_CONTENT_REQUEST))
		return content_thread(c, w->thread, w->call, ret);
	if (q->start != w->start || q->thread != w->thread)
		*q = (struct content_request){.start = w->start, .thread = w->thread};
	*ret = &q->is;
	return 0;
}

static bool content_kind_is_known(const struct wire_content *w)
{
	return w->flags & WIRE_CONTENT_REQUEST
		       ? w->nr >> 8 == KIND_IO_URING || w->nr >> 8 == KIND_LIBAIO ||
				 w->nr >> 8 == KIND_FAULT
		       : w->nr < WIRE_CALLS_MAX;
}

int decode_content(struct decode *d, const struct wire_content *w, struct batch_set *out)
{
	struct content_thread *t;
	int r;

	if (!d->contents || w->head.size < sizeof(*w) || !content_kind_is_known(w) ||
	    w->head_len > 7 || w->tail_len > 7 || !w->bytes ||
	    (w->form >= WIRE_CONTENT_PAYLOAD ? w->head.size - sizeof(*w) < w->bytes
					     : w->head.size - sizeof(*w) < w->pieces * 8u) ||
	    (w->form == WIRE_CONTENT_PIECE && w->pos == WIRE_NONE) ||
	    (w->form == WIRE_CONTENT_BUFFER &&
	     w->pieces != (w->outcome == WIRE_CONTENT_HANDLED
				   ? (w->bytes + CONTENT_PIECE - 1) / CONTENT_PIECE
				   : 0)))
		return -EBADMSG;
	r = content_thread_of(d->contents, w, &t);
	if (r < 0)
		return r;
	if (w->flags & WIRE_CONTENT_COUNTS)
		t->done += w->bytes;
	if (w->outcome != WIRE_CONTENT_HANDLED && t->payload == w->at)
		t->payload = w->at + w->bytes; /* none will come */
	if (!names_selected(d->names, w->file) && !(w->other && names_selected(d->names, w->other)))
		return 0;
	if (w->form == WIRE_CONTENT_ADDRESS)
		return decode_peer(d, (const void *)(w + 1), w->bytes, w->head.time, out, &t->peer);
	if (w->form == WIRE_CONTENT_PAYLOAD)
		return content_payload(d, w, t, out);
	if (w->form == WIRE_CONTENT_BUFFER)
		return content_buffer(d, w, t, out);
	r = content_pieces(d, w, t, out);
	if (r >= 0 && w->flags & WIRE_CONTENT_JOINED)
		r = content_joined(d, w, out);
	return r;
}

static int chunk_unseen(struct decode *d, const struct content_unseen *u, int64_t file,
			int64_t call_pos, enum chunk_outcome outcome, struct batch_set *out)
{
	struct batch_row row = batch_set_row(out, TABLE_CHUNK);

	if (u->start) {
		row_set(&row, CHUNK_START, (int64_t)u->start + d->opt.clock_offset);
		row_set(&row, CHUNK_DUR, (int64_t)(u->end - u->start));
	}
	row_set(&row, CHUNK_THREAD_ID, u->thread);
	row_set(&row, CHUNK_OP, u->op);
	row_set_if(&row, file >= 0, CHUNK_FILE_ID, file);
	row_set(&row, CHUNK_WAY, content_plan(u->op).out ? WAY_OUT : WAY_IN);
	row_set_if(&row, u->pos != WIRE_NONE, CHUNK_POS, u->pos + call_pos);
	row_set(&row, CHUNK_CALL_POS, call_pos);
	row_set(&row, CHUNK_SIZE, (int64_t)u->bytes);
	row_set(&row, CHUNK_FORM, u->pos == WIRE_NONE ? FORM_BUFFER : FORM_PART);
	row_set(&row, CHUNK_OUTCOME, outcome);
	return row.r;
}

int decode_content_unseen(struct decode *d, const struct content_unseen *u, struct batch_set *out)
{
	if (!d->contents || !u->bytes)
		return 0;
	return chunk_unseen(d, u, u->file ? decode_file_key(d, u->file) : -1, (int64_t)u->done,
			    u->lost ? OUTCOME_LOST : OUTCOME_ABSENT, out);
}

int decode_content_rest(struct decode *d, const struct wire_op *w, int64_t file, uint64_t moved,
			struct batch_set *out)
{
	struct content_unseen u = {.start = w->start,
				   .end = w->head.time,
				   .pos = w->pos,
				   .thread = w->thread,
				   .op = d->codes[w->nr]};
	struct content_thread *t;
	int r;

	if (!d->contents || !moved)
		return 0;
	r = content_thread(d->contents, w->thread, w->call, &t);
	if (r < 0 || t->done >= moved)
		return r;
	u.bytes = moved - t->done;
	return chunk_unseen(d, &u, file, (int64_t)t->done,
			    w->start && content_plan(u.op).how ? OUTCOME_LOST : OUTCOME_ABSENT,
			    out);
}
