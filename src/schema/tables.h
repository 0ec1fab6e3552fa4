/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: every table and column, declared once. The batches, the trace file, the engine's SQL names,
 * JSON, and docs are generated from this list or checked against it. Names are never reserved words of SQL.
 *
 *   COLUMN(TABLE, table, NAME, name, type, unit, "what it holds")
 *
 * The unit ">thread" marks a reference: the column holds ids of that table, which enrich makes of a source's keys. ">op", in a
 * table that is made after recording: the column holds a call's row_id.
 *
 * Types (how a value is held in memory and what it means):
 *   INT    int64_t                      UINT   uint64_t bits in an int64_t (addresses, raw arguments)
 *   ID     int64_t >= 0, the id of a row of a dimension table, null where there is none
 *   TIME   int64_t ns since the epoch   DUR    int64_t ns
 *   SIZE   int64_t bytes                CODE   int64_t, a word of the vocabulary of that name (schema/vocab.h)
 *   BYTES  a byte string, not necessarily UTF-8
 * The order here is the order on the screen; the number of a column in the file never changes, so
 * new columns are added at the end of their table.
 */
#pragma once

/*
 * TABLE(TABLE, table, KIND, START, DUR, STOP, "one row is") in the order of their codes; codes are never reused.
 *
 * Kinds:
 *   EVENTS     rows happen: they are kept in the order in which they ended
 *   DIMENSION  rows describe: the first column is the id, the last row of an id wins, and a row is stored
 *              before the first row that refers to it. Tables that others refer to stand before them in
 *              SCHEMA_DIMENSIONS.
 *   SUMS       rows are made by the store from a block of events
 *   MADE       rows are made from a trace after it was recorded, and appended to it as a whole, which replaces what was made
 *              before (store/made/made.h); they keep the order in which they were given
 * START, DUR and STOP are the columns that say when a row began, how long it took and when it ended; NO_COLUMN
 * where there is none. A row with neither DUR nor STOP is a point in time.
 */
#define SCHEMA_TABLES(TABLE)                                                                     \
	TABLE(OP, op, EVENTS, OP_START, OP_DUR, NO_COLUMN, "one operation of one thread")        \
	TABLE(THREAD, thread, DIMENSION, THREAD_SINCE, NO_COLUMN, NO_COLUMN,                     \
	      "one version of a thread")                                                         \
	TABLE(PROCESS, process, DIMENSION, PROCESS_STARTED, NO_COLUMN, NO_COLUMN, "one process") \
	TABLE(CGROUP, cgroup, DIMENSION, NO_COLUMN, NO_COLUMN, NO_COLUMN, "one control group")   \
	TABLE(HOST, host, DIMENSION, NO_COLUMN, NO_COLUMN, NO_COLUMN, "one machine, one boot")   \
	TABLE(FILE, file, DIMENSION, FILE_SINCE, NO_COLUMN, NO_COLUMN,                           \
	      "one version of a file or socket: one generation under one name")                  \
	TABLE(SUMMARY, summary, SUMS, SUMMARY_WINDOW, NO_COLUMN, NO_COLUMN,                      \
	      "the sums of one block of op: by 100 ms, op, thread and file")                     \
	TABLE(LOSS, loss, EVENTS, LOSS_START, NO_COLUMN, LOSS_STOP, "something that is missing") \
	TABLE(MARK, mark, EVENTS, MARK_AT, NO_COLUMN, NO_COLUMN,                                 \
	      "something that the user, a trigger or the recorder marked")                       \
	SCHEMA_EXTRA_TABLES(TABLE)

/* A test adds a table by a header of its own (-DSCHEMA_EXTRA) and changes nothing else: tests/table. */
#ifdef SCHEMA_EXTRA
#	include SCHEMA_EXTRA
#else
#	define SCHEMA_EXTRA_TABLES(TABLE)
#endif

/* The dimension tables, each behind those that its rows refer to: the order in which rows are enriched and stored. */
#define SCHEMA_DIMENSIONS                                                         \
	{                                                                         \
		TABLE_HOST, TABLE_CGROUP, TABLE_PROCESS, TABLE_THREAD, TABLE_FILE \
	}

