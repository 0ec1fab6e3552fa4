/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: every table and column, declared once. The batches, the trace file, the engine's SQL names,
 * JSON, and docs are generated from this list or checked against it. Names are never reserved words of SQL.
 *
 *   COLUMN(TABLE, table, NAME, name, type, unit, "what it holds")
 *
 * The unit ">thread" marks a reference: the column holds ids of that table, which enrich assigns to a source's keys.
 * ">op", in a table made after recording: the column holds the row_id of a call.
 *
 * Types (how a value is held in memory and what it means):
 *   INT    int64_t                      UINT   uint64_t bits in an int64_t (addresses, raw arguments)
 *   ID     int64_t >= 0, the id of a row of a dimension table, null if there is none
 *   TIME   int64_t ns since the epoch   DUR    int64_t ns
 *   SIZE   int64_t bytes                CODE   int64_t, a code of the vocabulary of that name (schema/vocab.h)
 *   BYTES  a byte string, not necessarily UTF-8
 * Columns appear on the screen in this order. The number of a column in the file never changes, so new columns are
 * added at the end of their table.
 */
#pragma once

#include "schema/feature_tables.h"
#include "schema/flow_tables.h"
#include "schema/span_tables.h"

/*
 * TABLE(TABLE, table, KIND, START, DUR, STOP, "one row is") in the order of their codes; codes are never reused.
 *
 * Kinds:
 *   EVENTS     rows are events, kept in the order in which they ended
 *   DIMENSION  rows are descriptions: the first column is the id, the last row of an id wins, and a row is stored
 *              before the first row that refers to it. Tables that others refer to precede them in
 *              SCHEMA_DIMENSIONS.
 *   SUMS       rows are computed by the store from a block of events
 *   MADE       rows are computed from a trace after it was recorded, and appended to it together, replacing those made
 *              before (store/made/made.h); they keep their order
 * START, DUR and STOP are the columns with the start, duration and end of a row; NO_COLUMN if there is none. A row with
 * neither DUR nor STOP is a point in time.
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
	      "sums over one block of op: by 100 ms, op, thread and file")                       \
	TABLE(LOSS, loss, EVENTS, LOSS_START, NO_COLUMN, LOSS_STOP, "missing data")              \
	TABLE(MARK, mark, EVENTS, MARK_AT, NO_COLUMN, NO_COLUMN,                                 \
	      "an event marked by the user, a trigger or the recorder")                          \
	TABLE(POLL, poll, EVENTS, POLL_START, POLL_DUR, NO_COLUMN,                               \
	      "one descriptor of a call that waited for several")                                \
	SCHEMA_FEATURE_TABLES(TABLE)                                                             \
	TABLE(REQUEST, block, EVENTS, REQUEST_START, REQUEST_DUR, NO_COLUMN,                     \
	      "one request to a block device")                                                   \
	TABLE(REQUEST_PART, block_part, EVENTS, REQUEST_PART_START, REQUEST_PART_DUR, NO_COLUMN, \
	      "the part of a block device request that belongs to one file and one owner")       \
	TABLE(NET, net, EVENTS, NET_START, NET_DUR, NO_COLUMN,                                   \
	      "a network error or a retransmitted segment")                                      \
	TABLE(NET_SAMPLE, net_sample, EVENTS, NET_SAMPLE_START, NET_SAMPLE_DUR, NO_COLUMN,       \
	      "traffic and latency of a TCP connection, in 100 ms or more")                      \
	TABLE(SCHED, sched, EVENTS, SCHED_START, SCHED_DUR, NO_COLUMN,                           \
	      "a period during which a recorded thread had no CPU")                              \
	TABLE(IRQ, irq, EVENTS, IRQ_START, IRQ_DUR, NO_COLUMN,                                   \
	      "runs of one interrupt handler on one CPU, in 100 ms or more")                     \
	TABLE(MEM, mem, EVENTS, MEM_START, MEM_DUR, NO_COLUMN,                                   \
	      "pages allocated and freed by one thread, in 100 ms or more")                      \
	TABLE(STACK, stack, DIMENSION, NO_COLUMN, NO_COLUMN, NO_COLUMN,                          \
	      "one call stack, running or waiting")                                              \
	SCHEMA_SPAN_TABLES(TABLE)                                                                \
	SCHEMA_FLOW_TABLES(TABLE)

#define SCHEMA_TABLES(TABLE)     \
	SCHEMA_OWN_TABLES(TABLE) \
	SCHEMA_EXTRA_TABLES(TABLE)

/* A test adds a table with its own header (-DSCHEMA_EXTRA) and nothing else: tests/table. */
#ifdef SCHEMA_EXTRA
#	include SCHEMA_EXTRA
#else
#	define SCHEMA_EXTRA_TABLES(TABLE)
#endif

/* The dimension tables, each after those that its rows refer to: the order in which rows are enriched and stored. */
#define SCHEMA_DIMENSIONS                                                                      \
	{                                                                                      \
		TABLE_HOST, TABLE_CGROUP, TABLE_PROCESS, TABLE_THREAD, TABLE_FILE, TABLE_STACK \
	}

