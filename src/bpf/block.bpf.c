// SPDX-License-Identifier: GPL-2.0-only
/*
 * block.bpf.c: requests to block devices: when they were made, by whom and for which files. The tracepoints at which a
 * bio becomes or joins a request fire once for each piece of it, in the context of the submitter; later ones may fire
 * in interrupts, where the current task is a bystander. The arguments are numbers to the verifier (raw_tp), which
 * allows no arithmetic on values known to be pointers.
 *
 * The sums over all records equal those in /sys/block/DEV/stat: see weir_complete.
 */
#include "bpf/lib/block/block_state.h"

char LICENSE[] SEC("license") = "GPL";

/* Whether the disk handles bios directly, without requests: device mapper, md, zram. */
static __always_inline bool disk_takes_bios(__u64 disk)
{
	__u64 fops = knum(struct gendisk, disk, fops);

	return fops && knum(struct block_device_operations, fops, submit_bio);
}

#define SYMBOL_LOOK_UP(name)                                               \
	{                                                                  \
		static const char text[] = #name;                          \
		__u64 at = 0;                                              \
		if (!bpf_kallsyms_lookup_name(text, sizeof(text), 0, &at)) \
			symbols.name = at;                                 \
	}

/* Before the other programs are attached. Only this type of program may look names up; for `extern ... __ksym` libbpf
 * would parse all of /proc/kallsyms, two fifths of what the block object added to a start. */
SEC("syscall")
int weir_block_symbols(void *ctx)
{
	SYMBOLS(SYMBOL_LOOK_UP)
	return 0;
}

SEC("raw_tp/block_bio_queue")
int BPF_PROG(weir_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_task *t = task_get(task);
	struct wire_block_state *e;
	__u64 disk;

	if (!t)
		return 0;
	t->bio = (__u64)bio;
	t->queued = bpf_ktime_get_ns();
	disk = disk_of((__u64)bio);
	if (!disk || !disk_takes_bios(disk))
		return 0;
	e = bio_begin(task, t, (__u64)bio, t->queued, 0);
	if (!e)
		return 0;
	e->b.flags |= WIRE_BLOCK_BIO;
	t->upper = t->bio;
	t->upper_dev = e->b.dev;
	t->upper_sector = e->b.sector;
	t->upper_sectors = e->b.size >> SECTOR_SHIFT;
	stacked = 1;
	return 0;
}

/* A bio is mapped from a device to the one below: the same bio (from a partition to its disk) or a clone. */
SEC("raw_tp/block_bio_remap")
int BPF_PROG(weir_remap, struct bio *bio, __u32 dev, __u64 sector)
{
	struct block_task *t;
	__u64 key = (__u64)bio, upper;

	if (!stacked)
		return 0;
	t = task_get(bpf_get_current_task_btf());
	if (!t || !t->upper || t->upper == key || t->upper_dev != dev ||
	    sector - t->upper_sector > t->upper_sectors)
		return 0;
	upper = t->upper;
	bpf_map_update_elem(&uppers, &key, &upper, BPF_ANY);
	return 0;
}

/* When this bio, or the one of which it is a piece, was queued; 0: unknown. */
static __always_inline __u64 queued_at(struct block_task *t, __u64 bio)
{
	if (t->bio == bio)
		return t->queued;
	if (is_symbol(knum(struct bio, bio, bi_end_io), bio_chain_endio) &&
	    t->bio == knum(struct bio, bio, bi_private))
		return t->queued;
	return 0;
}

static __always_inline int bio_enters(__u64 bio, bool takes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_task *t = task_get(task);
	__u64 now = bpf_ktime_get_ns(), queued;
	struct wire_block_state *e;

	if (!t) {
		side_lose(WIRE_SIDE_STORAGE, WIRE_BLOCK);
		return 0;
	}
	queued = queued_at(t, bio);
	e = bio_begin(task, t, bio, queued ? queued : now, takes ? now : 0);
	if (e && (e->b.opf & (REQ_PREFLUSH | REQ_FUA))) {
		struct flusher f = {
			.op_start = e->b.op_start, .op_thread = e->b.op_thread, .owner = t->owner};
		__u64 disk = disk_of(bio);

		bpf_map_update_elem(&flushers, &disk, &f, BPF_ANY);
	}
	return 0;
}

