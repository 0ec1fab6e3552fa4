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

#include "schema/feature_tables.h"
#include "schema/flow_tables.h"
#include "schema/span_tables.h"

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
#define SCHEMA_OWN_TABLES(TABLE)                                                                 \
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
	TABLE(POLL, poll, EVENTS, POLL_START, POLL_DUR, NO_COLUMN,                               \
	      "one descriptor of a call that slept until one of several was ready")              \
	SCHEMA_FEATURE_TABLES(TABLE)                                                             \
	TABLE(REQUEST, block, EVENTS, REQUEST_START, REQUEST_DUR, NO_COLUMN,                     \
	      "one request to a block device")                                                   \
	TABLE(REQUEST_PART, block_part, EVENTS, REQUEST_PART_START, REQUEST_PART_DUR, NO_COLUMN, \
	      "what a request to a block device holds of one file and one owner")                \
	TABLE(NET, net, EVENTS, NET_START, NET_DUR, NO_COLUMN,                                   \
	      "something that went wrong on the wire, or a segment that was sent again")         \
	TABLE(NET_SAMPLE, net_sample, EVENTS, NET_SAMPLE_START, NET_SAMPLE_DUR, NO_COLUMN,       \
	      "what a TCP connection moved and how long it took, in 100 ms or more")             \
	TABLE(SCHED, sched, EVENTS, SCHED_START, SCHED_DUR, NO_COLUMN,                           \
	      "a time for which a recorded thread had no CPU")                                   \
	TABLE(IRQ, irq, EVENTS, IRQ_START, IRQ_DUR, NO_COLUMN,                                   \
	      "runs of one interrupt handler on one CPU, in 100 ms or more")                     \
	TABLE(MEM, mem, EVENTS, MEM_START, MEM_DUR, NO_COLUMN,                                   \
	      "pages that one thread allocated and freed, in 100 ms or more")                    \
	TABLE(STACK, stack, DIMENSION, NO_COLUMN, NO_COLUMN, NO_COLUMN,                          \
	      "one stack of functions that were running or waiting")                             \
	SCHEMA_SPAN_TABLES(TABLE)                                                                \
	SCHEMA_FLOW_TABLES(TABLE)

#define SCHEMA_TABLES(TABLE)     \
	SCHEMA_OWN_TABLES(TABLE) \
	SCHEMA_EXTRA_TABLES(TABLE)

/* A test adds a table by a header of its own (-DSCHEMA_EXTRA) and changes nothing else: tests/table. */
#ifdef SCHEMA_EXTRA
#	include SCHEMA_EXTRA
#else
#	define SCHEMA_EXTRA_TABLES(TABLE)
#endif

/* The dimension tables, each behind those that its rows refer to: the order in which rows are enriched and stored. */
#define SCHEMA_DIMENSIONS                                                                      \
	{                                                                                      \
		TABLE_HOST, TABLE_CGROUP, TABLE_PROCESS, TABLE_THREAD, TABLE_FILE, TABLE_STACK \
	}