#define SCHEMA_OP(C)                                                                               \
	C(OP, op, START, start, TIME, "ns", "when the call was entered; null if before recording") \
	C(OP, op, DUR, dur, DUR, "ns",                                                             \
	  "from enter to exit; so far, if still running (without start: at least)")                \
	C(OP, op, THREAD_ID, thread_id, ID, ">thread", "the thread's version")                     \
	C(OP, op, TID, tid, INT, "", "the thread's id in the recorder's pid namespace")            \
	C(OP, op, CPU, cpu, INT, "", "the CPU on which the call ended")                            \
	C(OP, op, KIND, kind, CODE, "", "syscall, io_uring, libaio, fault")                        \
	C(OP, op, OP, op, CODE, "", "the operation: read, openat, ...")                            \
	C(OP, op, CLASS, class, CODE, "", "data, meta, sync, net, process, wait, other")           \
	C(OP, op, RET, ret, INT, "", "return value (-errno on failure); null while running")       \
	C(OP, op, ERR, err, CODE, "", "the errno, null on success")                                \
	C(OP, op, BYTES, bytes, SIZE, "bytes",                                                     \
	  "bytes moved, 0 for calls that move none or only peek (MSG_PEEK)")                       \
	C(OP, op, FD, fd, INT, "",                                                                 \
	  "the descriptor argument or result; null for the working directory")                     \
	C(OP, op, FILE_ID, file_id, ID, ">file", "the file or socket")                             \
	C(OP, op, POS, pos, INT, "bytes",                                                          \
	  "position in the file where the call began; for lseek the resulting position; for an "   \
	  "fcntl lock its start")                                                                  \
	C(OP, op, SIZE, size, SIZE, "bytes",                                                       \
	  "bytes requested; the sum of the parts of a vectored call; for an fcntl lock its "       \
	  "length, 0: to the end")                                                                 \
	C(OP, op, FLAGS, flags, UINT, "",                                                          \
	  "the call's flags, names depend on op; for an fcntl lock 0: shared, 1: exclusive, 2: "   \
	  "unlock")                                                                                \
	C(OP, op, FD2, fd2, INT, "",                                                               \
	  "second descriptor (splice, copy_file_range, dup2, socketpair, ...); null for the "      \
	  "working directory")                                                                     \
	C(OP, op, FILE2_ID, file2_id, ID, ">file", "second file (rename, link, splice, ...)")      \
	C(OP, op, POS2, pos2, INT, "bytes", "position in the second file")                         \
	C(OP, op, A0, a0, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, A1, a1, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, A2, a2, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, A3, a3, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, A4, a4, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, A5, a5, UINT, "", "raw argument that no other column holds")                     \
	C(OP, op, PEER_ID, peer_id, ID, ">file",                                                   \
	  "the file row with the address passed to the call (sendto, connect, ...)")               \
	C(OP, op, STATUS, status, UINT, "",                                                        \
	  "bits: unfinished, interrupted, denied, contested, held, ...")                           \
	C(OP, op, HELD, held, DUR, "ns",                                                           \
	  "part of dur for which weir delayed the program (--lossless)")                           \
	C(OP, op, DIR_ID, dir_id, ID, ">file",                                                     \
	  "directory of the descriptor that a relative path starts from, if file.base does not "   \
	  "have it")                                                                               \
	C(OP, op, RUNQ, runq, DUR, "ns",                                                           \
	  "part of dur for which the thread was runnable but had no CPU; null if it never left "   \
	  "its CPU, or the kernel does not count; with --phases measured by weir, 0 if it never "  \
	  "left its CPU")                                                                          \
	C(OP, op, WAKER_ID, waker_id, ID, ">thread",                                               \
	  "the thread that ended a futex wait; null if not recorded or not certain")               \
	C(OP, op, FILE_SIZE, file_size, SIZE, "bytes",                                             \
	  "for a successful open: the size of the regular file, after O_TRUNC")                    \
	C(OP, op, IO_WAIT, io_wait, DUR, "ns",                                                     \
	  "part of dur for which the thread was blocked on I/O, as the kernel counts it; io_wait " \
	  "+ sleep + runq + cpu_time = dur; null without --phases, or if incomplete")              \
	C(OP, op, SLEEP, sleep, DUR, "ns",                                                         \
	  "part of dur for which the thread was blocked otherwise: a timer, a lock, a peer, "      \
	  "a journal; null as io_wait")                                                            \
	C(OP, op, CPU_TIME, cpu_time, DUR, "ns",                                                   \
	  "part of dur for which the thread ran, including interrupts and --lossless delays; "     \
	  "null as io_wait")                                                                       \
	C(OP, op, MISSES, misses, INT, "",                                                         \
	  "folios that the call added to the page cache: cache misses and readahead; for a write " \
	  "the folios written; null without --phases")                                             \
	C(OP, op, READ_BYTES, read_bytes, SIZE, "bytes",                                           \
	  "bytes that the call submitted to devices to read, including readahead; null without "   \
	  "--phases, or if the kernel does not count")                                             \
	C(OP, op, IO_QUEUED, io_queued, DUR, "ns",                                                 \
	  "part of io_wait in which requests of the call were queued and none was in a device; "   \
	  "null without --with phases,block, or if waits or requests are incomplete")              \
	C(OP, op, IO_DEVICE, io_device, DUR, "ns",                                                 \
	  "part of io_wait in which a request of the call was in a device; null as io_queued")     \
	C(OP, op, STACK_ID, stack_id, ID, ">stack",                                                \
	  "the program's functions that led to the call (record --stacks); null if none was "      \
	  "taken")                                                                                 \
	C(OP, op, KSTACK_ID, kstack_id, ID, ">stack",                                              \
	  "the kernel's functions in which the call slept longest; null if it did not sleep, or "  \
	  "no stack was taken")

