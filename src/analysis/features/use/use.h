/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.h: what the parts of the feature `use` share (use*.c): what each process did with each file.
 *
 *   use.c        the calls, each to what it means; state by task, process and file
 *   use_data.c   reads and writes of a process: sizes, order, ranges
 *   use_file.c   what all processes did to one file: its size, who wrote what, what of it was read
 *   use_life.c   descriptors, names, syncs
 *   use_watch.c  what a thread did after a short or failed write
 *   use_fold.c   uses that are folded into one per folder where there are too many
 *   use_rows.c   the rows
 *
 * A use is found by (process, file) in a map, mostly by the last one of its task. It is small; what only some files need
 * (reads, writes, the rest) is made when it is needed. With USE_MEMORY in use, uses that have ended are folded.
 *
 * Names: a call that names a file by a path that the recorder did not recognize has a file row of the name alone. Which
 * file has a name is followed here (opens, renames, links, removals), so that such a call counts for the file.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/use/ranges.h"
#include "hist/sparse.h"

#define USE_CHUNK      1024
#define USE_NONE       UINT32_MAX
#define USE_MEMORY     ((size_t)128 << 20) /* then uses are folded */
#define USE_FOLD_CALLS 1024 /* after so many it is looked whether uses are to be folded */
#define USE_RANGES     ((size_t)24 << 20) /* of these, for sets of ranges */
#define USE_FDS_MAX    65536		  /* numbers of descriptors that are followed */
#define USE_NAMES_MAX  (1u << 19)	  /* names that are followed; beyond, all are forgotten */
#define USE_MAPS_MAX   256		  /* shared mappings of a process that msync() finds */
#define USE_TASKS_MAX  (1u << 18) /* (use, task) pairs that are not the first of their use */
#define USE_SMALL      4096	  /* below, a read or write is small; the unit of direct I/O */
#define USE_TINY       16
#define USE_FILE_LOG   16 /* writes that readers of a file need not have seen yet */
#define USE_SPENT      4
#define USE_WATCHES    2 /* calls of a task of which it is watched what follows */
#define USE_COST       (sizeof(struct use) + 3 * sizeof(uint64_t)) /* with its place in the map */
#define USE_BYTES_MAX  (USE_MEMORY + ((size_t)96 << 20)) /* with names, tasks, files, folding */

/* What a call means here. */
enum use_act {
	ACT_NONE, /* counts as a call on its file, no more */
	ACT_READ,
	ACT_WRITE,
	ACT_COPY, /* from one file to another */
	ACT_OPEN,
	ACT_CLOSE,
	ACT_STAT,
	ACT_SYNC,
	ACT_SYNC_RANGE, /* sync_file_range: starts or awaits writing, and promises nothing */
	ACT_SYNC_FS,	/* sync, syncfs */
	ACT_MSYNC,
	ACT_MAP,
	ACT_UNMAP,
	ACT_DUP,
	ACT_FCNTL,
	ACT_CLOSE_RANGE,
	ACT_CUT,
	ACT_ALLOCATE,
	ACT_RENAME,
	ACT_UNLINK,
	ACT_LINK,
	ACT_MAKE, /* mkdir, mknod, symlink */
	ACT_LIST,
	ACT_EXEC,
	ACT_EXIT,
};

/* Operations that differ from others of their act. */
enum use_op {
	USE_OP_ACCEPT = 43,
	USE_OP_ACCEPT4 = 288,
	USE_OP_CREAT = 85,
	USE_OP_MEMFD = 319,
	USE_OP_PIPE = 22,
	USE_OP_PIPE2 = 293,
	USE_OP_PWRITEV2 = 328,
	USE_OP_SOCKET = 41,
	USE_OP_SOCKETPAIR = 53,
};