#define SCHEMA_OP(C)                                                                             \
	C(OP, op, START, start, TIME, "ns",                                                      \
	  "when the call was entered; null where that was before recording")                     \
	C(OP, op, DUR, dur, DUR, "ns",                                                           \
	  "from enter to exit; so far, where it is still running (no start: at least)")          \
	C(OP, op, THREAD_ID, thread_id, ID, ">thread", "the thread's version")                   \
	C(OP, op, TID, tid, INT, "", "the thread's id in the recorder's pid namespace")          \
	C(OP, op, CPU, cpu, INT, "", "the CPU on which the call ended")                          \
	C(OP, op, KIND, kind, CODE, "", "syscall, io_uring, libaio, fault")                      \
	C(OP, op, OP, op, CODE, "", "the operation: read, openat, ...")                          \
	C(OP, op, CLASS, class, CODE, "", "data, meta, sync, net, process, wait, other")         \
	C(OP, op, RET, ret, INT, "",                                                             \
	  "what the call returned (-errno on failure); null while running")                      \
	C(OP, op, ERR, err, CODE, "", "the errno, null on success")                              \
	C(OP, op, BYTES, bytes, SIZE, "bytes",                                                   \
	  "bytes moved, 0 for calls that move none or only look (MSG_PEEK)")                     \
	C(OP, op, FD, fd, INT, "",                                                               \
	  "the descriptor that the call names or returns; null for the working directory")       \
	C(OP, op, FILE_ID, file_id, ID, ">file", "the file or socket")                           \
	C(OP, op, POS, pos, INT, "bytes",                                                        \
	  "where in the file the call began; of lseek where it led; of a lock by fcntl "         \
	  "where it begins")                                                                     \
	C(OP, op, SIZE, size, SIZE, "bytes",                                                     \
	  "bytes asked for; the sum of the parts of a vectored call; of a lock by fcntl "        \
	  "its length, 0: to the end")                                                           \
	C(OP, op, FLAGS, flags, UINT, "",                                                        \
	  "the call's flags, words depend on op; of a lock by fcntl 0: shared, "                 \
	  "1: exclusive, 2: unlocked")                                                           \
	C(OP, op, FD2, fd2, INT, "",                                                             \
	  "second descriptor (splice, copy_file_range, dup2, socketpair, ...); null for the "    \
	  "working directory")                                                                   \
	C(OP, op, FILE2_ID, file2_id, ID, ">file", "second file (rename, link, splice, ...)")    \
	C(OP, op, POS2, pos2, INT, "bytes", "position in the second file")                       \
	C(OP, op, A0, a0, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, A1, a1, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, A2, a2, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, A3, a3, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, A4, a4, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, A5, a5, UINT, "", "raw argument that no other column holds")                   \
	C(OP, op, PEER_ID, peer_id, ID, ">file",                                                 \
	  "the file row that holds the address given to the call (sendto, connect, ...)")        \
	C(OP, op, STATUS, status, UINT, "",                                                      \
	  "bits: unfinished, interrupted, denied, contested, held, ...")                         \
	C(OP, op, HELD, held, DUR, "ns",                                                         \
	  "part of dur for which weir held the program (--lossless)")                            \
	C(OP, op, DIR_ID, dir_id, ID, ">file",                                                   \
	  "folder of a descriptor from which a relative path starts, where file.base does not "  \
	  "say it")                                                                              \
	C(OP, op, RUNQ, runq, DUR, "ns",                                                         \
	  "part of dur for which the thread was ready to run and had no CPU; null where it "     \
	  "never gave its CPU up or lost it, or the kernel does not count; with --phases by "    \
	  "weir's own clock, 0 where it never did")                                              \
	C(OP, op, WAKER_ID, waker_id, ID, ">thread",                                             \
	  "the thread that ended a wait for a futex; null where it is not recorded, or not "     \
	  "certain")                                                                             \
	C(OP, op, FILE_SIZE, file_size, SIZE, "bytes",                                           \
	  "of an open that succeeded: the size of the regular file, after O_TRUNC")              \
	C(OP, op, IO_WAIT, io_wait, DUR, "ns",                                                   \
	  "part of dur for which the thread was blocked on I/O, as the kernel counts it; "       \
	  "io_wait + sleep + runq + cpu_time = dur; null without --phases, and where not all "   \
	  "of it was seen")                                                                      \
	C(OP, op, SLEEP, sleep, DUR, "ns",                                                       \
	  "part of dur for which the thread was blocked otherwise: a timer, a lock, a peer, "    \
	  "a journal; null as io_wait")                                                          \
	C(OP, op, CPU_TIME, cpu_time, DUR, "ns",                                                 \
	  "part of dur for which the thread ran, interrupts and --lossless's delays included; "  \
	  "null as io_wait")                                                                     \
	C(OP, op, MISSES, misses, INT, "",                                                       \
	  "folios that the call added to the page cache: what it did not find there, and "       \
	  "read-ahead; of a write what it wrote; null without --phases")                         \
	C(OP, op, READ_BYTES, read_bytes, SIZE, "bytes",                                         \
	  "submitted to devices for the call to read, read-ahead included; null without "        \
	  "--phases, or where the kernel does not count")                                        \
	C(OP, op, IO_QUEUED, io_queued, DUR, "ns",                                               \
	  "part of io_wait in which requests of the call were queued and none was in a device; " \
	  "null without --with phases,block, and where not all waits or requests were kept")     \
	C(OP, op, IO_DEVICE, io_device, DUR, "ns",                                               \
	  "part of io_wait in which a request of the call was in a device; null as io_queued")   \
	C(OP, op, STACK_ID, stack_id, ID, ">stack",                                              \
	  "the program's functions that led to the call (record --stacks); null where none was " \
	  "taken")                                                                               \
	C(OP, op, KSTACK_ID, kstack_id, ID, ">stack",                                            \
	  "the kernel's functions in which the call slept for longest; null where it did not, "  \
	  "or no stack was taken")

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
	  "when the kernel made it, since boot (time asleep counted): the same in every "          \
	  "recording")                                                                             \
	C(THREAD, thread, RUNQ, runq, DUR, "ns",                                                   \
	  "time for which it was ready to run and had no CPU, in calls or not, from since until "  \
	  "its next version, its end or the end of recording")                                     \
	C(THREAD, thread, UNRECORDED, unrecorded, INT, "",                                         \
	  "1: the selection leaves it out, its calls were not recorded: it owns requests to "      \
	  "devices (thread of the kernel: 2); null: recorded")

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
	  "when the kernel made it, since boot (time asleep counted): the same in every "    \
	  "recording")