#define SCHEMA_THREAD(C)                                                                          \
	C(THREAD, thread, ID, id, ID, ">thread", "this version")                                  \
	C(THREAD, thread, TASK, task, INT, ">thread",                                             \
	  "the thread across its versions: the id of its first version")                          \
	C(THREAD, thread, TID, tid, INT, "", "thread id in the recorder's pid namespace")         \
	C(THREAD, thread, TID_NS, tid_ns, INT, "", "thread id in its own pid namespace")          \
	C(THREAD, thread, PROCESS_ID, process_id, ID, ">process", "its process")                  \
	C(THREAD, thread, COMM, comm, BYTES, "", "its name")                                      \
	C(THREAD, thread, EXE, exe, BYTES, "",                                                    \
	  "the program it runs, as a path seen by the process")                                   \
	C(THREAD, thread, CGROUP_ID, cgroup_id, ID, ">cgroup", "its control group")               \
	C(THREAD, thread, UID, uid, INT, "", "effective user id in the initial user namespace")   \
	C(THREAD, thread, PID_NS, pid_ns, INT, "", "inode number of its pid namespace")           \
	C(THREAD, thread, MNT_NS, mnt_ns, INT, "", "inode number of its mount namespace")         \
	C(THREAD, thread, NET_NS, net_ns, INT, "", "inode number of its network namespace")       \
	C(THREAD, thread, SINCE, since, TIME, "ns", "when this version began")                    \
	C(THREAD, thread, STOPPED, stopped, TIME, "ns",                                           \
	  "when the thread ended; null while it lives")                                           \
	C(THREAD, thread, BORN, born, DUR, "ns",                                                  \
	  "creation time since boot (including suspend): the same in every recording")            \
	C(THREAD, thread, RUNQ, runq, DUR, "ns",                                                  \
	  "time for which it was runnable but had no CPU, in calls or not, from since until its " \
	  "next version, its end or the end of recording")                                        \
	C(THREAD, thread, UNRECORDED, unrecorded, INT, "",                                        \
	  "1: excluded by the selection, its calls were not recorded, but it owns device "        \
	  "requests (kernel thread: 2); null: recorded")

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
	  "creation time since boot (including suspend): the same in every recording")

#define SCHEMA_CGROUP(C)                                                                    \
	C(CGROUP, cgroup, ID, id, ID, ">cgroup", "dense id")                                \
	C(CGROUP, cgroup, KERNEL_ID, kernel_id, UINT, "", "the kernel's id (inode number)") \
	C(CGROUP, cgroup, PATH, path, BYTES, "", "path under the cgroup mount")             \
	C(CGROUP, cgroup, CONTAINER, container, BYTES, "", "container id, null if none")    \
	C(CGROUP, cgroup, UNIT, unit, BYTES, "", "systemd unit, null if none")

#define SCHEMA_HOST(C)                                                                         \
	C(HOST, host, ID, id, ID, ">host", "dense id")                                         \
	C(HOST, host, NAME, name, BYTES, "", "host name")                                      \
	C(HOST, host, BOOT, boot, BYTES, "", "boot id")                                        \
	C(HOST, host, KERNEL, kernel, BYTES, "", "kernel release")                             \
	C(HOST, host, MACHINE, machine, BYTES, "", "architecture")                             \
	C(HOST, host, CPUS, cpus, INT, "", "CPUs online")                                      \
	C(HOST, host, CLOCK_OFFSET, clock_offset, DUR, "ns",                                   \
	  "wall time minus monotonic time when recording began: added to every time")          \
	C(HOST, host, CLOCK_AT, clock_at, TIME, "ns", "when clock_offset was measured")        \
	C(HOST, host, END_OFFSET, end_offset, DUR, "ns",                                       \
	  "the same when recording ended: includes changes and drift of the wall clock since") \
	C(HOST, host, END_AT, end_at, TIME, "ns",                                              \
	  "when end_offset was measured; null if recording did not end properly")