#define SCHEMA_OP(C)                                                                            \
	C(OP, op, START, start, TIME, "ns",                                                     \
	  "when the call was entered; null where that was before recording")                    \
	C(OP, op, DUR, dur, DUR, "ns",                                                          \
	  "from enter to exit; so far, where it is still running (no start: at least)")         \
	C(OP, op, THREAD_ID, thread_id, ID, ">thread", "the thread's version")                  \
	C(OP, op, TID, tid, INT, "", "the thread's id in the recorder's pid namespace")         \
	C(OP, op, CPU, cpu, INT, "", "the CPU on which the call ended")                         \
	C(OP, op, KIND, kind, CODE, "", "syscall, io_uring, libaio, fault")                     \
	C(OP, op, OP, op, CODE, "", "the operation: read, openat, ...")                         \
	C(OP, op, CLASS, class, CODE, "", "data, meta, sync, net, process, wait, other")        \
	C(OP, op, RET, ret, INT, "",                                                            \
	  "what the call returned (-errno on failure); null while running")                     \
	C(OP, op, ERR, err, CODE, "", "the errno, null on success")                             \
	C(OP, op, BYTES, bytes, SIZE, "bytes",                                                  \
	  "bytes moved, 0 for calls that move none or only look (MSG_PEEK)")                    \
	C(OP, op, FD, fd, INT, "",                                                              \
	  "the descriptor that the call names or returns; null for the working directory")      \
	C(OP, op, FILE_ID, file_id, ID, ">file", "the file or socket")                          \
	C(OP, op, POS, pos, INT, "bytes",                                                       \
	  "where in the file the call began; of lseek where it led")                            \
	C(OP, op, SIZE, size, SIZE, "bytes",                                                    \
	  "bytes asked for; the sum of the parts of a vectored call")                           \
	C(OP, op, FLAGS, flags, UINT, "", "the call's flags, words depend on op")               \
	C(OP, op, FD2, fd2, INT, "",                                                            \
	  "second descriptor (splice, copy_file_range, dup2, socketpair, ...); null for the "   \
	  "working directory")                                                                  \
	C(OP, op, FILE2_ID, file2_id, ID, ">file", "second file (rename, link, splice, ...)")   \
	C(OP, op, POS2, pos2, INT, "bytes", "position in the second file")                      \
	C(OP, op, A0, a0, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, A1, a1, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, A2, a2, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, A3, a3, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, A4, a4, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, A5, a5, UINT, "", "raw argument that no other column holds")                  \
	C(OP, op, PEER_ID, peer_id, ID, ">file",                                                \
	  "the file row that holds the address given to the call (sendto, connect, ...)")       \
	C(OP, op, STATUS, status, UINT, "",                                                     \
	  "bits: unfinished, interrupted, denied, contested, held, ...")                        \
	C(OP, op, HELD, held, DUR, "ns",                                                        \
	  "part of dur for which weir held the program (--lossless)")                           \
	C(OP, op, DIR_ID, dir_id, ID, ">file",                                                  \
	  "folder of a descriptor from which a relative path starts, where file.base does not " \
	  "say it")

#define SCHEMA_THREAD(C)                                                                           \
	C(THREAD, thread, ID, id, ID, ">thread", "this version")                                   \
	C(THREAD, thread, TASK, task, INT, ">thread",                                              \
	  "the thread over its versions: the id of its first version")                             \
	C(THREAD, thread, TID, tid, INT, "", "thread id in the recorder's pid namespace")          \
	C(THREAD, thread, TID_NS, tid_ns, INT, "", "thread id in its own pid namespace")           \
	C(THREAD, thread, PROCESS_ID, process_id, ID, ">process", "its process")                   \
	C(THREAD, thread, COMM, comm, BYTES, "", "its name")                                       \
	C(THREAD, thread, EXE, exe, BYTES, "", "the program it runs, path as the process sees it") \
	C(THREAD, thread, CGROUP_ID, cgroup_id, ID, ">cgroup", "its control group")                \
	C(THREAD, thread, UID, uid, INT, "", "effective user id in the initial user namespace")    \
	C(THREAD, thread, PID_NS, pid_ns, INT, "", "inode number of its pid namespace")            \
	C(THREAD, thread, MNT_NS, mnt_ns, INT, "", "inode number of its mount namespace")          \
	C(THREAD, thread, NET_NS, net_ns, INT, "", "inode number of its network namespace")        \
	C(THREAD, thread, SINCE, since, TIME, "ns", "from when this version holds")                \
	C(THREAD, thread, STOPPED, stopped, TIME, "ns",                                            \
	  "when the thread ended; null while it lives")                                            \
	C(THREAD, thread, BORN, born, DUR, "ns",                                                   \
	  "when the kernel made it, since boot (time asleep counted): the same in every recording")