#define SCHEMA_CGROUP(C)                                                                          \
	C(CGROUP, cgroup, ID, id, ID, ">cgroup", "dense id")                                      \
	C(CGROUP, cgroup, KERNEL_ID, kernel_id, UINT, "", "the kernel's id (inode number)")       \
	C(CGROUP, cgroup, PATH, path, BYTES, "", "path under the cgroup mount")                   \
	C(CGROUP, cgroup, CONTAINER, container, BYTES, "", "container id, null where it is none") \
	C(CGROUP, cgroup, UNIT, unit, BYTES, "", "systemd unit, null where it is none")

#define SCHEMA_HOST(C)                                                                        \
	C(HOST, host, ID, id, ID, ">host", "dense id")                                        \
	C(HOST, host, NAME, name, BYTES, "", "host name")                                     \
	C(HOST, host, BOOT, boot, BYTES, "", "boot id")                                       \
	C(HOST, host, KERNEL, kernel, BYTES, "", "release of the kernel")                     \
	C(HOST, host, MACHINE, machine, BYTES, "", "architecture")                            \
	C(HOST, host, CPUS, cpus, INT, "", "CPUs online")                                     \
	C(HOST, host, CLOCK_OFFSET, clock_offset, DUR, "ns",                                  \
	  "wall time minus monotonic time when recording began: added to every time")         \
	C(HOST, host, CLOCK_AT, clock_at, TIME, "ns", "when clock_offset was measured")       \
	C(HOST, host, END_OFFSET, end_offset, DUR, "ns",                                      \
	  "the same when recording ended: how far the wall clock was set, or drifted, since") \
	C(HOST, host, END_AT, end_at, TIME, "ns",                                             \
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
	  "1: known by name alone (a failed open, a stat), no inode")                           \
	C(FILE, file, SIZE, size, SIZE, "bytes",                                                \
	  "size of a regular file when this version was first seen")                            \
	C(FILE, file, PEER_INO, peer_ino, UINT, "",                                             \
	  "of a unix socket: ino of the other end; null before that is accepted, and where it " \
	  "was gone")

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

#define SCHEMA_LOSS(C)                                                                    \
	C(LOSS, loss, START, start, TIME, "ns", "from")                                   \
	C(LOSS, loss, STOP, stop, TIME, "ns", "until")                                    \
	C(LOSS, loss, CPU, cpu, INT, "", "where, null for everywhere")                    \
	C(LOSS, loss, THREAD_ID, thread_id, ID, ">thread", "whose, null for anyone's")    \
	C(LOSS, loss, CAUSE, cause, CODE, "",                                             \
	  "ring_full, recursion, compat, unpaired, disk_full, torn, corrupt, ...")        \
	C(LOSS, loss, EVENTS, events, INT, "", "how many, null where it cannot be known") \
	C(LOSS, loss, OF, of_table, BYTES, "",                                            \
	  "the table that lacks rows, or events in them; null: op")