#define SCHEMA_FILE(C)                                                                           \
	C(FILE, file, ID, id, ID, ">file", "this version")                                       \
	C(FILE, file, INODE, inode, INT, ">file",                                                \
	  "the generation across its versions: the id of its first version")                     \
	C(FILE, file, DEV, dev, INT, "", "device, major << 20 | minor (the kernel's dev_t)")     \
	C(FILE, file, INO, ino, UINT, "", "inode number")                                        \
	C(FILE, file, GENERATION, generation, UINT, "",                                          \
	  "the inode's generation and weir's own reuse counter")                                 \
	C(FILE, file, BIRTH, birth, TIME, "ns", "creation time, if the file system has it")      \
	C(FILE, file, TYPE, type, CODE, "",                                                      \
	  "regular, directory, symlink, char, block, pipe, socket, anon, unknown")               \
	C(FILE, file, FS, fs, BYTES, "", "file system type: ext4, overlay, tmpfs, ...")          \
	C(FILE, file, DELETED, deleted, TIME, "ns",                                              \
	  "when its last name was removed; null while it has one")                               \
	C(FILE, file, PATH, path, BYTES, "", "path as the process sees it, under its own root")  \
	C(FILE, file, HOSTPATH, hostpath, BYTES, "",                                             \
	  "path as the recorder sees it; null if none of its mounts shows the file")             \
	C(FILE, file, BASE, base, BYTES, "", "directory that a relative argument starts from")   \
	C(FILE, file, ARGUMENT, argument, BYTES, "",                                             \
	  "the path argument as given, if relative or failed")                                   \
	C(FILE, file, FAMILY, family, CODE, "", "socket address family, null for files")         \
	C(FILE, file, PROTO, proto, INT, "", "socket type << 16 | protocol, null for files")     \
	C(FILE, file, LOCAL, local, BYTES, "",                                                   \
	  "local address: 10.0.0.1:80, [::1]:80, unix:/path, unix:@name")                        \
	C(FILE, file, PEER, peer, BYTES, "", "peer address")                                     \
	C(FILE, file, SINCE, since, TIME, "ns", "when this version began")                       \
	C(FILE, file, NAME_ONLY, name_only, INT, "",                                             \
	  "1: known only by name (a failed open, a stat), no inode")                             \
	C(FILE, file, SIZE, size, SIZE, "bytes",                                                 \
	  "size of a regular file when this version was first seen")                             \
	C(FILE, file, PEER_INO, peer_ino, UINT, "",                                              \
	  "for a unix socket: ino of the other end; null before that is accepted, or if it was " \
	  "gone")

#define SCHEMA_SUMMARY(C)                                                                   \
	C(SUMMARY, summary, BLOCK, block, INT, "", "sequence number of the block of op")    \
	C(SUMMARY, summary, WINDOW, window_start, TIME, "ns",                               \
	  "start of the 100 ms in which the calls ended")                                   \
	C(SUMMARY, summary, OP, op, CODE, "", "the operation")                              \
	C(SUMMARY, summary, THREAD_ID, thread_id, ID, ">thread", "the thread's version")    \
	C(SUMMARY, summary, FILE_ID, file_id, ID, ">file", "the file, null if none")        \
	C(SUMMARY, summary, ERR, err, CODE, "", "the errno, null on success")               \
	C(SUMMARY, summary, CLASS, class, CODE, "",                                         \
	  "the class (a read of an empty pipe waits, a read of a file does not)")           \
	C(SUMMARY, summary, CALLS, calls, INT, "", "rows")                                  \
	C(SUMMARY, summary, BYTES, bytes, SIZE, "bytes", "sum of bytes")                    \
	C(SUMMARY, summary, TIME, time, DUR, "ns", "sum of dur")                            \
	C(SUMMARY, summary, MAX, max_dur, DUR, "ns", "largest dur")                         \
	C(SUMMARY, summary, HIST, hist, BYTES, "", "packed histogram of dur (hist/hist.h)") \
	C(SUMMARY, summary, FILE2_ID, file2_id, ID, ">file",                                \
	  "second file of calls that move bytes from one file to another")

#define SCHEMA_LOSS(C)                                                                 \
	C(LOSS, loss, START, start, TIME, "ns", "from")                                \
	C(LOSS, loss, STOP, stop, TIME, "ns", "until")                                 \
	C(LOSS, loss, CPU, cpu, INT, "", "the CPU, null for all")                      \
	C(LOSS, loss, THREAD_ID, thread_id, ID, ">thread", "the thread, null for any") \
	C(LOSS, loss, CAUSE, cause, CODE, "",                                          \
	  "ring_full, recursion, compat, unpaired, disk_full, torn, corrupt, ...")     \
	C(LOSS, loss, EVENTS, events, INT, "", "how many, null if unknown")            \
	C(LOSS, loss, OF, of_table, BYTES, "",                                         \
	  "the table whose rows or events are missing; null: op")

#define SCHEMA_MARK(C)                                                              \
	C(MARK, mark, AT, time, TIME, "ns", "when")                                 \
	C(MARK, mark, NAME, name, BYTES, "",                                        \
	  "kind: weir.command, weir.selection, weir.failed, ... or the user's own") \
	C(MARK, mark, TEXT, text, BYTES, "", "details")

