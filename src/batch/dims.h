/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dims.h: the dimension tables (thread, process, cgroup, host, file) in memory. Batches are applied in order, the last
 * row of an id wins, and rows are looked up by id. Live output, reports and engines get names from here.
 */
#pragma once

#include "batch/batch.h"
#include "batch/ids.h"

struct dims;

int dims_new(struct dims **ret) _must_check_;
void dims_free(struct dims *d);
DEFINE_CLEANUP(struct dims *, dims_free)

/*
 * For rows of several recordings: call this before the first row. What is one machine, control group or process to the
 * kernel then has one row, whose id dims_same() returns. Versions of threads and files remain separate for each
 * recording, with equal `task` and `inode`.
 */
void dims_unite(struct dims *d);
/* Sets when a recording began, in ns since the epoch, before its first row: of two rows for one process, the one of the
 * later recording wins. */
int dims_recording(struct dims *d, uint64_t recording, int64_t began) _must_check_;
/* Sets the ns to subtract from the times of a recording's rows, before its first row. Times that identify a row are not
 * changed. */
int dims_shift(struct dims *d, uint64_t recording, int64_t shift) _must_check_;
/* The id that represents a host, control group or process after merging; for threads and files that of the task or
 * generation. */
int64_t dims_same(const struct dims *d, enum table_id table, int64_t id);
/* Identifies the machine of a thread's, file's or control group's id: equal for all ids of one recording, and for two
 * recordings of one boot of a host if both contain its name. */
int64_t dims_machine(const struct dims *d, int64_t id);
/* Applies the rows of a batch of a dimension table (other batches are ignored). 0 or -ENOMEM. */
int dims_apply(struct dims *d, const struct batch *b) _must_check_;

/* All strings live as long as the dims do. Nulls: -1 for ids and numbers, INT64_MIN for times, {NULL, 0}. */
struct dims_thread {
	int64_t task, tid, tid_ns, process_id, cgroup_id, uid, pid_ns, mnt_ns, net_ns, since,
		stopped, born;
	struct bytes comm, exe;
};
struct dims_process {
	int64_t pid, pid_ns, ppid, started, stopped, status, host_id, born;
	struct bytes argv, exe;
};
struct dims_cgroup {
	struct bytes path, container, unit;
};
struct dims_host {
	int64_t cpus, clock_offset, clock_at, end_offset, end_at;
	struct bytes name, boot, kernel, machine;
};
struct dims_file {
	int64_t inode, dev, type, deleted, birth, family, proto, since;
	uint64_t ino, generation;
	uint64_t peer_ino; /* of a unix socket: ino of its peer; 0: unknown */
	bool name_only;
	struct bytes path, hostpath, base, argument, fs, local, peer;
};

struct dims_stack {
	int64_t kernel, depth;
	uint64_t cut;
	struct bytes names, frames, modules;
};

/* NULL if the id is unknown. */
const struct dims_stack *dims_stack(const struct dims *d, int64_t id);
const struct dims_thread *dims_thread(const struct dims *d, int64_t id);
const struct dims_process *dims_process(const struct dims *d, int64_t id);
const struct dims_cgroup *dims_cgroup(const struct dims *d, int64_t id);
const struct dims_host *dims_host(const struct dims *d, int64_t id);
/* Files are packed in memory: the row is unpacked into *room, which is returned. Its texts live as long as the dims do. */
const struct dims_file *dims_file(const struct dims *d, int64_t id, struct dims_file *room);

/*
 * dims_file_inode(), dims_latest_file() and dims_file() in one look-up: the newest version of the file that a version
 * belongs to. *ret_file is the generation, or the id itself if that is unknown. NULL if nothing is known.
 */
const struct dims_file *dims_newest_file(const struct dims *d, int64_t id, int64_t *ret_file,
					 struct dims_file *room);
/* The generation that a file's version belongs to, -1 if unknown. */
int64_t dims_file_inode(const struct dims *d, int64_t id);
bool dims_has(const struct dims *d, enum table_id table, int64_t id);

/*
 * Frees the rows of a table, for callers that have computed all they need from them. Their ids are unknown until a row
 * is applied again. Clocks and counts continue; dims_changed() no longer returns earlier changes. The texts of files
 * are freed with their rows.
 */
void dims_forget(struct dims *d, enum table_id table);

/* The number of ids that a table has of a recording (0: the first, or only one): their id_own() is 0 .. count-1, some
 * may be unknown. */
size_t dims_count(const struct dims *d, enum table_id table, uint64_t recording);
/*
 * Ids are dense, so that an array by id is about as long as the table. A damaged trace may claim otherwise, and must
 * not make weir exhaust memory: arrays must not hold ids from dims_ids_most() on. dims_dense() is the length of an
 * array by id: dims_count(), but at most dims_ids_most().
 */
size_t dims_ids_most(const struct dims *d, enum table_id table);
size_t dims_dense(const struct dims *d, enum table_id table, uint64_t recording);
/* The number of known ids, and the i-th of them in order of appearance: enumerates the rows, including those of several
 * traces. */
size_t dims_rows(const struct dims *d, enum table_id table);
int64_t dims_id_at(const struct dims *d, enum table_id table, size_t i);
/*
 * Enumerates the ids that were added or changed by rows applied after `clock` (dims_clock(); 0: all),
 * newest first. *pos starts at 0; false at the end.
 */
uint64_t dims_clock(const struct dims *d, enum table_id table);
bool dims_changed(const struct dims *d, enum table_id table, uint64_t clock, size_t *pos,
		  int64_t *ret_id);
/* The newest version of the thread, or of the file's generation, that a version belongs to; the id itself if unknown. */
int64_t dims_latest_thread(const struct dims *d, int64_t id);
int64_t dims_latest_file(const struct dims *d, int64_t id);
/*
 * The main thread of a process: its newest version, or its first version since the process last called exec, with the
 * name that exec set. NULL if unknown.
 */
const struct dims_thread *dims_leader(const struct dims *d, int64_t process_id, bool latest);
/* The latest path of the file's generation (inode), as people read it: path, or base/argument, or "unix:/x", "tcp
 * 10.0.0.1:80->10.0.0.2:4711", "pipe:[ino]"; never empty. */
struct bytes dims_file_name(const struct dims *d, int64_t file_id);
/* The address of a socket's peer. On the server's side the clients of a unix socket have no address: for these it is
 * the address that they connected to. {NULL, 0} if there is none. */
struct bytes dims_peer(const struct dims_file *f);
/*
 * A value that both ends of a connection share and different connections practically do not: made of both inodes of a
 * unix socket, or of both addresses. 53 bits, so that a double holds it; 0: not a connection, or only one address is
 * known. Loopback addresses belong to one machine; network namespaces are not distinguished.
 */
uint64_t dims_connection(const struct dims *d, int64_t file_id, const struct dims_file *f);
/* dims_file_name() for this version: the name at the time of the call that refers to it. */
struct bytes dims_file_version_name(const struct dims *d, int64_t file_id);