#define SCHEMA_MARK(C)                                                               \
	C(MARK, mark, AT, time, TIME, "ns", "when")                                  \
	C(MARK, mark, NAME, name, BYTES, "",                                         \
	  "what: weir.command, weir.selection, weir.failed, ... or the user's word") \
	C(MARK, mark, TEXT, text, BYTES, "", "anything more")

#define SCHEMA_POLL(C)                                                                            \
	C(POLL, poll, START, start, TIME, "ns", "of the call, with thread_id: that of its row")   \
	C(POLL, poll, DUR, dur, DUR, "ns", "of the call")                                         \
	C(POLL, poll, THREAD_ID, thread_id, ID, ">thread", "the thread's version")                \
	C(POLL, poll, OP, op, CODE, "", "poll, ppoll, select, pselect6, epoll_wait, ...")         \
	C(POLL, poll, FD, fd, INT, "",                                                            \
	  "the descriptor; null where epoll_wait returned data that is found nowhere, or twice")  \
	C(POLL, poll, FILE_ID, file_id, ID, ">file",                                              \
	  "its file: that which an epoll watches, else that of the descriptor as the call ended") \
	C(POLL, poll, EVENTS, events, UINT, "", "waited for: bits of poll(2) or epoll_ctl(2)")    \
	C(POLL, poll, REVENTS, revents, UINT, "",                                                 \
	  "what the call found; null where nothing was ready, and it was waited on")              \
	C(POLL, poll, LEFT_OUT, left_out, INT, "",                                                \
	  "descriptors of the call that have no row, which has 8 at most; null: not counted")

/* Of a request; columns of the largest part stand for all of it where it has several: table block_part has each. */
#define SCHEMA_REQUEST(C)                                                                          \
	C(REQUEST, block, START, start, TIME, "ns",                                                \
	  "when its first bio was queued; of a request under way when recording began when it "    \
	  "was "                                                                                   \
	  "taken, to 0.1 ms")                                                                      \
	C(REQUEST, block, DUR, dur, DUR, "ns",                                                     \
	  "from there to its completion; null: not complete when recording ended")                 \
	C(REQUEST, block, REQUEST, request, INT, "", "its number in this recording")               \
	C(REQUEST, block, DEV, dev, INT, "",                                                       \
	  "the whole disk, major << 20 | minor (the kernel's dev_t)")                              \
	C(REQUEST, block, DISK, disk, BYTES, "", "its name: sda, nvme0n1, dm-0, loop0")            \
	C(REQUEST, block, KIND, kind, CODE, "", "read, write, flush, discard")                     \
	C(REQUEST, block, SECTOR, sector, INT, "512 bytes", "where on the disk it begins")         \
	C(REQUEST, block, BYTES, bytes, SIZE, "bytes", "completed")                                \
	C(REQUEST, block, Q2G, q2g, DUR, "ns",                                                     \
	  "from queued until the kernel had a request for it (btt's Q2G); null: no request is "    \
	  "taken (of a device that takes bios), or not seen")                                      \
	C(REQUEST, block, G2I, g2i, DUR, "ns",                                                     \
	  "from there until it was given to the scheduler; null: it was issued without one")       \
	C(REQUEST, block, I2D, i2d, DUR, "ns",                                                     \
	  "from there, or from the request where it had no scheduler, until it was last issued "   \
	  "to "                                                                                    \
	  "the driver; of a write without data, which never is, until its flush was done")         \
	C(REQUEST, block, D2C, d2c, DUR, "ns", "in the device: from there until it completed")     \
	C(REQUEST, block, ISSUED, issued, TIME, "ns", "when it was last issued to the driver")     \
	C(REQUEST, block, MERGES, merges, INT, "", "bios and requests that joined it")             \
	C(REQUEST, block, REQUEUES, requeues, INT, "", "how often the driver gave it back")        \
	C(REQUEST, block, ERR, err, CODE, "", "the errno, null on success")                        \
	C(REQUEST, block, THREAD_ID, thread_id, ID, ">thread",                                     \
	  "the owner of the largest part; null: not known")                                        \
	C(REQUEST, block, VIA, via, CODE, "", "how the owner is known, as in block_part")          \
	C(REQUEST, block, ORIGIN, origin, CODE, "", "of the largest part, as in block_part")       \
	C(REQUEST, block, FILE_ID, file_id, ID, ">file",                                           \
	  "the file of the largest part; null: of no file, or not known")                          \
	C(REQUEST, block, POS, pos, INT, "bytes", "where in that file the part begins")            \
	C(REQUEST, block, FILES, files, INT, "", "how many files it is for")                       \
	C(REQUEST, block, OWNERS, owners, INT, "", "how many owners it has")                       \
	C(REQUEST, block, OP_THREAD_ID, op_thread_id, ID, ">thread",                               \
	  "the thread whose call submitted it or, of a flush, requested it last; null: no "        \
	  "recorded call")                                                                         \
	C(REQUEST, block, OP_START, op_start, TIME, "ns",                                          \
	  "when that call began: op.start, with op.thread_id")                                     \
	C(REQUEST, block, UPPER, upper, INT, "",                                                   \
	  "the request to the device above (dm, md, loop) that this one is for")                   \
	C(REQUEST, block, SYNC, sync, INT, "", "1: somebody waits for it (REQ_SYNC)")              \
	C(REQUEST, block, META, meta, INT, "", "1: metadata, as the file system says (REQ_META)")  \
	C(REQUEST, block, FUA, fua, INT, "", "1: to be on the medium when it completes (REQ_FUA)") \
	C(REQUEST, block, PREFLUSH, preflush, INT, "", "1: the cache is flushed before it")        \
	C(REQUEST, block, READAHEAD, readahead, INT, "", "1: read ahead (REQ_RAHEAD)")             \
	C(REQUEST, block, UNCOUNTED, uncounted, INT, "",                                           \
	  "1: the statistics of its device leave it out")