#define SCHEMA_POLL(C)                                                                          \
	C(POLL, poll, START, start, TIME, "ns",                                                 \
	  "end of the call; with thread_id it identifies the call's row")                       \
	C(POLL, poll, DUR, dur, DUR, "ns", "of the call")                                       \
	C(POLL, poll, THREAD_ID, thread_id, ID, ">thread", "the thread's version")              \
	C(POLL, poll, OP, op, CODE, "", "poll, ppoll, select, pselect6, epoll_wait, ...")       \
	C(POLL, poll, FD, fd, INT, "",                                                          \
	  "the descriptor; null if epoll_wait returned data that matches no descriptor, or "    \
	  "several")                                                                            \
	C(POLL, poll, FILE_ID, file_id, ID, ">file",                                            \
	  "its file: the one that an epoll watches, else that of the descriptor when the call " \
	  "ended")                                                                              \
	C(POLL, poll, EVENTS, events, UINT, "",                                                 \
	  "events waited for: bits of poll(2) or epoll_ctl(2)")                                 \
	C(POLL, poll, REVENTS, revents, UINT, "",                                               \
	  "events found; null if it was waited on but not ready")                               \
	C(POLL, poll, LEFT_OUT, left_out, INT, "",                                              \
	  "descriptors of the call without a row (a call has up to 8); null: not counted")

/* A request; if it has several parts, the columns describe the largest: table block_part has all parts. */
#define SCHEMA_REQUEST(C)                                                                          \
	C(REQUEST, block, START, start, TIME, "ns",                                                \
	  "when its first bio was queued; for a request in flight when recording began, when it "  \
	  "was allocated, to 0.1 ms")                                                              \
	C(REQUEST, block, DUR, dur, DUR, "ns",                                                     \
	  "from there to its completion; null: not complete when recording ended")                 \
	C(REQUEST, block, REQUEST, request, INT, "", "its number in this recording")               \
	C(REQUEST, block, DEV, dev, INT, "",                                                       \
	  "the whole disk, major << 20 | minor (the kernel's dev_t)")                              \
	C(REQUEST, block, DISK, disk, BYTES, "", "its name: sda, nvme0n1, dm-0, loop0")            \
	C(REQUEST, block, KIND, kind, CODE, "", "read, write, flush, discard")                     \
	C(REQUEST, block, SECTOR, sector, INT, "512 bytes", "position on the disk")                \
	C(REQUEST, block, BYTES, bytes, SIZE, "bytes", "completed")                                \
	C(REQUEST, block, Q2G, q2g, DUR, "ns",                                                     \
	  "from queued until the kernel allocated a request (btt's Q2G); null: none is allocated " \
	  "(bio-based device), or not seen")                                                       \
	C(REQUEST, block, G2I, g2i, DUR, "ns",                                                     \
	  "from there until it was inserted into the scheduler; null: issued without one")         \
	C(REQUEST, block, I2D, i2d, DUR, "ns",                                                     \
	  "from there, or from the allocation without a scheduler, until it was last issued to "   \
	  "the driver; for a write without data, which is never issued, until its flush was done") \
	C(REQUEST, block, D2C, d2c, DUR, "ns", "in the device: from there until it completed")     \
	C(REQUEST, block, ISSUED, issued, TIME, "ns", "when it was last issued to the driver")     \
	C(REQUEST, block, MERGES, merges, INT, "", "bios and requests merged into it")             \
	C(REQUEST, block, REQUEUES, requeues, INT, "", "how often the driver requeued it")         \
	C(REQUEST, block, ERR, err, CODE, "", "the errno, null on success")                        \
	C(REQUEST, block, THREAD_ID, thread_id, ID, ">thread",                                     \
	  "the owner of the largest part; null: unknown")                                          \
	C(REQUEST, block, VIA, via, CODE, "", "how the owner is known, as in block_part")          \
	C(REQUEST, block, ORIGIN, origin, CODE, "", "of the largest part, as in block_part")       \
	C(REQUEST, block, FILE_ID, file_id, ID, ">file",                                           \
	  "the file of the largest part; null: no file, or unknown")                               \
	C(REQUEST, block, POS, pos, INT, "bytes", "position of the part in that file")             \
	C(REQUEST, block, FILES, files, INT, "", "number of files in it")                          \
	C(REQUEST, block, OWNERS, owners, INT, "", "number of owners")                             \
	C(REQUEST, block, OP_THREAD_ID, op_thread_id, ID, ">thread",                               \
	  "the thread whose call submitted it or, for a flush, requested it last; null: no "       \
	  "recorded call")                                                                         \
	C(REQUEST, block, OP_START, op_start, TIME, "ns",                                          \
	  "when that call began: op.start, with op.thread_id")                                     \
	C(REQUEST, block, UPPER, upper, INT, "",                                                   \
	  "the request to the device above (dm, md, loop) that this one serves")                   \
	C(REQUEST, block, SYNC, sync, INT, "", "1: someone waits for it (REQ_SYNC)")               \
	C(REQUEST, block, META, meta, INT, "",                                                     \
	  "1: metadata, according to the file system (REQ_META)")                                  \
	C(REQUEST, block, FUA, fua, INT, "",                                                       \
	  "1: must be on the medium when it completes (REQ_FUA)")                                  \
	C(REQUEST, block, PREFLUSH, preflush, INT, "", "1: the cache is flushed before it")        \
	C(REQUEST, block, READAHEAD, readahead, INT, "", "1: readahead (REQ_RAHEAD)")              \
	C(REQUEST, block, UNCOUNTED, uncounted, INT, "",                                           \
	  "1: not counted in the statistics of its device")

