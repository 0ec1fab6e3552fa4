/* SPDX-License-Identifier: Apache-2.0 */
/* block_rows.c: turns records of block requests into rows. */
#include "capture/ebpf/side/block.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/array.h"
#include "capture/ebpf/calls/decode.h"
#include "privilege/privilege.h"

#define REQ_OP_MASK  0xff
#define REQ_SYNC     (1u << 11)
#define REQ_META     (1u << 12)
#define REQ_FUA	     (1u << 17)
#define REQ_PREFLUSH (1u << 18)
#define REQ_RAHEAD   (1u << 19)

static_assert(VIA_UNKNOWN == (int)WIRE_VIA_UNKNOWN && VIA_CURRENT == (int)WIRE_VIA_CURRENT &&
		      VIA_DIRTIED == (int)WIRE_VIA_DIRTIED && VIA_WAITER == (int)WIRE_VIA_WAITER &&
		      VIA_UPPER == (int)WIRE_VIA_UPPER && VIA_RANGE == (int)WIRE_VIA_RANGE &&
		      VIA_FIRST_WRITER == (int)WIRE_VIA_FIRST_WRITER &&
		      VIA_KERNEL == (int)WIRE_VIA_KERNEL && VIA_FLUSH == (int)WIRE_VIA_FLUSH,
	      "the kernel programs know the codes");
static_assert(ORIGIN_UNKNOWN == (int)WIRE_ORIGIN_UNKNOWN && ORIGIN_FILE == (int)WIRE_ORIGIN_FILE &&
		      ORIGIN_DEVICE == (int)WIRE_ORIGIN_DEVICE &&
		      ORIGIN_METADATA == (int)WIRE_ORIGIN_METADATA &&
		      ORIGIN_JOURNAL == (int)WIRE_ORIGIN_JOURNAL &&
		      ORIGIN_SWAP == (int)WIRE_ORIGIN_SWAP &&
		      ORIGIN_DISCARD == (int)WIRE_ORIGIN_DISCARD &&
		      ORIGIN_FLUSH == (int)WIRE_ORIGIN_FLUSH &&
		      ORIGIN_PREFLUSH == (int)WIRE_ORIGIN_PREFLUSH,
	      "the kernel programs know the codes");

/* Parts of a request sent in separate records; `of`: the request that this one joined. */
struct block_list {
	uint64_t of;
	size_t count, cap;
	struct wire_block_part parts[];
};

static int list_add(struct block *b, uint64_t id, const struct wire_block_part *parts, size_t count)
{
	struct block_list *l = kept_get(&b->more, id), *larger;
	size_t have = l ? l->count : 0, cap = l ? l->cap : 0;
	int r;

	if (!l || have + count > cap) {
		cap = MAX(2 * cap, have + count);
		larger = realloc(l, sizeof(*l) + cap * sizeof(*parts));
		if (!larger)
			return -ENOMEM;
		if (!l)
			*larger = (struct block_list){0};
		l = larger;
		l->cap = cap;
		r = map_set(&b->more, id, (uintptr_t)l);
		if (r < 0) {
			free(l);
			return r;
		}
	}
	memcpy(l->parts + l->count, parts, count * sizeof(*parts));
	l->count += count;
	return 0;
}

int block_decode_more(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_block_more *w = (const void *)h;
	struct block_list *l;
	int r;

	if (!d->block || h->size < sizeof(*w))
		return -EBADMSG;
	if (!w->of)
		return list_add(d->block, w->id, &w->part, 1);
	l = kept_get(&d->block->more, w->id);
	if (!l)
		return 0;
	r = list_add(d->block, w->of, l->parts, l->count);
	kept_forget(&d->block->more, w->id);
	return r;
}

/* The parts of a request, in the form of rows. */
struct parts {
	struct block_part *list;
	size_t count, cap;
	uint64_t bytes;
};

