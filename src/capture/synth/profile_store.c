/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_store.c: streams like those of Redis and RocksDB.
 *
 * Fitted to recordings of weir's own kernel source (Linux 6.18, 2 CPUs, ext4 on a virtual disk, November 2026):
 *   redis    redis-server 7.0, appendonly yes, everysec, under `redis-benchmark -t set,get -n 200000 -c 50 -d 100`:
 *            920,000 calls; 4.8 requests per epoll_wait, one append per turn with SETs (137 B each)
 *   rocksdb  db_bench 7.8, fillrandom, readrandom, readrandomwriterandom, 300,000 keys of 100 B, two threads, no
 *            compression: 1,760,000 calls; 61 % pread64 of one 4,003 B block, 36 % write of a 138 B log record,
 *            compaction reads block by block and writes 1 MiB at a time
 *
 * A dist holds the quantiles 0, 10, 50, 90, 99, 99.9 and 100 % of the recorded durations in ns (think: time between two
 * calls of a thread). Extremes caused by an idle start were excluded.
 */
#include "capture/synth/stream.h"

#include <stdio.h>

/* ---- redis: one event loop and a thread that syncs the append-only file ---- */

static const struct dist redis_think = {{298, 471, 936, 2782, 10500, 58000, 900000}};
static const struct dist redis_read = {{340, 689, 765, 1253, 2309, 14140, 171810}};
static const struct dist redis_reply = {{549, 615, 690, 1164, 2400, 16000, 2900000}};
static const struct dist redis_append = {{900, 1200, 1500, 2400, 14000, 50000, 2929998}};
static const struct dist redis_poll = {{585, 5861, 6189, 180584, 661190, 2000000, 100158277}};
static const struct dist redis_sync = {
	{711074, 5000000, 22296868, 119000000, 179442147, 179442147, 179442147}};

enum {
	REDIS_EPOLL,
	REDIS_READ,
	REDIS_APPEND,
	REDIS_REPLY,
	REDIS_CRON_OPEN,
	REDIS_CRON_READ,
	REDIS_CRON_CLOSE
};
enum { REDIS_AOF, REDIS_EPOLL_FD, REDIS_STAT, REDIS_CLIENT0 }; /* slots */
#define REDIS_CLIENTS 50
#define REDIS_CRON_NS (100 * NSEC_PER_MSEC)

static void redis_epoll(struct actor *a)
{
	int64_t ready = 1 + (int64_t)rng_below(&a->rng, 9);

	act_begin(a, CALL_EPOLL_WAIT, CLASS_WAIT, rng_dist(&a->rng, &redis_think));
	act_file(a, REDIS_EPOLL_FD);
	act_end(a, rng_dist(&a->rng, &redis_poll), ready);
	a->left = (uint32_t)ready;
	a->count = 0;
	a->state = REDIS_READ;
}

static void redis_cron(struct actor *a)
{
	bool open = a->state == REDIS_CRON_OPEN, read = a->state == REDIS_CRON_READ;

	act_begin(a,
		  open	 ? CALL_OPENAT
		  : read ? CALL_READ
			 : CALL_CLOSE,
		  read ? CLASS_DATA : CLASS_META, 400);
	act_file(a, REDIS_STAT);
	if (read) {
		act_set(a, OP_SIZE, 4096);
		act_set(a, OP_POS, 0);
		act_set(a, OP_BYTES, 324);
	}
	act_end(a, open ? 5200 : read ? 14500 : 900, read ? 324 : open ? a->fds[REDIS_STAT] : 0);
	a->state = open ? REDIS_CRON_READ : read ? REDIS_CRON_CLOSE : REDIS_EPOLL;
}

static void redis_client_call(struct actor *a, enum call call, const struct dist *dur, int64_t size,
			      int64_t bytes)
{
	act_begin(a, call, CLASS_DATA, rng_dist(&a->rng, &redis_think));
	act_file(a, REDIS_CLIENT0 + (unsigned int)((a->serial + a->left) % REDIS_CLIENTS));
	act_set(a, OP_SIZE, size);
	act_set(a, OP_BYTES, bytes);
	act_end(a, rng_dist(&a->rng, dur), bytes);
}