#define SCHEMA_REQUEST_PART(C)                                                                     \
	C(REQUEST_PART, block_part, START, start, TIME, "ns", "as of its request")                 \
	C(REQUEST_PART, block_part, DUR, dur, DUR, "ns", "as of its request")                      \
	C(REQUEST_PART, block_part, REQUEST, request, INT, "",                                     \
	  "number of the request, as in block")                                                    \
	C(REQUEST_PART, block_part, DEV, dev, INT, "", "as of its request")                        \
	C(REQUEST_PART, block_part, DISK, disk, BYTES, "", "as of its request")                    \
	C(REQUEST_PART, block_part, KIND, kind, CODE, "", "as of its request")                     \
	C(REQUEST_PART, block_part, FILE_ID, file_id, ID, ">file", "null: no file, or unknown")    \
	C(REQUEST_PART, block_part, POS, pos, INT, "bytes",                                        \
	  "position of the first byte in the file, or on the device")                              \
	C(REQUEST_PART, block_part, BYTES, bytes, SIZE, "bytes",                                   \
	  "bytes of this file and owner; the parts of a request add up to its bytes")              \
	C(REQUEST_PART, block_part, THREAD_ID, thread_id, ID, ">thread",                           \
	  "the owner, recorded or not; null: unknown")                                             \
	C(REQUEST_PART, block_part, VIA, via, CODE, "",                                            \
	  "how the owner is known: current (submitted it), dirtied (dirtied the pages), waiter, "  \
	  "upper (owner of the request above), range, first_writer (others may have written the "  \
	  "pages while they were dirty), kernel, flush (last to request one), unknown")            \
	C(REQUEST_PART, block_part, ORIGIN, origin, CODE, "",                                      \
	  "file, device, metadata, journal, swap, discard, flush, preflush (a write without data " \
	  "that waits for a flush, which is a separate request), unknown")                         \
	C(REQUEST_PART, block_part, REQUESTS, requests, INT, "",                                   \
	  "1 in the largest part of each request, else 0: its sum counts requests")                \
	C(REQUEST_PART, block_part, MERGES, merges, INT, "",                                       \
	  "duration of the request, in that row; else 0")
#define SCHEMA_NET(C)                                                                              \
	C(NET, net, START, start, TIME, "ns",                                                      \
	  "when it happened; for zero_window when the peer's window closed, for listen_drop when " \
	  "the socket was last checked")                                                           \
	C(NET, net, DUR, dur, DUR, "ns",                                                           \
	  "for zero_window how long the window was closed, for listen_drop the time between two "  \
	  "checks of the socket; else null")                                                       \
	C(NET, net, EVENT, event, CODE, "",                                                        \
	  "retransmit, reset_sent, reset_received, drop, listen_drop, zero_window")                \
	C(NET, net, FILE_ID, file_id, ID, ">file",                                                 \
	  "the socket; null if no recorded thread has used it")                                    \
	C(NET, net, THREAD_ID, thread_id, ID, ">thread",                                           \
	  "the thread that used the socket first; null if unknown")                                \
	C(NET, net, TCP_STATE, tcp_state, CODE, "",                                                \
	  "the socket's state: established, syn_sent, ...; null if unknown, and for UDP")          \
	C(NET, net, PACKETS, packets, INT, "",                                                     \
	  "segments or packets concerned; for listen_drop connection requests")                    \
	C(NET, net, BYTES, bytes, SIZE, "bytes",                                                   \
	  "payload of a retransmitted segment; for a drop the packet with its IP header")          \
	C(NET, net, REASON, reason, BYTES, "",                                                     \
	  "for a drop or a reset the kernel's reason (NETFILTER_DROP, ...), which depends on its " \
	  "version; for a retransmit timeout, fast or probe; else null")                           \
	C(NET, net, SRTT, srtt, DUR, "ns", "smoothed round-trip time at that moment")              \
	C(NET, net, SRC, src, BYTES, "",                                                           \
	  "source address of the packet; null if the row of file_id has it")                       \
	C(NET, net, DST, dst, BYTES, "", "destination address; null if the row of file_id has it")