static int parts_add(struct parts *p, const struct block_part *n)
{
	p->bytes += n->bytes;
	for (size_t i = 0; i < p->count; i++) {
		struct block_part *o = &p->list[i];

		if (o->file == n->file && o->thread == n->thread && o->via == n->via &&
		    o->origin == n->origin) {
			o->pos = MIN(o->pos, n->pos);
			o->bytes += n->bytes;
			return 0;
		}
	}
	return array_add(p->list, p->count, p->cap, *n);
}

static int block_parts_take(struct decode *d, const struct wire_block_part *w, size_t count,
			    uint64_t time, struct parts *p, struct batch_set *out)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		struct block_part n = {.thread = -1,
				       .pos = w[i].pos,
				       .bytes = w[i].bytes,
				       .via = w[i].via,
				       .origin = w[i].origin};
		const uint64_t *thread =
			w[i].owner ? records_get(&d->block->owners, w[i].owner, NULL) : NULL;

		if (thread)
			n.thread = (int64_t)(uint32_t)*thread;
		else
			n.via = VIA_UNKNOWN;
		if (thread && (*thread & OWNER_IS_KERNEL) && n.via != VIA_FLUSH)
			n.via = VIA_KERNEL;
		r = block_file_key(d, w[i].inode, time, out, &n.file);
		r = r ? r : parts_add(p, &n);
	}
	return r;
}

/* Bytes without a part have no owner. */
static int parts_fill(struct parts *p, uint64_t bytes)
{
	const struct block_part rest = {
		.file = -1, .thread = -1, .bytes = bytes > p->bytes ? bytes - p->bytes : 0};

	return rest.bytes || !p->count ? parts_add(p, &rest) : 0;
}

/* Leaves out bytes that did not complete: the request ended early, or is in flight. */
static void parts_cut(struct parts *p, uint64_t bytes)
{
	for (size_t i = p->count; i-- > 0 && p->bytes > bytes;) {
		uint64_t less = MIN(p->bytes - bytes, p->list[i].bytes);

		p->list[i].bytes -= less;
		p->bytes -= less;
	}
}

static size_t parts_largest(const struct parts *p)
{
	size_t most = 0;

	for (size_t i = 1; i < p->count; i++) {
		if (p->list[i].bytes > p->list[most].bytes)
			most = i;
	}
	return most;
}

/* The number of distinct files or owners. */
static int64_t parts_different(const struct parts *p, bool files)
{
	int64_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		int64_t key = files ? p->list[i].file : p->list[i].thread;
		bool again = key < 0;

		for (size_t j = 0; j < i && !again; j++)
			again = key == (files ? p->list[j].file : p->list[j].thread);
		count += !again;
	}
	return count;
}

static int64_t block_kind_of(uint32_t opf)
{
	switch (opf & REQ_OP_MASK) {
	case 2:
		return KIND_FLUSH;
	case 3:
		return KIND_DISCARD;
	default:
		return opf & 1 ? KIND_WRITE : KIND_READ;
	}
}

/* The errno of a blk_status_t, as in the kernel's blk_errors[]; those from 14 on moved between versions. */
static int64_t errno_of(uint8_t status)
{
	static const int16_t errnos[] = {0,	    EOPNOTSUPP, ETIMEDOUT, ENOSPC, ENOLINK,
					 EREMOTEIO, EBADE,	ENODATA,   EILSEQ, ENOMEM,
					 EIO,	    EREMCHG,	EAGAIN,	   EBUSY};

	return status < ARRAY_SIZE(errnos) ? errnos[status] : EIO;
}

/* A request with its end (0: in flight). */
struct request {
	const struct wire_block *w;
	uint64_t end;
	struct bytes disk;
	struct parts parts;
	size_t most; /* the largest part, as submitted */
};

static int64_t wall(const struct decode *d, uint64_t time)
{
	return (int64_t)time + d->opt.clock_offset;
}