/* Whose position in a file, for next and back: of a use, and of the task within it. */
struct use_read {
	struct ranges fresh; /* read, and not written since by anybody */
	struct ranges stale; /* read, and written since */
	struct hist hist;
	int64_t bytes, time, reread, first, stop;
	int64_t from, to;	  /* of the read before */
	int64_t skipped, covered; /* covered: of those that were folded into it */
	uint32_t reads, small, tiny, ends, past, next, back, torn;
	uint32_t seen;	       /* writes of file.log that `fresh` knows of */
	uint32_t writer;       /* process that wrote before the first read */
	uint32_t next_skipper; /* use of the same file that skipped something, too */
	bool any;	       /* there was a read with a position */
	bool missed;	       /* `fresh` was emptied, as too many writes came before a read */
};

struct use_write {
	struct ranges covered_ranges;
	struct hist hist;
	int64_t bytes, time, first, stop, to, covered;
	int64_t dirty, dirty_at; /* bytes since the last sync, time of the last of them */
	uint32_t dirty_epoch;
	uint32_t writes, small, next, appends;
	uint32_t after
		[2]; /* what the thread called after a write, a sync that succeeded (use_watch.c) */
	bool any;
};

struct use_rest {
	struct ranges mapped_read, mapped_write;
	int64_t sync_time, synced_at, named_at, entries;
	uint64_t
		folder; /* key of the folder's name in which it was created or renamed; 0: it was not */
	uint32_t syncs, renamed, unsynced, truncated, direct, misaligned, shorts, ignored;
	uint32_t created, removed; /* 1; of folded ones how many */
	uint32_t folder_unsynced;  /* of folded ones */
};

struct use {
	uint32_t index; /* in use_at() */
	uint32_t process, file;
	uint32_t task; /* that came first, and its time */
	uint32_t threads;
	int64_t task_time;
	int64_t first, last, bytes, time, open_time, stat_time;
	uint32_t calls, errors, opens, missing, stats;
	uint32_t open_now, open_most;
	uint32_t files;	 /* 1, or those that were folded into it */
	uint32_t folder; /* of a folded one: of s->fold_names */
	uint8_t type;	 /* of its file */
	bool positions;	 /* it has some: no pipe, socket, device of characters */
	bool folded, inexact;
	/* NULL: nothing of it */
	struct use_read *read;
	struct use_write *write;
	struct use_rest *rest;
};

/* A write that readers of the file need not have seen yet. */
struct use_wrote {
	int64_t from, to;
};

/* A file that bytes were read from or written to, for all processes. */
struct use_file {
	struct ranges unread; /* written and not read since; owner: the use that wrote it */
	int64_t size;	      /* as far as it is known */
	int64_t read_stop;    /* nobody read beyond */
	int64_t dev;
	uint32_t number;
	uint32_t writer, writer_before; /* uses: the last one that wrote, and the last other one */
	uint32_t skippers;
	uint32_t epoch; /* syncs */
	struct use_wrote *log;
	uint32_t logged; /* writes ever put into the log */
	/* A read that came to the end while somebody was rewriting the file */
	int64_t end_pos, end_stop;
	uint32_t end_use, end_task;
	uint32_t session; /* the use that rewrites it, from its truncation to its close */
	bool size_exact, end_closed, end_more, end_whole;
};

/* By number of a file. */
struct use_file_state {
	struct use_file *data; /* NULL: nothing was read or written */
	uint32_t users;	       /* uses of it ever, */
	uint32_t live;	       /* and those that are not folded */
	uint32_t recent;       /* the one that was looked for last; USE_NONE: none yet */
	uint8_t type;
	uint8_t known : 1;     /* `type` and `name_only` are */
	uint8_t name_only : 1; /* its hash is in name_hashes */
	uint8_t opened : 1, created : 1;
};

/* A shared mapping. */
struct use_map {
	uint64_t at, len;
	uint32_t process, file;
};

#define USE_FD_APPEND 1
#define USE_FD_DIRECT 2
#define USE_FD_SYNC   4
#define USE_FD_EXEC   8 /* closed by exec */

struct use_fd {
	uint32_t use; /* USE_NONE: not open, as far as is known */
	uint32_t flags;
};

struct use_process {
	struct use_fd *fds;
	struct use_map *maps;
	uint32_t fd_cap, map_count, map_cap;
};