#define SCHEMA_PROCESS(C)                                                                    \
	C(PROCESS, process, ID, id, ID, ">process", "dense id")                              \
	C(PROCESS, process, PID, pid, INT, "", "process id in the recorder's pid namespace") \
	C(PROCESS, process, PID_NS, pid_ns, INT, "", "process id in its own pid namespace")  \
	C(PROCESS, process, PPID, ppid, INT, "", "its parent's process id")                  \
	C(PROCESS, process, ARGV, argv, BYTES, "", "arguments, separated by NUL")            \
	C(PROCESS, process, EXE, exe, BYTES, "", "the program it runs")                      \
	C(PROCESS, process, STARTED, started, TIME, "ns", "when it was forked")              \
	C(PROCESS, process, STOPPED, stopped, TIME, "ns",                                    \
	  "when its last thread ended; null while it lives")                                 \
	C(PROCESS, process, STATUS, status, INT, "", "wait status, null while it lives")     \
	C(PROCESS, process, HOST_ID, host_id, ID, ">host", "its machine")                    \
	C(PROCESS, process, BORN, born, DUR, "ns",                                           \
	  "when the kernel made it, since boot (time asleep counted): the same in every recording")

#define SCHEMA_CGROUP(C)                                                                          \
	C(CGROUP, cgroup, ID, id, ID, ">cgroup", "dense id")                                      \
	C(CGROUP, cgroup, KERNEL_ID, kernel_id, UINT, "", "the kernel's id (inode number)")       \
	C(CGROUP, cgroup, PATH, path, BYTES, "", "path under the cgroup mount")                   \
	C(CGROUP, cgroup, CONTAINER, container, BYTES, "", "container id, null where it is none") \
	C(CGROUP, cgroup, UNIT, unit, BYTES, "", "systemd unit, null where it is none")

#define SCHEMA_HOST(C)                                                    \
	C(HOST, host, ID, id, ID, ">host", "dense id")                    \
	C(HOST, host, NAME, name, BYTES, "", "host name")                 \
	C(HOST, host, BOOT, boot, BYTES, "", "boot id")                   \
	C(HOST, host, KERNEL, kernel, BYTES, "", "release of the kernel") \
	C(HOST, host, MACHINE, machine, BYTES, "", "architecture")        \
	C(HOST, host, CPUS, cpus, INT, "", "CPUs online")                 \
	C(HOST, host, CLOCK_OFFSET, clock_offset, DUR, "ns",              \
	  "wall time minus monotonic time when recording began: added to every time")       \
	C(HOST, host, CLOCK_AT, clock_at, TIME, "ns", "when clock_offset was measured")     \
	C(HOST, host, END_OFFSET, end_offset, DUR, "ns",                                    \
	  "the same when recording ended: how far the wall clock was set, or drifted, since")  \
	C(HOST, host, END_AT, end_at, TIME, "ns",                                           \
	  "when end_offset was measured; null where recording did not end in order")