#define SCHEMA_REQUEST_PART(C)                                                                     \
	C(REQUEST_PART, block_part, START, start, TIME, "ns", "as of its request")                 \
	C(REQUEST_PART, block_part, DUR, dur, DUR, "ns", "as of its request")                      \
	C(REQUEST_PART, block_part, REQUEST, request, INT, "",                                     \
	  "number of the request, as in block")                                                    \
	C(REQUEST_PART, block_part, DEV, dev, INT, "", "as of its request")                        \
	C(REQUEST_PART, block_part, DISK, disk, BYTES, "", "as of its request")                    \
	C(REQUEST_PART, block_part, KIND, kind, CODE, "", "as of its request")                     \
	C(REQUEST_PART, block_part, FILE_ID, file_id, ID, ">file",                                 \
	  "null: of no file, or not known")                                                        \
	C(REQUEST_PART, block_part, POS, pos, INT, "bytes",                                        \
	  "where in the file, or on the device, the first byte is")                                \
	C(REQUEST_PART, block_part, BYTES, bytes, SIZE, "bytes",                                   \
	  "of this file and owner; the sum over a request's parts is its bytes")                   \
	C(REQUEST_PART, block_part, THREAD_ID, thread_id, ID, ">thread",                           \
	  "the owner, recorded or not; null: not known")                                           \
	C(REQUEST_PART, block_part, VIA, via, CODE, "",                                            \
	  "how the owner is known: current (it submitted it), dirtied (it made the pages dirty), " \
	  "waiter, upper (of the request above), range, first_writer (others may have written "    \
	  "the pages while they were dirty), kernel, flush (it requested one last), unknown")      \
	C(REQUEST_PART, block_part, ORIGIN, origin, CODE, "",                                      \
	  "file, device, metadata, journal, swap, discard, flush, preflush (a write without "      \
	  "data, which waits for a flush: that is a request of its own), unknown")                 \
	C(REQUEST_PART, block_part, REQUESTS, requests, INT, "",                                   \
	  "1 in the largest part of each request, else 0: its sum counts requests")                \
	C(REQUEST_PART, block_part, MERGES, merges, INT, "", "of the request, there; else 0")