static void redis_append_call(struct actor *a)
{
	int64_t bytes = 137 * (int64_t)a->count;

	act_begin(a, CALL_WRITE, CLASS_DATA, rng_dist(&a->rng, &redis_think));
	act_file(a, REDIS_AOF);
	act_set(a, OP_SIZE, bytes);
	act_set(a, OP_POS, a->pos[REDIS_AOF]);
	act_set(a, OP_STATUS, STATUS_APPEND);
	act_set(a, OP_BYTES, bytes);
	a->pos[REDIS_AOF] += bytes;
	act_end(a, rng_dist(&a->rng, &redis_append), bytes);
	a->state = REDIS_REPLY;
	a->left = a->count;
}

static void redis_main(struct stream *s, struct actor *a)
{
	switch (a->state) {
	case REDIS_EPOLL:
		if (a->now >= a->timer) {
			a->timer = a->now + REDIS_CRON_NS;
			a->state = REDIS_CRON_OPEN;
			redis_cron(a);
			return;
		}
		redis_epoll(a);
		return;
	case REDIS_READ:
		redis_client_call(a, CALL_READ, &redis_read, 16384, a->serial % 2 ? 144 : 36);
		a->count++;
		if (--a->left == 0) {
			/* Half of the requests are SETs, which are appended in one write before the
			 * replies. */
			a->left = a->count;
			a->state = a->serial % 2 ? REDIS_APPEND : REDIS_REPLY;
		}
		return;
	case REDIS_APPEND:
		redis_append_call(a);
		return;
	case REDIS_REPLY:
		redis_client_call(a, CALL_WRITE, &redis_reply, a->serial % 2 ? 5 : 108,
				  a->serial % 2 ? 5 : 108);
		if (--a->left == 0) {
			a->serial++;
			a->state = REDIS_EPOLL;
		}
		return;
	default:
		redis_cron(a);
	}
}

/* Sleeps on a futex for a second, then syncs. */
static void redis_bio(struct stream *s, struct actor *a)
{
	if (a->state == 0) {
		act_begin(a, CALL_FUTEX, CLASS_WAIT, 9000);
		act_end(a, NSEC_PER_SEC - 20 * NSEC_PER_MSEC + (int64_t)rng_below(&a->rng, 8000000),
			0);
	} else {
		act_begin(a, CALL_FDATASYNC, CLASS_SYNC, 4000);
		act_file(a, 0);
		act_end(a, rng_dist(&a->rng, &redis_sync), 0);
	}
	a->state ^= 1;
}

/* An idle thread. */
static void idle(struct stream *s, struct actor *a)
{
	act_begin(a, CALL_FUTEX, CLASS_WAIT, 0);
	act_end(a, 3600 * NSEC_PER_SEC, 0);
}

void profile_redis(struct stream *s)
{
	struct actor *a = stream_process(s, "redis-server", "redis-server demo.conf", redis_main),
		     *bio;

	if (!a)
		return;
	a->files[REDIS_AOF] = stream_file(
		s,
		&(struct synth_file){.type = FILE_TYPE_REGULAR,
				     .fs = "ext4",
				     .path = "/srv/redis/appendonlydir/appendonly.aof.1.incr.aof"});
	a->fds[REDIS_AOF] = 8;
	a->files[REDIS_EPOLL_FD] =
		stream_file(s, &(struct synth_file){.type = FILE_TYPE_ANON,
						    .fs = "anon_inodefs",
						    .path = "anon_inode:[eventpoll]"});
	a->fds[REDIS_EPOLL_FD] = 5;
	a->files[REDIS_STAT] = stream_file(s, &(struct synth_file){.type = FILE_TYPE_REGULAR,
								   .fs = "proc",
								   .path = "/proc/30617/stat"});
	a->fds[REDIS_STAT] = 9;
	for (unsigned int i = 0; i < REDIS_CLIENTS; i++) {
		a->files[REDIS_CLIENT0 + i] =
			stream_file(s, &(struct synth_file){.type = FILE_TYPE_SOCKET,
							    .fs = "sockfs",
							    .family = 1,
							    .local = "unix:/srv/redis/demo.sock",
							    .peer = "unix:"});
		a->fds[REDIS_CLIENT0 + i] = 10 + i;
	}
	bio = stream_thread(s, a, "bio_aof_fsync", redis_bio);
	if (!bio)
		return;
	bio->files[0] = a->files[REDIS_AOF];
	bio->fds[0] = 8;
	stream_thread(s, a, "jemalloc_bg_thd", idle);
}