static int64_t from_to(uint64_t from, uint64_t to)
{
	return to > from ? (int64_t)(to - from) : 0;
}

static void row_times(const struct decode *d, const struct request *q, struct batch_row *row)
{
	const struct wire_block *w = q->w;
	uint64_t given = w->inserted ? w->inserted : w->got;

	if (w->queued)
		row_set(row, REQUEST_START, wall(d, w->queued));
	if (w->queued && q->end)
		row_set(row, REQUEST_DUR, from_to(w->queued, q->end));
	if (w->got)
		row_set(row, REQUEST_Q2G, from_to(w->queued, w->got));
	if (w->got && w->inserted)
		row_set(row, REQUEST_G2I, from_to(w->got, w->inserted));
	/* never issued: a write without data, completed once a separate request has flushed the cache */
	if (given && (w->issued || q->end))
		row_set(row, REQUEST_I2D, from_to(given, w->issued ? w->issued : q->end));
	if (w->issued)
		row_set(row, REQUEST_ISSUED, wall(d, w->issued));
	if (w->issued && q->end)
		row_set(row, REQUEST_D2C, from_to(w->issued, q->end));
}

static void row_facts(const struct decode *d, const struct request *q, struct batch_row *row)
{
	const struct wire_block *w = q->w;

	row_set(row, REQUEST_REQUEST, (int64_t)w->id);
	row_set(row, REQUEST_DEV, w->dev);
	row_set_bytes(row, REQUEST_DISK, q->disk.data, q->disk.len);
	row_set(row, REQUEST_KIND, block_kind_of(w->opf));
	row_set_if(row, (w->opf & REQ_OP_MASK) != 2, REQUEST_SECTOR, (int64_t)w->sector);
	row_set(row, REQUEST_BYTES, w->bytes);
	row_set(row, REQUEST_MERGES, w->bios ? w->bios - 1 : 0);
	row_set(row, REQUEST_REQUEUES, w->requeues);
	if (w->error)
		row_set(row, REQUEST_ERR, errno_of(w->error));
	row_set_if(row, w->op_thread, REQUEST_OP_THREAD_ID, w->op_thread);
	if (w->op_thread && w->op_start)
		row_set(row, REQUEST_OP_START, wall(d, w->op_start));
	row_set_if(row, w->upper, REQUEST_UPPER, (int64_t)w->upper);
	row_set_if(row, w->opf & REQ_SYNC, REQUEST_SYNC, 1);
	row_set_if(row, w->opf & REQ_META, REQUEST_META, 1);
	row_set_if(row, w->opf & REQ_FUA, REQUEST_FUA, 1);
	row_set_if(row, w->opf & REQ_PREFLUSH, REQUEST_PREFLUSH, 1);
	row_set_if(row, w->opf & REQ_RAHEAD, REQUEST_READAHEAD, 1);
	row_set_if(row, w->flags & WIRE_BLOCK_UNCOUNTED, REQUEST_UNCOUNTED, 1);
}

static int row_request(const struct decode *d, const struct request *q, struct batch_set *out)
{
	const struct block_part *most = &q->parts.list[q->most];
	struct batch_row row = batch_set_row(out, TABLE_REQUEST);

	row_times(d, q, &row);
	row_facts(d, q, &row);
	row_set_if(&row, most->thread >= 0, REQUEST_THREAD_ID, most->thread);
	row_set(&row, REQUEST_VIA, most->via);
	row_set(&row, REQUEST_ORIGIN, most->origin);
	if (most->file >= 0) {
		row_set(&row, REQUEST_FILE_ID, most->file);
		row_set(&row, REQUEST_POS, (int64_t)most->pos);
	}
	row_set(&row, REQUEST_FILES, parts_different(&q->parts, true));
	row_set(&row, REQUEST_OWNERS, parts_different(&q->parts, false));
	return row.r;
}