#define SCHEMA_NET(C)                                                                             \
	C(NET, net, START, start, TIME, "ns",                                                     \
	  "when it happened; of zero_window when the peer's window closed, of listen_drop when "  \
	  "the socket was looked at before")                                                      \
	C(NET, net, DUR, dur, DUR, "ns",                                                          \
	  "of zero_window how long the window was closed, of listen_drop between two looks at "   \
	  "the socket; null for all others")                                                      \
	C(NET, net, EVENT, event, CODE, "",                                                       \
	  "retransmit, reset_sent, reset_received, drop, listen_drop, zero_window")               \
	C(NET, net, FILE_ID, file_id, ID, ">file",                                                \
	  "the socket; null where no recorded thread has used it")                                \
	C(NET, net, THREAD_ID, thread_id, ID, ">thread",                                          \
	  "the thread that used the socket first; null where none is known")                      \
	C(NET, net, TCP_STATE, tcp_state, CODE, "",                                               \
	  "the socket's state: established, syn_sent, ...; null where none is known, and of UDP") \
	C(NET, net, PACKETS, packets, INT, "",                                                    \
	  "segments or packets that it is about; of listen_drop requests for a connection")       \
	C(NET, net, BYTES, bytes, SIZE, "bytes",                                                  \
	  "payload of a segment that is sent again; of a drop the packet with its IP header")     \
	C(NET, net, REASON, reason, BYTES, "",                                                    \
	  "of a drop or a reset the kernel's word (NETFILTER_DROP, ...), which depends on its "   \
	  "version; of a retransmit timeout, fast or probe; null where there is none")            \
	C(NET, net, SRTT, srtt, DUR, "ns", "smoothed round-trip time at that moment")             \
	C(NET, net, SRC, src, BYTES, "",                                                          \
	  "address that the packet came from; null where the row of file_id has it")              \
	C(NET, net, DST, dst, BYTES, "",                                                          \
	  "address that it was for; null where the row of file_id has it")

#define SCHEMA_NET_SAMPLE(C)                                                                   \
	C(NET_SAMPLE, net_sample, START, start, TIME, "ns",                                    \
	  "end of the row before, or when the socket was first seen in use")                   \
	C(NET_SAMPLE, net_sample, DUR, dur, DUR, "ns",                                         \
	  "100 ms at least, but for the last row of a connection")                             \
	C(NET_SAMPLE, net_sample, FILE_ID, file_id, ID, ">file", "the socket")                 \
	C(NET_SAMPLE, net_sample, THREAD_ID, thread_id, ID, ">thread",                         \
	  "the thread that used it first")                                                     \
	C(NET_SAMPLE, net_sample, TCP_STATE, tcp_state, CODE, "",                              \
	  "at the end of the row, of the last row before it was closed")                       \
	C(NET_SAMPLE, net_sample, BYTES_OUT, bytes_out, SIZE, "bytes",                         \
	  "payload sent, without what was sent again")                                         \
	C(NET_SAMPLE, net_sample, BYTES_IN, bytes_in, SIZE, "bytes",                           \
	  "payload that arrived, without what came twice")                                     \
	C(NET_SAMPLE, net_sample, PACKETS_OUT, packets_out, INT, "",                           \
	  "segments with payload sent, those that were sent again too")                        \
	C(NET_SAMPLE, net_sample, PACKETS_IN, packets_in, INT, "",                             \
	  "segments with payload that arrived")                                                \
	C(NET_SAMPLE, net_sample, RETRANSMITS, retransmits, INT, "",                           \
	  "segments that were sent again, SYN too")                                            \
	C(NET_SAMPLE, net_sample, RETRANSMIT_BYTES, retransmit_bytes, SIZE, "bytes",           \
	  "their payload")                                                                     \
	C(NET_SAMPLE, net_sample, SRTT, srtt, DUR, "ns",                                       \
	  "smoothed round-trip time at the end; null before the first")                        \
	C(NET_SAMPLE, net_sample, RTT_MIN, rtt_min, DUR, "ns",                                 \
	  "least of the last minutes as the kernel keeps it; null before the first")           \
	C(NET_SAMPLE, net_sample, RTT_VAR, rtt_var, DUR, "ns",                                 \
	  "mean deviation of the round-trip time; null before the first")                      \
	C(NET_SAMPLE, net_sample, IN_WAIT, in_wait, DUR, "ns",                                 \
	  "mean time that a byte lay in the socket's queue until it was read; null where "     \
	  "none was read")                                                                     \
	C(NET_SAMPLE, net_sample, OUT_WAIT, out_wait, DUR, "ns",                               \
	  "estimate of the mean time from the send of a byte until it was acknowledged, from " \
	  "the unacknowledged bytes whenever a segment arrives; null where none was")          \
	C(NET_SAMPLE, net_sample, IN_READ, in_read, SIZE, "bytes",                             \
	  "bytes that were read: the weight of in_wait")                                       \
	C(NET_SAMPLE, net_sample, OUT_ACKED, out_acked, SIZE, "bytes",                         \
	  "bytes that were acknowledged: the weight of out_wait")                              \
	C(NET_SAMPLE, net_sample, IN_QUEUED, in_queued, SIZE, "bytes",                         \
	  "most that lay in the queue and was not read")                                       \
	C(NET_SAMPLE, net_sample, OUT_QUEUED, out_queued, SIZE, "bytes",                       \
	  "most that was sent by the program and not acknowledged, as far as it was seen")     \
	C(NET_SAMPLE, net_sample, CWND, cwnd, INT, "", "congestion window at the end, in segments")