SEC("raw_tp/block_getrq")
int BPF_PROG(weir_getrq, struct bio *bio)
{
	return bio_enters((__u64)bio, true);
}

/* Also attached to block_bio_frontmerge (objects.c). */
SEC("raw_tp/block_bio_backmerge")
int BPF_PROG(weir_merge, struct bio *bio)
{
	return bio_enters((__u64)bio, false);
}

/* A cache flush, which the kernel issues for all requests that need one. */
static __always_inline struct wire_block_state *flush_begin(__u64 rq, __u64 disk, __u64 now)
{
	struct wire_block_state *e = state_new(rq);
	struct flusher *f = bpf_map_lookup_elem(&flushers, &disk);

	if (!e)
		return NULL;
	e->b.queued = e->b.got = now;
	e->b.dev = disk_dev((struct gendisk *)disk);
	e->b.opf = REQ_OP_FLUSH;
	e->b.bios = 1;
	e->b.parts = 1;
	e->parts[0].origin = WIRE_ORIGIN_FLUSH;
	if (f) {
		e->b.op_thread = f->op_thread;
		e->b.op_start = f->op_start;
		e->parts[0].owner = f->owner;
		e->parts[0].via = WIRE_VIA_FLUSH;
	}
	return e;
}

/* The state of a request, by its first bio or by its own address. */
static __always_inline struct wire_block_state *request_state(__u64 rq, __u64 first, __u64 *ret_key)
{
	struct wire_block_state *e = NULL;

	*ret_key = first;
	if (first)
		e = state_of(first);
	if (e)
		return e;
	*ret_key = rq;
	return state_of(rq);
}

static __always_inline struct wire_block_state *request_seen(struct request *rq, __u64 now)
{
	__u64 first = knum(struct request, rq, bio), key;
	struct wire_block_state *e = request_state((__u64)rq, first, &key);

	if (!e && (kread(struct request, rq, cmd_flags) & REQ_OP_MASK) == REQ_OP_FLUSH)
		return flush_begin((__u64)rq,
				   knum(struct request_queue, knum(struct request, rq, q), disk),
				   now);
	return e;
}

SEC("raw_tp/block_rq_insert")
int BPF_PROG(weir_insert, struct request *rq)
{
	__u64 now = bpf_ktime_get_ns();
	struct wire_block_state *e = request_seen(rq, now);

	if (e && !e->b.inserted)
		e->b.inserted = now;
	return 0;
}

SEC("raw_tp/block_rq_issue")
int BPF_PROG(weir_issue, struct request *rq)
{
	__u64 now = bpf_ktime_get_ns(), first = knum(struct request, rq, bio);
	struct wire_block_state *e = request_seen(rq, now);

	if (!e)
		return 0;
	e->b.issued = now;
	if (first && first != knum(struct request, rq, biotail))
		state_gather(e, first);
	return 0;
}

SEC("raw_tp/block_rq_requeue")
int BPF_PROG(weir_requeue, struct request *rq)
{
	__u64 key;
	struct wire_block_state *e = request_state((__u64)rq, knum(struct request, rq, bio), &key);

	if (e)
		e->b.requeues++;
	return 0;
}

/* Sends a request that was in flight when recording began, or whose first bio found no room. */
static __always_inline void send_unknown(struct request *rq, __u32 bytes, __u8 error, __u64 now)
{
	struct wire_block_state *e = state_new((__u64)rq);

	if (!e)
		return;
	e->b.flags = WIRE_BLOCK_BEFORE;
	e->b.queued = kread(struct request, rq, start_time_ns);
	e->b.sector = kread(struct request, rq, __sector);
	e->b.opf = kread(struct request, rq, cmd_flags);
	e->b.bytes = bytes;
	e->b.error = error;
	e->b.bios = 1;
	e->b.dev = disk_dev(
		(struct gendisk *)knum(struct request_queue, knum(struct request, rq, q), disk));
	if (!rq_is_counted(kread(struct request, rq, rq_flags)) &&
	    (e->b.opf & REQ_OP_MASK) != REQ_OP_FLUSH)
		e->b.flags |= WIRE_BLOCK_UNCOUNTED;
	state_send(e, now);
	state_end((__u64)rq);
}

