/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h: building blocks of the profiles. A stream is a set of actors; an actor is one thread with its own clock,
 * random generator and a step that makes its next call. The stream always returns the call that ends first, so that
 * rows are ordered by their end, as those from the kernel.
 */
#pragma once

#include "base/clock.h"
#include "batch/batch.h"
#include "capture/synth/synth.h"

/* ---- random numbers: xoshiro256** 1.0 (Blackman, Vigna), seeded by splitmix64 ---- */

struct rng {
	uint64_t s[4];
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s, x = s[1] * 5, t = s[1] << 17, result = (x << 7 | x >> 57) * 9;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

/* 0 .. n - 1; n <= 2^32 */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (rng_next(r) >> 32) * n >> 32;
}

/* True in `permille` of 1,000 cases. */
static inline bool rng_chance(struct rng *r, unsigned int permille)
{
	return rng_below(r, 1000) < permille;
}

/* A distribution given by its quantiles: 0, 10, 50, 90, 99, 99.9 and 100 %; uniform in between. */
struct dist {
	uint32_t q[7];
};

static inline int64_t rng_dist(struct rng *r, const struct dist *d)
{
	/* the quantiles in 1/65536 */
	static const uint32_t at[7] = {0, 6554, 32768, 58982, 64881, 65470, 65536};
	uint64_t u = rng_next(r);
	uint32_t p = (uint32_t)(u >> 48), frac = (uint32_t)(u & 0xffff), i = 0;

	while (p >= at[i + 1])
		i++;
	/* The last segment is a tail, nearly all of it close to its start: recorded means require about frac^16. */
	for (int k = 0; i == 5 && k < 4; k++)
		frac = frac * frac >> 16;
	return d->q[i] + (int64_t)((uint64_t)(d->q[i + 1] - d->q[i]) * frac >> 16);
}

/* ---- calls ---- */

/* x86-64's call numbers, which are the operation codes of a trace. */
enum call {
	CALL_READ = 0,
	CALL_WRITE = 1,
	CALL_OPEN = 2,
	CALL_CLOSE = 3,
	CALL_FSTAT = 5,
	CALL_LSEEK = 8,
	CALL_MMAP = 9,
	CALL_MUNMAP = 11,
	CALL_BRK = 12,
	CALL_PREAD64 = 17,
	CALL_PWRITE64 = 18,
	CALL_WRITEV = 20,
	CALL_SENDFILE = 40,
	CALL_CONNECT = 42,
	CALL_SENDTO = 44,
	CALL_RECVFROM = 45,
	CALL_SHUTDOWN = 48,
	CALL_FSYNC = 74,
	CALL_FDATASYNC = 75,
	CALL_FTRUNCATE = 77,
	CALL_RENAME = 82,
	CALL_UNLINK = 87,
	CALL_FUTEX = 202,
	CALL_GETDENTS64 = 217,
	CALL_CLOCK_NANOSLEEP = 230,
	CALL_EPOLL_WAIT = 232,
	CALL_EPOLL_CTL = 233,
	CALL_OPENAT = 257,
	CALL_NEWFSTATAT = 262,
	CALL_SYNC_FILE_RANGE = 277,
	CALL_FALLOCATE = 285,
	CALL_ACCEPT4 = 288,
};

#define SYNTH_FILES_MAX 64 /* files available to an actor */

struct stream;

struct actor {
	void (*step)(struct stream *s, struct actor *a);
	struct rng rng;
	int64_t now;  /* when the last call ended */
	int64_t end;  /* when the call in v ends */
	uint64_t set; /* non-null columns of v */
	int64_t v[OP_COLUMNS];
	int64_t thread; /* key */
	int64_t tid, cpu, pid;
	int64_t process; /* key */
	/* state of a profile */
	int state;
	uint32_t left, count, serial;
	int64_t timer, timer2;
	int64_t files[SYNTH_FILES_MAX]; /* keys */
	int64_t pos[SYNTH_FILES_MAX];
	int64_t fds[SYNTH_FILES_MAX];
};

#define SYNTH_ACTORS_MAX 64
#define SYNTH_FOLDERS	 2000 /* visited by a walk repeatedly, with two files in each */

struct stream {
	struct source source;
	struct synth_options opt;
	struct rng rng;
	struct actor *actors[SYNTH_ACTORS_MAX];
	size_t actor_count;
	int64_t folders[SYNTH_FOLDERS][3]; /* keys, 0: not yet seen */
	struct batch_set *out; /* destination of dimension rows; set while the source reads */
	uint64_t given;
	int64_t next_key; /* for files, threads and processes; separate sequences are not required */
	int64_t origin, last_end;
	uint64_t next_ino;
	int64_t next_pid;
	bool started, marked;
	int error;
};

static inline void act_set(struct actor *a, enum op_column c, int64_t v)
{
	a->v[c] = v;
	a->set |= 1ull << c;
}

/* Begins the actor's next call, `think_ns` after its last. */
void act_begin(struct actor *a, enum call call, enum op_class class, int64_t think_ns);
/* Ends it: duration and result. */
void act_end(struct actor *a, int64_t dur_ns, int64_t ret);
/* Sets the file and descriptor of slot i of the actor. */
static inline void act_file(struct actor *a, unsigned int i)
{
	act_set(a, OP_FD, a->fds[i]);
	act_set(a, OP_FILE_ID, a->files[i]);
}

/* ---- threads, processes and files ---- */

/* Adds a process with one thread, argv separated by spaces; returns the actor of that thread. NULL if out of memory
 * (the stream records that). */
struct actor *stream_process(struct stream *s, const char *comm, const char *argv,
			     void (*step)(struct stream *s, struct actor *a));
/* Adds a thread to leader's process. */
struct actor *stream_thread(struct stream *s, const struct actor *leader, const char *comm,
			    void (*step)(struct stream *s, struct actor *a));

/* Keeps the first error, 0 or negative; the stream then ends. */
void stream_fail(struct stream *s, int error);

struct synth_file {
	enum file_type type;
	const char *path; /* NULL: none */
	size_t path_len;  /* 0: strlen */
	const char *fs, *local, *peer;
	int64_t family; /* 0: none */
	uint64_t ino;	/* 0: a new one */
	uint64_t generation;
	bool name_only;
};

/* Adds a file row; returns its key. */
int64_t stream_file(struct stream *s, const struct synth_file *f);
/* Adds another version (name) of a file: a row with the same inode; returns its key. */
int64_t stream_rename(struct stream *s, int64_t inode, const char *path);

/* events.c: adds rows of all event tables that no profile fills, for the calls from row `first` of op on. 0, -ENOMEM,
 * -ENOSPC. */
int synth_events(struct batch_set *out, const struct batch *op, size_t first) _must_check_;

/* ---- the profiles ---- */

void profile_redis(struct stream *s);
void profile_rocksdb(struct stream *s);
void profile_fio(struct stream *s);
void profile_network(struct stream *s);
void profile_walk(struct stream *s);
void profile_hostile(struct stream *s);