#define SCHEMA_SCHED(C)                                                                            \
	C(SCHED, sched, START, start, TIME, "ns", "when the thread left its CPU")                  \
	C(SCHED, sched, DUR, dur, DUR, "ns", "until it ran again; blocked + runq")                 \
	C(SCHED, sched, THREAD_ID, thread_id, ID, ">thread", "the thread's version")               \
	C(SCHED, sched, CPU, cpu, INT, "", "the CPU on which it ran again")                        \
	C(SCHED, sched, WHY, why, CODE, "",                                                        \
	  "sleep, io (the kernel counts it as waiting for I/O), preempted, yield (it called "      \
	  "sched_yield)")                                                                          \
	C(SCHED, sched, BLOCKED, blocked, DUR, "ns",                                               \
	  "until it was woken; 0 where it was ready to run all the time; null where the wake-up "  \
	  "was not seen")                                                                          \
	C(SCHED, sched, RUNQ, runq, DUR, "ns",                                                     \
	  "for which it was ready to run and had no CPU; null where the wake-up was not seen")     \
	C(SCHED, sched, WOKEN_BY, woken_by, CODE, "",                                              \
	  "thread, softirq, interrupt; null where it was not woken, or that is not known. In the " \
	  "last two the waker is the thread on whose CPU they ran, which may be a bystander: a "   \
	  "softirq often runs at the end of the call that caused it")                              \
	C(SCHED, sched, WAKER_ID, waker_id, ID, ">thread",                                         \
	  "the thread that woke it; null where it is not recorded")                                \
	C(SCHED, sched, WAKER_TID, waker_tid, INT, "",                                             \
	  "its tid in the recorder's pid namespace; null where it has none there, and of the "     \
	  "idle CPU")                                                                              \
	C(SCHED, sched, WAKER_COMM, waker_comm, BYTES, "",                                         \
	  "its name; null where waker_id has it, and of the idle CPU")                             \
	C(SCHED, sched, INSTEAD_ID, instead_id, ID, ">thread",                                     \
	  "the thread that had that CPU for most of runq, of the last 16 that had it; null "       \
	  "where "                                                                                 \
	  "it is not recorded")                                                                    \
	C(SCHED, sched, INSTEAD_TID, instead_tid, INT, "",                                         \
	  "its tid in the recorder's pid namespace; null where it has none there, and where the "  \
	  "CPU was idle")                                                                          \
	C(SCHED, sched, INSTEAD_COMM, instead_comm, BYTES, "",                                     \
	  "its name; null where instead_id has it, and where the CPU was idle")                    \
	C(SCHED, sched, PRIO, prio, INT, "",                                                       \
	  "the kernel's priority of the thread: 120 is nice 0, below 100 is real-time")            \
	C(SCHED, sched, OP, op, CODE, "",                                                          \
	  "the recorded call in which it left its CPU; null outside of one")                       \
	C(SCHED, sched, OP_START, op_start, TIME, "ns",                                            \
	  "start of that call, which with thread_id is that of its row")