/*
 * The device has completed nr bytes of a request. The kernel counts a request when its last byte completes unless it is
 * a step of a flush, sectors as they complete, and flushes separately.
 */
SEC("raw_tp/block_rq_complete")
int BPF_PROG(weir_complete, struct request *rq, __u8 error, unsigned int nr)
{
	__u32 flags = kread(struct request, rq, rq_flags),
	      opf = kread(struct request, rq, cmd_flags);
	__u64 now = bpf_ktime_get_ns(), first = knum(struct request, rq, bio), key;
	bool flush = (opf & REQ_OP_MASK) == REQ_OP_FLUSH;
	struct wire_block_state *e;

	if ((opf & REQ_OP_MASK) >= REQ_OP_DRV_IN)
		return 0;
	e = request_state((__u64)rq, first, &key);
	if (!e) {
		send_unknown(rq, nr, error, now);
		return 0;
	}
	e->b.bytes += nr;
	if (error)
		e->b.error = error;
	if (!flush && (nr != kread(struct request, rq, __data_len) || rq_in_flush(flags))) {
		__u64 own = (__u64)rq;

		/* its first bio ends now, and may be reused */
		if (key != own && !bpf_map_update_elem(&bios, &own, e, BPF_ANY))
			state_end(key);
		return 0;
	}
	/* the kernel clears the flag once the cache was flushed */
	e->b.opf = opf | (e->b.opf & REQ_PREFLUSH);
	if (!flush && !rq_is_counted(flags))
		e->b.flags |= WIRE_BLOCK_UNCOUNTED;
	if (e->b.flags & WIRE_BLOCK_MOVED)
		uppers_complete(first, now, error);
	state_send(e, now);
	state_end(key);
	return 0;
}

/* A bio of a device without requests has ended. */
SEC("raw_tp/block_bio_complete")
int BPF_PROG(weir_bio_complete, struct request_queue *q, struct bio *bio)
{
	struct wire_block_state *e = state_of((__u64)bio);

	if (!e || !(e->b.flags & WIRE_BLOCK_BIO))
		return 0;
	e->b.bytes = e->b.size;
	e->b.error = kread(struct bio, bio, bi_status);
	state_send(e, bpf_ktime_get_ns());
	state_end((__u64)bio);
	return 0;
}

/* A folio of a file becomes dirty, in the context of the writer; mapped ones at the fault. */
SEC("raw_tp/writeback_dirty_folio")
int BPF_PROG(weir_dirty, __u64 folio, __u64 mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 inode, *frame;
	struct block_task *t = task_get(task);
	struct thread_state *ts;
	__u32 owner;

	if (!t || !mapping)
		return 0;
	frame = frame_of(folio);
	if (!frame)
		return 0;
	ts = bpf_task_storage_get(&threads, task, 0, 0);
	owner = owner_current(task, t, ts);
	inode = knum(struct address_space, mapping, host);
	*frame = (__u64)frame_check(inode) << 32 | owner;
	/* this association with the overlay's file is not available later */
	if (ts && call_on_overlay(ts))
		inode_number(inode);
	return 0;
}

/*
 * Calls that write, in file systems with large folios. A program with this prefix may lack its tracepoint: for files
 * without such events the owner is the first writer of a dirty folio.
 */
/* Also attached to ext4_da_write_begin (objects.c). */
SEC("raw_tp/ext4_write_begin")
int BPF_PROG(weir_extra_ext4, __u64 inode, __u64 pos, __u32 len)
{
	return file_written(inode, pos, len);
}

SEC("raw_tp/xfs_file_buffered_write")
int BPF_PROG(weir_extra_xfs, __u64 iocb, __u64 iter)
{
	__u64 file = knum(struct kiocb, iocb, ki_filp);

	return file_written(knum(struct file, file, f_inode), kread(struct kiocb, iocb, ki_pos),
			    knum(struct iov_iter, iter, count));
}