#define SCHEMA_NET_SAMPLE(C)                                                                     \
	C(NET_SAMPLE, net_sample, START, start, TIME, "ns",                                      \
	  "end of the previous row, or when the socket was first seen in use")                   \
	C(NET_SAMPLE, net_sample, DUR, dur, DUR, "ns",                                           \
	  "at least 100 ms, except for the last row of a connection")                            \
	C(NET_SAMPLE, net_sample, FILE_ID, file_id, ID, ">file", "the socket")                   \
	C(NET_SAMPLE, net_sample, THREAD_ID, thread_id, ID, ">thread",                           \
	  "the thread that used it first")                                                       \
	C(NET_SAMPLE, net_sample, TCP_STATE, tcp_state, CODE, "",                                \
	  "at the end of the row; in the last row before it was closed")                         \
	C(NET_SAMPLE, net_sample, BYTES_OUT, bytes_out, SIZE, "bytes",                           \
	  "payload sent, without retransmissions")                                               \
	C(NET_SAMPLE, net_sample, BYTES_IN, bytes_in, SIZE, "bytes",                             \
	  "payload received, without duplicates")                                                \
	C(NET_SAMPLE, net_sample, PACKETS_OUT, packets_out, INT, "",                             \
	  "segments with payload sent, including retransmissions")                               \
	C(NET_SAMPLE, net_sample, PACKETS_IN, packets_in, INT, "",                               \
	  "segments with payload received")                                                      \
	C(NET_SAMPLE, net_sample, RETRANSMITS, retransmits, INT, "",                             \
	  "retransmitted segments, including SYN")                                               \
	C(NET_SAMPLE, net_sample, RETRANSMIT_BYTES, retransmit_bytes, SIZE, "bytes",             \
	  "their payload")                                                                       \
	C(NET_SAMPLE, net_sample, SRTT, srtt, DUR, "ns",                                         \
	  "smoothed round-trip time at the end; null before the first")                          \
	C(NET_SAMPLE, net_sample, RTT_MIN, rtt_min, DUR, "ns",                                   \
	  "minimum over the last minutes, as kept by the kernel; null before the first")         \
	C(NET_SAMPLE, net_sample, RTT_VAR, rtt_var, DUR, "ns",                                   \
	  "mean deviation of the round-trip time; null before the first")                        \
	C(NET_SAMPLE, net_sample, IN_WAIT, in_wait, DUR, "ns",                                   \
	  "mean time that a byte was in the socket's queue until it was read; null if none was " \
	  "read")                                                                                \
	C(NET_SAMPLE, net_sample, OUT_WAIT, out_wait, DUR, "ns",                                 \
	  "estimated mean time from the send of a byte to its acknowledgement, from the "        \
	  "unacknowledged bytes at each arriving segment; null if none was acknowledged")        \
	C(NET_SAMPLE, net_sample, IN_READ, in_read, SIZE, "bytes",                               \
	  "bytes read: the weight of in_wait")                                                   \
	C(NET_SAMPLE, net_sample, OUT_ACKED, out_acked, SIZE, "bytes",                           \
	  "bytes acknowledged: the weight of out_wait")                                          \
	C(NET_SAMPLE, net_sample, IN_QUEUED, in_queued, SIZE, "bytes",                           \
	  "maximum in the queue, unread")                                                        \
	C(NET_SAMPLE, net_sample, OUT_QUEUED, out_queued, SIZE, "bytes",                         \
	  "maximum sent by the program and not acknowledged, as far as observed")                \
	C(NET_SAMPLE, net_sample, CWND, cwnd, INT, "", "congestion window at the end, in segments")

#define SCHEMA_SCHED(C)                                                                           \
	C(SCHED, sched, START, start, TIME, "ns", "when the thread left its CPU")                 \
	C(SCHED, sched, DUR, dur, DUR, "ns", "until it ran again; blocked + runq")                \
	C(SCHED, sched, THREAD_ID, thread_id, ID, ">thread", "the thread's version")              \
	C(SCHED, sched, CPU, cpu, INT, "", "the CPU on which it ran again")                       \
	C(SCHED, sched, WHY, why, CODE, "",                                                       \
	  "sleep, io (the kernel counts it as waiting for I/O), preempted, yield (it called "     \
	  "sched_yield)")                                                                         \
	C(SCHED, sched, BLOCKED, blocked, DUR, "ns",                                              \
	  "until it was woken; 0 if it was runnable all the time; null if the wake-up was not "   \
	  "seen")                                                                                 \
	C(SCHED, sched, RUNQ, runq, DUR, "ns",                                                    \
	  "time for which it was runnable but had no CPU; null if the wake-up was not seen")      \
	C(SCHED, sched, WOKEN_BY, woken_by, CODE, "",                                             \
	  "thread, softirq, interrupt; null if it was not woken, or unknown. For the last two "   \
	  "the waker is the thread on whose CPU they ran, which may be a bystander: a softirq "   \
	  "often runs at the end of the call that caused it")                                     \
	C(SCHED, sched, WAKER_ID, waker_id, ID, ">thread",                                        \
	  "the thread that woke it; null if not recorded")                                        \
	C(SCHED, sched, WAKER_TID, waker_tid, INT, "",                                            \
	  "its tid in the recorder's pid namespace; null if it has none there, and for the idle " \
	  "CPU")                                                                                  \
	C(SCHED, sched, WAKER_COMM, waker_comm, BYTES, "",                                        \
	  "its name; null if waker_id has it, and for the idle CPU")                              \
	C(SCHED, sched, INSTEAD_ID, instead_id, ID, ">thread",                                    \
	  "the thread that ran on that CPU for most of runq, among the last 16; null if not "     \
	  "recorded")                                                                             \
	C(SCHED, sched, INSTEAD_TID, instead_tid, INT, "",                                        \
	  "its tid in the recorder's pid namespace; null if it has none there, or the CPU was "   \
	  "idle")                                                                                 \
	C(SCHED, sched, INSTEAD_COMM, instead_comm, BYTES, "",                                    \
	  "its name; null if instead_id has it, or the CPU was idle")                             \
	C(SCHED, sched, PRIO, prio, INT, "",                                                      \
	  "the kernel's priority of the thread: 120 is nice 0, below 100 is real-time")           \
	C(SCHED, sched, OP, op, CODE, "",                                                         \
	  "the recorded call in which it left its CPU; null outside calls")                       \
	C(SCHED, sched, OP_START, op_start, TIME, "ns",                                           \
	  "start of that call; with thread_id it identifies the call's row")