#define SCHEMA_IRQ(C)                                                                             \
	C(IRQ, irq, START, start, TIME, "ns", "when the first of the runs began")                 \
	C(IRQ, irq, DUR, dur, DUR, "ns", "until the last of them ended")                          \
	C(IRQ, irq, CPU, cpu, INT, "", "the CPU")                                                 \
	C(IRQ, irq, IRQ_KIND, irq_kind, CODE, "", "hard, soft")                                   \
	C(IRQ, irq, NUMBER, number, INT, "",                                                      \
	  "of the interrupt, as in /proc/interrupts; of the "                                     \
	  "softirq")                                                                              \
	C(IRQ, irq, HANDLER, handler, BYTES, "", "its name; of a softirq that of /proc/softirqs") \
	C(IRQ, irq, RUNS, runs, INT, "", "how often it ran")                                      \
	C(IRQ, irq, TIME, time, DUR, "ns",                                                        \
	  "sum of the runs; that of a softirq includes interrupts that came upon it")             \
	C(IRQ, irq, SHORTEST, shortest, DUR, "ns", "the shortest run")                            \
	C(IRQ, irq, LONGEST, longest, DUR, "ns", "the longest run")                               \
	C(IRQ, irq, RAISED, raised, INT, "",                                                      \
	  "runs of a softirq that were seen to be raised; null of interrupts")                    \
	C(IRQ, irq, RAISE_TIME, raise_time, DUR, "ns",                                            \
	  "sum of the times from raise to run; null of interrupts")                               \
	C(IRQ, irq, RAISE_LONGEST, raise_longest, DUR, "ns",                                      \
	  "longest time from raise to run; null of interrupts")

#define SCHEMA_MEM(C)                                                                        \
	C(MEM, mem, START, start, TIME, "ns", "when the first of it happened")               \
	C(MEM, mem, DUR, dur, DUR, "ns", "until the last of it")                             \
	C(MEM, mem, THREAD_ID, thread_id, ID, ">thread",                                     \
	  "the thread; null for all that are not recorded, the kernel's own and interrupts") \
	C(MEM, mem, CPU, cpu, INT, "", "where thread_id is null the CPU")                    \
	C(MEM, mem, ALLOCATED, allocated, INT, "", "pages of 4 KiB (of the machine's size)") \
	C(MEM, mem, FREED, freed, INT, "", "pages")                                          \
	C(MEM, mem, LARGEST, largest, INT, "", "most pages in one allocation")               \
	C(MEM, mem, RECLAIMS, reclaims, INT, "",                                             \
	  "how often the thread had to reclaim pages before it got one")                     \
	C(MEM, mem, RECLAIM_TIME, reclaim_time, DUR, "ns", "for so long altogether")         \
	C(MEM, mem, RECLAIMED, reclaimed, INT, "", "pages that it reclaimed by that")

#define SCHEMA_STACK(C)                                                                           \
	C(STACK, stack, ID, id, ID, ">stack", "dense id")                                         \
	C(STACK, stack, KERNEL, kernel, INT, "", "1: of the kernel, 0: of a program")             \
	C(STACK, stack, DEPTH, depth, INT, "", "functions that are known")                        \
	C(STACK, stack, CUT, cut, UINT, "",                                                       \
	  "bits: 1 deeper than is kept, 2 memory was not readable, 4 functions are missing "      \
	  "where names has [...], 8 no beginning of a thread was met, 16 the caller of the "      \
	  "innermost function is not certain")                                                    \
	C(STACK, stack, NAMES, names, BYTES, "",                                                  \
	  "functions, outermost first, with a semicolon between them; module+0xoffset where the " \
	  "name is not known; null until the names were looked up")                               \
	C(STACK, stack, FRAMES, frames, BYTES, "",                                                \
	  "places, as names, a line each: module number+0xoffset in its file; without a module "  \
	  "0xaddress")                                                                            \
	C(STACK, stack, MODULES, modules, BYTES, "",                                              \
	  "modules, a line each: number, build-id, - where there is none, and path")