/* A call of which it matters what the thread calls next (use_watch.c). */
struct use_watch {
	uint32_t use;	   /* USE_NONE: none */
	uint32_t followed; /* the calls so far */
	int64_t pos, size;
	uint16_t op;
	uint8_t kind, steps;
	bool failed;
};

/* Time of a task in a use that has another one first, not yet in s->others. */
struct use_spent {
	uint32_t use; /* USE_NONE: free */
	int64_t time;
};

struct use_task {
	uint32_t file, use; /* the last; file is the number as the call has it */
	int64_t time;	    /* in calls on it, not yet added */
	uint64_t space;	    /* of names: machine and mount namespace, of the version below */
	int64_t version;
	/* the read before, of this task */
	uint32_t read_use;
	int64_t read_to;
	/* a short write that is not continued yet */
	uint32_t short_use;
	int64_t short_left, short_to;
	struct use_watch watches[USE_WATCHES];
	struct use_spent spent[USE_SPENT];
	uint32_t after_close; /* what it called after its last close that succeeded */
	uint32_t watching;
};

struct use_state {
	const struct feature_world *world;
	uint8_t acts[OP_CODE_MAX];
	struct use **chunks; /* of USE_CHUNK uses, which do not move */
	size_t use_count, chunk_cap;
	uint32_t *free_uses;
	size_t free_count, free_cap;
	struct map by_key; /* process << 32 | file -> use */
	struct use_file_state *files;
	size_t file_cap;
	struct use_process *processes;
	size_t process_cap;
	struct use_task *tasks;
	size_t task_cap;
	struct map
		others; /* use << 32 | task -> time, of tasks that are not the first of their use */
	struct map
		names; /* key of a name -> NAME_GONE, NAME_THERE or NAME_FILE + number of the file */
	struct map name_hashes; /* number of a file that is a name alone -> hash of the path */
	struct map folders;	/* key of a folder's name -> when it was last synced */
	struct map devices;	/* dev -> when its file system was last synced */
	struct map by_pid;	/* pid -> process */
	struct map folds;	/* (process, folder) -> use that has those that were folded */
	struct intern fold_names;
	int64_t synced_all; /* when the last sync() began */
	struct ranges_room room, scratch;
	size_t memory;	   /* of uses and what hangs on them */
	size_t memory_max; /* beyond it uses are folded, */
	size_t fold_at;	   /* the next time beyond this */
	size_t since_look; /* calls since it was looked at last */
};

enum { NAME_GONE, NAME_THERE, NAME_FILE };

static inline enum use_act use_act_of(const struct use_state *s, const struct feature_call *c)
{
	return (enum use_act)s->acts[c->op];
}

/* It ended and succeeded. */
static inline bool use_ok(const struct feature_call *c)
{
	return c->ret >= 0;
}

extern const struct feature feature_use;

/* ---- use.c ---- */

static inline struct use *use_at(const struct use_state *s, uint32_t i)
{
	assert(i < s->use_count);
	return &s->chunks[i / USE_CHUNK][i % USE_CHUNK];
}
/* An empty use; NULL: no memory. */
struct use *use_new(struct use_state *s);
/* The use of a file by a process; NULL: no memory. */
struct use *use_of(struct use_state *s, uint32_t process, uint32_t file);
/* Its parts, made when first asked for; NULL: no memory. */
struct use_read *use_reads(struct use_state *s, struct use *u);
struct use_write *use_writes(struct use_state *s, struct use *u);
struct use_rest *use_rests(struct use_state *s, struct use *u);
int use_file_state_slow(struct use_state *s, uint32_t file,
			struct use_file_state **ret) _must_check_;
static inline _must_check_ int use_file_state(struct use_state *s, uint32_t file,
					      struct use_file_state **ret)
{
	if (likely(file < s->file_cap && s->files[file].known)) {
		*ret = &s->files[file];
		return 0;
	}
	return use_file_state_slow(s, file, ret);
}
/* The same, and all that is still kept with the task. */
int use_task_finish(struct use_state *s, struct use_task *t, uint32_t task) _must_check_;

/* ---- use_data.c: fd_flags as use_fd_flags() gives them; pos may be FEATURE_NULL ---- */