#define SCHEMA_IRQ(C)                                                                            \
	C(IRQ, irq, START, start, TIME, "ns", "when the first of the runs began")                \
	C(IRQ, irq, DUR, dur, DUR, "ns", "until the last of them ended")                         \
	C(IRQ, irq, CPU, cpu, INT, "", "the CPU")                                                \
	C(IRQ, irq, IRQ_KIND, irq_kind, CODE, "", "hard, soft")                                  \
	C(IRQ, irq, NUMBER, number, INT, "",                                                     \
	  "number of the interrupt, as in /proc/interrupts, or of the softirq")                  \
	C(IRQ, irq, HANDLER, handler, BYTES, "", "its name; for a softirq as in /proc/softirqs") \
	C(IRQ, irq, RUNS, runs, INT, "", "how often it ran")                                     \
	C(IRQ, irq, TIME, time, DUR, "ns",                                                       \
	  "sum of the runs; for a softirq including interrupts during it")                       \
	C(IRQ, irq, SHORTEST, shortest, DUR, "ns", "the shortest run")                           \
	C(IRQ, irq, LONGEST, longest, DUR, "ns", "the longest run")                              \
	C(IRQ, irq, RAISED, raised, INT, "",                                                     \
	  "runs of a softirq whose raise was seen; null for interrupts")                         \
	C(IRQ, irq, RAISE_TIME, raise_time, DUR, "ns",                                           \
	  "sum of the times from raise to run; null for interrupts")                             \
	C(IRQ, irq, RAISE_LONGEST, raise_longest, DUR, "ns",                                     \
	  "longest time from raise to run; null for interrupts")

#define SCHEMA_MEM(C)                                                                              \
	C(MEM, mem, START, start, TIME, "ns", "time of the first event")                           \
	C(MEM, mem, DUR, dur, DUR, "ns", "until the last event")                                   \
	C(MEM, mem, THREAD_ID, thread_id, ID, ">thread",                                           \
	  "the thread; null for everything not recorded, including kernel threads and interrupts") \
	C(MEM, mem, CPU, cpu, INT, "", "the CPU, if thread_id is null")                            \
	C(MEM, mem, ALLOCATED, allocated, INT, "", "pages of the machine's page size (4 KiB)")     \
	C(MEM, mem, FREED, freed, INT, "", "pages")                                                \
	C(MEM, mem, LARGEST, largest, INT, "", "largest allocation, in pages")                     \
	C(MEM, mem, RECLAIMS, reclaims, INT, "",                                                   \
	  "how often the thread had to reclaim pages for an allocation")                           \
	C(MEM, mem, RECLAIM_TIME, reclaim_time, DUR, "ns", "total time of these reclaims")         \
	C(MEM, mem, RECLAIMED, reclaimed, INT, "", "pages reclaimed by them")

#define SCHEMA_STACK(C)                                                                          \
	C(STACK, stack, ID, id, ID, ">stack", "dense id")                                        \
	C(STACK, stack, KERNEL, kernel, INT, "", "1: kernel, 0: program")                        \
	C(STACK, stack, DEPTH, depth, INT, "", "number of known functions")                      \
	C(STACK, stack, CUT, cut, UINT, "",                                                      \
	  "bits: 1 deeper than the limit, 2 memory was not readable, 4 functions are missing "   \
	  "where names has [...], 8 does not reach the start of a thread, 16 the caller of the " \
	  "innermost function is not certain")                                                   \
	C(STACK, stack, NAMES, names, BYTES, "",                                                 \
	  "functions, outermost first, separated by semicolons; module+0xoffset if the name is " \
	  "unknown; null until the names are looked up")                                         \
	C(STACK, stack, FRAMES, frames, BYTES, "",                                               \
	  "addresses in the order of names, one per line: module number+0xoffset in its file; "  \
	  "without a module 0xaddress")                                                          \
	C(STACK, stack, MODULES, modules, BYTES, "",                                             \
	  "modules, one per line: number, build-id (- if none), and path")