#define SCHEMA_FILE(C)                                                                          \
	C(FILE, file, ID, id, ID, ">file", "this version")                                      \
	C(FILE, file, INODE, inode, INT, ">file",                                               \
	  "the generation over its versions: the id of its first version")                      \
	C(FILE, file, DEV, dev, INT, "", "device, major << 20 | minor (the kernel's dev_t)")    \
	C(FILE, file, INO, ino, UINT, "", "inode number")                                       \
	C(FILE, file, GENERATION, generation, UINT, "",                                         \
	  "the inode's generation and weir's own counter of re-use")                            \
	C(FILE, file, BIRTH, birth, TIME, "ns",                                                 \
	  "when it was created, where the file system knows")                                   \
	C(FILE, file, TYPE, type, CODE, "",                                                     \
	  "regular, directory, symlink, char, block, pipe, socket, anon, unknown")              \
	C(FILE, file, FS, fs, BYTES, "", "file system type: ext4, overlay, tmpfs, ...")         \
	C(FILE, file, DELETED, deleted, TIME, "ns",                                             \
	  "when its last name went; null while it has one")                                     \
	C(FILE, file, PATH, path, BYTES, "", "path as the process sees it, under its own root") \
	C(FILE, file, HOSTPATH, hostpath, BYTES, "",                                            \
	  "path as the recorder sees it; null where no mount of its own shows the file")        \
	C(FILE, file, BASE, base, BYTES, "", "folder that a relative argument starts from")     \
	C(FILE, file, ARGUMENT, argument, BYTES, "",                                            \
	  "the path argument as given, where relative or failed")                               \
	C(FILE, file, FAMILY, family, CODE, "", "socket address family, null for files")        \
	C(FILE, file, PROTO, proto, INT, "", "socket type << 16 | protocol, null for files")    \
	C(FILE, file, LOCAL, local, BYTES, "",                                                  \
	  "local address: 10.0.0.1:80, [::1]:80, unix:/path, unix:@name")                       \
	C(FILE, file, PEER, peer, BYTES, "", "peer address")                                    \
	C(FILE, file, SINCE, since, TIME, "ns", "from when this version holds")                 \
	C(FILE, file, NAME_ONLY, name_only, INT, "",                                            \
	  "1: known by name alone (a failed open, a stat), no inode")

#define SCHEMA_SUMMARY(C)                                                                        \
	C(SUMMARY, summary, BLOCK, block, INT, "", "sequence number of the block of op")         \
	C(SUMMARY, summary, WINDOW, window_start, TIME, "ns",                                    \
	  "start of the 100 ms in which the calls ended")                                        \
	C(SUMMARY, summary, OP, op, CODE, "", "the operation")                                   \
	C(SUMMARY, summary, THREAD_ID, thread_id, ID, ">thread", "the thread's version")         \
	C(SUMMARY, summary, FILE_ID, file_id, ID, ">file", "the file, null where there is none") \
	C(SUMMARY, summary, ERR, err, CODE, "", "the errno, null on success")                    \
	C(SUMMARY, summary, CLASS, class, CODE, "",                                              \
	  "the class (an empty pipe's read waits, a file's does not)")                           \
	C(SUMMARY, summary, CALLS, calls, INT, "", "rows")                                       \
	C(SUMMARY, summary, BYTES, bytes, SIZE, "bytes", "sum of bytes")                         \
	C(SUMMARY, summary, TIME, time, DUR, "ns", "sum of dur")                                 \
	C(SUMMARY, summary, MAX, max_dur, DUR, "ns", "largest dur")                              \
	C(SUMMARY, summary, HIST, hist, BYTES, "", "packed histogram of dur (hist/hist.h)")      \
	C(SUMMARY, summary, FILE2_ID, file2_id, ID, ">file",                                     \
	  "second file of calls that move bytes from one file to another")

#define SCHEMA_LOSS(C)                                                                 \
	C(LOSS, loss, START, start, TIME, "ns", "from")                                \
	C(LOSS, loss, STOP, stop, TIME, "ns", "until")                                 \
	C(LOSS, loss, CPU, cpu, INT, "", "where, null for everywhere")                 \
	C(LOSS, loss, THREAD_ID, thread_id, ID, ">thread", "whose, null for anyone's") \
	C(LOSS, loss, CAUSE, cause, CODE, "",                                          \
	  "ring_full, recursion, compat, unpaired, disk_full, torn, corrupt, ...")     \
	C(LOSS, loss, EVENTS, events, INT, "", "how many, null where it cannot be known")

#define SCHEMA_MARK(C)                                                               \
	C(MARK, mark, AT, time, TIME, "ns", "when")                                  \
	C(MARK, mark, NAME, name, BYTES, "",                                         \
	  "what: weir.command, weir.selection, weir.failed, ... or the user's word") \
	C(MARK, mark, TEXT, text, BYTES, "", "anything more")