/* ---- rocksdb: two readers, a writer, a flush and a compaction thread ---- */

static const struct dist rocks_think = {{292, 2573, 3883, 6426, 18929, 80000, 8272838}};
static const struct dist rocks_get = {{486, 1053, 1330, 1794, 2661, 38654, 42001848}};
static const struct dist rocks_wal = {{239, 528, 571, 904, 5235, 20690, 98512805}};
static const struct dist rocks_scan = {{487, 818, 965, 1264, 2869, 30591, 13708384}};
static const struct dist rocks_compact_think = {{477, 4171, 15019, 23183, 73225, 300000, 16462989}};
static const struct dist rocks_out = {
	{91136, 196621, 241639, 831889, 12893100, 16418077, 16418077}};
static const struct dist rocks_fsync = {
	{900000, 1500000, 3900000, 30000000, 61000000, 61000000, 61200000}};
static const struct dist rocks_meta = {{380, 522, 1300, 16000, 130000, 300000, 497885}};

enum { ROCKS_LOG, ROCKS_OUT, ROCKS_SST0 };
#define ROCKS_SSTS	     40
#define ROCKS_BLOCKS_PER_MIB 256
#define ROCKS_OUTPUT_MIB     4
#define ROCKS_SST_BYTES	     (64ll << 20)

static void rocks_reader(struct stream *s, struct actor *a)
{
	unsigned int slot = ROCKS_SST0 + (unsigned int)rng_below(&a->rng, ROCKS_SSTS);
	int64_t bytes = 4002 + (int64_t)rng_below(&a->rng, 3);

	act_begin(a, CALL_PREAD64, CLASS_DATA, rng_dist(&a->rng, &rocks_think));
	act_file(a, slot);
	act_set(a, OP_SIZE, bytes);
	act_set(a, OP_POS, (int64_t)rng_below(&a->rng, (uint64_t)ROCKS_SST_BYTES));
	act_set(a, OP_BYTES, bytes);
	act_end(a, rng_dist(&a->rng, &rocks_get), bytes);
}

static void rocks_writer(struct stream *s, struct actor *a)
{
	int64_t bytes = rng_chance(&a->rng, 950) ? 138 : 11;

	act_begin(a, CALL_WRITE, CLASS_DATA, rng_dist(&a->rng, &rocks_think));
	act_file(a, ROCKS_LOG);
	act_set(a, OP_SIZE, bytes);
	act_set(a, OP_POS, a->pos[ROCKS_LOG]);
	act_set(a, OP_BYTES, bytes);
	a->pos[ROCKS_LOG] += bytes;
	act_end(a, rng_dist(&a->rng, &rocks_wal), bytes);
}

/* Opens the next table file for writing. */
static void rocks_create(struct stream *s, struct actor *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/rocksdb/%06u.sst",
		 100 + a->serial++ + (unsigned int)(a->tid - a->pid) * 1000);
	a->files[ROCKS_OUT] = stream_file(
		s, &(struct synth_file){.type = FILE_TYPE_REGULAR, .fs = "ext4", .path = path});
	a->fds[ROCKS_OUT] = 40 + a->serial % 16;
	a->pos[ROCKS_OUT] = 0;
	act_begin(a, CALL_OPENAT, CLASS_META, 40000);
	act_file(a, ROCKS_OUT);
	act_set(a, OP_FLAGS, 02000101);
	act_set(a, OP_A3, 0644);
	act_end(a, 18000 + rng_dist(&a->rng, &rocks_meta), a->fds[ROCKS_OUT]);
}

static void rocks_output(struct actor *a, enum call call)
{
	int64_t bytes = call == CALL_WRITE ? 1 << 20 : 0;

	act_begin(a, call,
		  call == CALL_WRITE   ? CLASS_DATA
		  : call == CALL_CLOSE ? CLASS_META
				       : CLASS_SYNC,
		  call == CALL_WRITE ? 700000 + (int64_t)rng_below(&a->rng, 500000) : 2000);
	act_file(a, ROCKS_OUT);
	if (bytes) {
		act_set(a, OP_SIZE, bytes);
		act_set(a, OP_POS, a->pos[ROCKS_OUT]);
		act_set(a, OP_BYTES, bytes);
		a->pos[ROCKS_OUT] += bytes;
	}
	act_end(a,
		rng_dist(&a->rng, call == CALL_WRITE   ? &rocks_out
				  : call == CALL_CLOSE ? &rocks_meta
						       : &rocks_fsync),
		bytes);
}