static int row_part(const struct decode *d, const struct request *q, size_t i,
		    struct batch_set *out)
{
	const struct block_part *p = &q->parts.list[i];
	bool counts = i == q->most;
	struct batch_row row = batch_set_row(out, TABLE_REQUEST_PART);

	if (q->w->queued)
		row_set(&row, REQUEST_PART_START, wall(d, q->w->queued));
	if (q->w->queued && q->end)
		row_set(&row, REQUEST_PART_DUR, from_to(q->w->queued, q->end));
	row_set(&row, REQUEST_PART_REQUEST, (int64_t)q->w->id);
	row_set(&row, REQUEST_PART_DEV, q->w->dev);
	row_set_bytes(&row, REQUEST_PART_DISK, q->disk.data, q->disk.len);
	row_set(&row, REQUEST_PART_KIND, block_kind_of(q->w->opf));
	row_set_if(&row, p->file >= 0, REQUEST_PART_FILE_ID, p->file);
	row_set_if(&row,
		   p->origin != ORIGIN_UNKNOWN && p->origin != ORIGIN_FLUSH &&
			   p->origin != ORIGIN_PREFLUSH,
		   REQUEST_PART_POS, (int64_t)p->pos);
	row_set(&row, REQUEST_PART_BYTES, (int64_t)p->bytes);
	row_set_if(&row, p->thread >= 0, REQUEST_PART_THREAD_ID, p->thread);
	row_set(&row, REQUEST_PART_VIA, p->via);
	row_set(&row, REQUEST_PART_ORIGIN, p->origin);
	row_set(&row, REQUEST_PART_REQUESTS, counts);
	row_set(&row, REQUEST_PART_MERGES, counts && q->w->bios ? q->w->bios - 1 : 0);
	return row.r;
}

static int request_give(struct decode *d, const struct wire_block *w,
			const struct wire_block_part *parts, uint64_t end, struct batch_set *out)
{
	struct request q = {.w = w, .end = end};
	struct block_list *l = kept_get(&d->block->more, w->id);
	uint64_t time = end ? end : w->queued;
	int r = block_disk(d->block, w->dev, &q.disk);

	r = r ? r : block_parts_take(d, parts, w->parts, time, &q.parts, out);
	if (l && !r)
		r = block_parts_take(d, l->parts, l->count, time, &q.parts, out);
	kept_forget(&d->block->more, w->id);
	r = r ? r : parts_fill(&q.parts, w->bytes);
	q.most = parts_largest(&q.parts);
	parts_cut(&q.parts, w->bytes);
	r = r ? r : row_request(d, &q, out);
	for (size_t i = 0; i < q.parts.count && !r; i++)
		r = row_part(d, &q, i, out);
	free(q.parts.list);
	return r;
}

int block_decode(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_block *w = (const void *)h;
	int r = 0;

	if (!d->block || h->size < sizeof(*w) ||
	    (h->size - sizeof(*w)) / sizeof(struct wire_block_part) < w->parts)
		return -EBADMSG;
	if (d->opt.phases && w->op_thread && w->op_start)
		r = io_split_request(&d->io_split, w->op_thread, w->op_start,
				     &(struct io_request){w->queued, w->issued, h->time});
	return r ? r : request_give(d, w, (const void *)(w + 1), h->time, out);
}

int block_rest(struct decode *d, int bios_fd, struct batch_set *out)
{
	_privileged_(PRIVILEGE_BPF);
	struct wire_block_state s;
	uint64_t key, *at = NULL;
	int r = 0;

	while (!r && !bpf_map_get_next_key(bios_fd, at, &key)) {
		at = &key;
		/* others joined a request, which includes them once it is issued */
		if (bpf_map_lookup_elem(bios_fd, &key, &s) || s.b.parts > WIRE_BLOCK_PARTS ||
		    !(s.b.got || (s.b.flags & WIRE_BLOCK_BIO)))
			continue;
		r = request_give(d, &s.b, s.parts, 0, out);
	}
	return r;
}