int use_data_read(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c, int64_t pos, uint32_t fd_flags) _must_check_;
int use_data_write(struct use_state *s, struct use_task *t, struct use *u,
		   const struct feature_call *c, int64_t pos, uint32_t fd_flags) _must_check_;
int use_data_map(struct use_state *s, struct use *u, const struct feature_call *c) _must_check_;

/* ---- use_file.c ---- */

/* The file's state for all processes, NULL: no memory. */
struct use_file *use_file(struct use_state *s, uint32_t file);
/* The same, NULL where nothing was read or written yet. */
struct use_file *use_file_known(const struct use_state *s, uint32_t file);
void use_file_free(struct use_state *s, struct use_file_state *state);
/* How often it was synced. */
uint32_t use_file_epoch(const struct use_state *s, uint32_t file);
/* When a sync of all of its file system began; INT64_MIN: there was none. */
int64_t use_system_synced(const struct use_state *s, uint32_t file);
/* Bytes that the use wrote and nobody has synced. */
int64_t use_dirty(const struct use_state *s, const struct use *u);
void use_file_read(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos, int64_t want);
/* Somebody has read [from, to). */
void use_file_taken(struct use_state *s, struct use_file *f, int64_t from, int64_t to);
int use_file_wrote(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos) _must_check_;
int use_file_cut(struct use_state *s, struct use_file *f, struct use *u, int64_t size) _must_check_;
/* The process has no descriptor of it any more. */
void use_file_closed(struct use_state *s, struct use *u);
/* Moves what was written since from fresh to stale. */
void use_file_catch_up(struct use_state *s, const struct use_file *f, struct use_read *r);

/* ---- use_life.c ---- */

int use_life_call(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c) _must_check_;
/* A call without a file. */
int use_life_other(struct use_state *s, const struct feature_call *c) _must_check_;
/* A call on a name that nothing has. */
int use_life_missing(struct use_state *s, const struct use_task *t, struct use *u,
		     const struct feature_call *c) _must_check_;
/* A new version of the task. */
int use_life_task(struct use_state *s, struct use_task *t,
		  const struct feature_call *c) _must_check_;
/* Flags of a descriptor; one that is not known yet was open before. */
int use_fd_flags(struct use_state *s, struct use *u, uint32_t process, int64_t fd,
		 uint32_t *ret) _must_check_;
/* The number of the file that a call is about, also where it names it by a name alone. */
int use_named_file(struct use_state *s, const struct use_task *t, const struct feature_call *c,
		   uint32_t *ret) _must_check_;
/* A shared mapping, which msync() may name. */
int use_map_add(struct use_state *s, struct use *u, const struct feature_call *c) _must_check_;
void use_process_free(struct use_state *s, struct use_process *p);
/* Hash of the path of a file's version, 0: it has none. */
uint64_t use_name_hash(const struct use_state *s, int64_t version);
/* The process synced a file that it created or renamed, and nobody its folder. */
bool use_folder_unsynced(const struct use_state *s, const struct use *u);

/* ---- use_watch.c ---- */

/* Before a call is counted: what it means for those before. */
void use_watch_next(struct use_state *s, struct use_task *t, const struct feature_call *c);
/* After a write, sync or close. */
void use_watch_begin(struct use_task *t, const struct use *u, const struct feature_call *c,
		     enum use_act act);
/* A write that succeeded. */
int use_watch_short(struct use_state *s, struct use_task *t, const struct use *u,
		    const struct feature_call *c, int64_t pos) _must_check_;
/* A write that failed. */
void use_watch_short_failed(const struct use_state *s, struct use_task *t, const struct use *u,
			    const struct feature_call *c);
/* The thread does no more with its short write, if it is one of this use (USE_NONE: any). */
int use_watch_short_end(struct use_state *s, struct use_task *t, uint32_t use) _must_check_;

/* ---- use_fold.c ---- */

/* Folds uses that have ended. */
int use_fold(struct use_state *s) _must_check_;
void use_free_parts(struct use_state *s, struct use *u);

/* ---- use_rows.c ---- */

int use_rows(struct use_state *s, struct feature_rows *out) _must_check_;