static void rocks_unlink(struct stream *s, struct actor *a)
{
	act_begin(a, CALL_UNLINK, CLASS_META, 30000);
	act_set(a, OP_FILE_ID, a->files[ROCKS_SST0 + rng_below(&a->rng, ROCKS_SSTS)]);
	/* Occasionally somebody else was faster. */
	act_end(a, rng_dist(&a->rng, &rocks_meta), rng_chance(&a->rng, 30) ? -2 : 0);
}

/* Compaction: a block at a time until there is 1 MiB to write; after ROCKS_OUTPUT_MIB sync, close,
 * unlink an input. */
static void rocks_compact(struct stream *s, struct actor *a)
{
	if (a->state == 0) {
		rocks_create(s, a);
		a->state = 1;
		a->left = ROCKS_OUTPUT_MIB * ROCKS_BLOCKS_PER_MIB;
	} else if (a->left) {
		if (--a->left % ROCKS_BLOCKS_PER_MIB) {
			act_begin(a, CALL_PREAD64, CLASS_DATA,
				  rng_dist(&a->rng, &rocks_compact_think));
			act_file(a, ROCKS_SST0 + a->serial % ROCKS_SSTS);
			act_set(a, OP_SIZE, 4003);
			act_set(a, OP_POS,
				(int64_t)(ROCKS_OUTPUT_MIB * ROCKS_BLOCKS_PER_MIB - a->left) *
					4003);
			act_set(a, OP_BYTES, 4003);
			act_end(a, rng_dist(&a->rng, &rocks_scan), 4003);
		} else {
			rocks_output(a, CALL_WRITE);
		}
	} else {
		static const enum call close_calls[] = {CALL_FDATASYNC, CALL_CLOSE};

		if (a->state <= 2)
			rocks_output(a, close_calls[a->state - 1]);
		else
			rocks_unlink(s, a);
		a->state = (a->state + 1) % 4;
	}
}

/* Flush: sleeps until a memtable is full, then writes it out. */
static void rocks_flush(struct stream *s, struct actor *a)
{
	if (a->state == 0) {
		act_begin(a, CALL_FUTEX, CLASS_WAIT, 5000);
		act_end(a, 300 * NSEC_PER_MSEC + (int64_t)rng_below(&a->rng, 90000000), 0);
	} else if (a->state == 1) {
		rocks_create(s, a);
	} else {
		rocks_output(a, a->state < 12	 ? CALL_WRITE
				: a->state == 12 ? CALL_FDATASYNC
						 : CALL_CLOSE);
	}
	a->state = (a->state + 1) % 14;
}

void profile_rocksdb(struct stream *s)
{
	struct actor *a = stream_process(
		s, "db_bench", "db_bench --benchmarks=readrandomwriterandom", rocks_writer);
	struct actor *others[4] = {0};
	char path[64];

	if (!a)
		return;
	others[0] = stream_thread(s, a, "db_bench", rocks_reader);
	others[1] = stream_thread(s, a, "db_bench", rocks_reader);
	others[2] = stream_thread(s, a, "rocksdb:low", rocks_compact);
	others[3] = stream_thread(s, a, "rocksdb:high", rocks_flush);
	if (s->error)
		return;
	a->files[ROCKS_LOG] =
		stream_file(s, &(struct synth_file){.type = FILE_TYPE_REGULAR,
						    .fs = "ext4",
						    .path = "/tmp/rocksdb/000009.log"});
	a->fds[ROCKS_LOG] = 7;
	for (unsigned int i = 0; i < ROCKS_SSTS; i++) {
		int64_t key;

		snprintf(path, sizeof(path), "/tmp/rocksdb/%06u.sst", 10 + i);
		key = stream_file(s, &(struct synth_file){.type = FILE_TYPE_REGULAR,
							  .fs = "ext4",
							  .path = path});
		for (unsigned int k = 0; k < 4; k++) {
			others[k]->files[ROCKS_SST0 + i] = key;
			others[k]->fds[ROCKS_SST0 + i] = 60 + i;
		}
	}
}
