/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_tables.h: the tables computed from a recorded trace (analysis/features/), and the findings of rules
 * (analysis/diagnose/). Declared like those of tables.h. Counts that may be too small or too large because a set of
 * ranges exceeded its bound are marked by `inexact`.
 */
#pragma once

#define SCHEMA_FEATURE_TABLES(TABLE)                                                            \
	TABLE(USE, use, MADE, USE_FIRST, NO_COLUMN, USE_LAST,                                   \
	      "what one process did with one file (one generation)")                            \
	TABLE(HABIT, habit, MADE, HABIT_FIRST, NO_COLUMN, HABIT_LAST,                           \
	      "a sequence of calls that a thread repeats")                                      \
	TABLE(STALL, stall, MADE, STALL_FIRST, NO_COLUMN, STALL_LAST,                           \
	      "the waits of one thread for one cause")                                          \
	TABLE(PRESS, press, MADE, PRESS_WINDOW, NO_COLUMN, NO_COLUMN,                           \
	      "100 ms of one group of threads on one device")                                   \
	TABLE(RIVAL, rival, MADE, RIVAL_FIRST, NO_COLUMN, RIVAL_LAST,                           \
	      "two groups of threads on one device: how the latency of one follows the I/O of " \
	      "the "                                                                            \
	      "other")                                                                          \
	TABLE(FDLIFE, fdlife, MADE, FDLIFE_FIRST, NO_COLUMN, FDLIFE_LAST,                       \
	      "the descriptors of a process for files whose names match one pattern")           \
	TABLE(FINDING, finding, MADE, FINDING_FIRST, NO_COLUMN, FINDING_LAST,                   \
	      "a problem found by a rule")

#define SCHEMA_USE(C)                                                                              \
	C(USE, use, PROCESS_ID, process_id, ID, ">process", "the process")                         \
	C(USE, use, THREAD_ID, thread_id, ID, ">thread",                                           \
	  "the thread of the process that spent most time in I/O on the file, latest version")     \
	C(USE, use, THREADS, threads, INT, "", "threads of the process that used the file")        \
	C(USE, use, FILE_ID, file_id, ID, ">file", "the file, its latest version")                 \
	C(USE, use, PATTERN, pattern, BYTES, "",                                                   \
	  "its path with # for numbers and random letters: x.4711 and x.4712 are x.#; for "        \
	  "several files their folder")                                                            \
	C(USE, use, FILES, files, INT, "",                                                         \
	  "number of files: 1; more if there were too many uses, then file_id is one of them")     \
	C(USE, use, FIRST, first_start, TIME, "ns", "start of the first call")                     \
	C(USE, use, LAST, last_stop, TIME, "ns", "end of the last call")                           \
	C(USE, use, CALLS, calls, INT, "", "calls of I/O")                                         \
	C(USE, use, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                          \
	C(USE, use, TIME, time, DUR, "ns", "time in them")                                         \
	C(USE, use, ERRORS, errors, INT, "", "failed ones among them")                             \
	C(USE, use, OPENS, opens, INT, "", "number of opens")                                      \
	C(USE, use, OPEN_TIME, open_time, DUR, "ns", "time in open and close")                     \
	C(USE, use, OPEN_MOST, open_most, INT, "",                                                 \
	  "maximum number of descriptors of it open at a time")                                    \
	C(USE, use, MISSING, missing, INT, "",                                                     \
	  "calls that failed because the file does not exist")                                     \
	C(USE, use, STATS, stats, INT, "", "calls that read its attributes")                       \
	C(USE, use, STAT_TIME, stat_time, DUR, "ns", "time in them")                               \
	C(USE, use, READS, reads, INT, "",                                                         \
	  "successful reads, including those at the end of the file and sendfile, splice, "        \
	  "copy_file_range")                                                                       \
	C(USE, use, READ_BYTES, read_bytes, SIZE, "bytes",                                         \
	  "bytes read; a mapped range counts once unless it was read otherwise")                   \
	C(USE, use, READ_TIME, read_time, DUR, "ns", "time in reads")                              \
	C(USE, use, READ_HIST, read_hist, BYTES, "", "packed histogram of bytes per read")         \
	C(USE, use, SMALL_READS, small_reads, INT, "", "reads of 1 byte to 4 KiB less one")        \
	C(USE, use, TINY_READS, tiny_reads, INT, "", "reads of 1 to 16 bytes")                     \
	C(USE, use, END_READS, end_reads, INT, "", "reads that returned 0 bytes")                  \
	C(USE, use, PAST_READS, past_reads, INT, "", "those that began past the end of the file")  \
	C(USE, use, NEXT_READS, next_reads, INT, "",                                               \
	  "reads that began where the previous one ended")                                         \
	C(USE, use, BACK_READS, back_reads, INT, "", "reads that began before the previous one")   \
	C(USE, use, READ_FIRST, read_first, SIZE, "bytes", "position of the first read")           \
	C(USE, use, READ_STOP, read_stop, SIZE, "bytes", "end of the last range read")             \
	C(USE, use, READ_RANGES, read_ranges, INT, "", "separate ranges read")                     \
	C(USE, use, READ_COVERED, read_covered, SIZE, "bytes", "distinct bytes read")              \
	C(USE, use, REREAD, reread, SIZE, "bytes",                                                 \
	  "bytes read again by the process without having been written in between")                \
	C(USE, use, WRITES, writes, INT, "", "successful writes, including copies into the file")  \
	C(USE, use, WRITE_BYTES, write_bytes, SIZE, "bytes",                                       \
	  "bytes written; a range mapped shared and writable counts once unless it was written "   \
	  "otherwise")                                                                             \
	C(USE, use, WRITE_TIME, write_time, DUR, "ns", "time in writes")                           \
	C(USE, use, WRITE_HIST, write_hist, BYTES, "", "packed histogram of bytes per write")      \
	C(USE, use, SMALL_WRITES, small_writes, INT, "", "writes of 1 byte to 4 KiB less one")     \
	C(USE, use, NEXT_WRITES, next_writes, INT, "",                                             \
	  "writes that began where the previous one ended")                                        \
	C(USE, use, APPENDS, appends, INT, "", "writes with O_APPEND")                             \
	C(USE, use, WRITE_FIRST, write_first, SIZE, "bytes", "position of the first write")        \
	C(USE, use, WRITE_STOP, write_stop, SIZE, "bytes", "end of the last range written")        \
	C(USE, use, WRITE_COVERED, write_covered, SIZE, "bytes", "distinct bytes written")         \
	C(USE, use, UNREAD, unread, SIZE, "bytes",                                                 \
	  "bytes that it wrote last and that were not read afterwards; mapped ranges count as "    \
	  "read")                                                                                  \
	C(USE, use, UNREAD_FIRST, unread_first, SIZE, "bytes",                                     \
	  "position of the first of them; null if it was in the file already when another "        \
	  "process began to read, which then may not need it")                                     \
	C(USE, use, SKIPPED, skipped, SIZE, "bytes",                                               \
	  "bytes below its first read position that another process had written and that were "    \
	  "not read")                                                                              \
	C(USE, use, WRITER_ID, writer_id, ID, ">process",                                          \
	  "the other process that wrote most of them, or wrote last before its first read")        \
	C(USE, use, OTHERS, others, INT, "", "other processes that used the file")                 \
	C(USE, use, TORN, torn, INT, "",                                                           \
	  "reads that ended inside the range of a write still in progress, or where another "      \
	  "process that rewrote the file continued after the reader had closed it")                \
	C(USE, use, DIRECT, direct, INT, "", "reads and writes with O_DIRECT")                     \
	C(USE, use, MISALIGNED, misaligned, INT, "", "those below 4 KiB, or not aligned to 4 KiB") \
	C(USE, use, SYNCS, syncs, INT, "",                                                         \
	  "fsync, fdatasync, msync, sync_file_range, O_SYNC writes")                               \
	C(USE, use, SYNC_TIME, sync_time, DUR, "ns", "time in them")                               \
	C(USE, use, DIRTY, dirty, SIZE, "bytes",                                                   \
	  "bytes written since the last sync of the file or file system by any process")           \
	C(USE, use, RENAMED, renamed, INT, "", "times that the process renamed it")                \
	C(USE, use, UNSYNCED, unsynced, INT, "",                                                   \
	  "those over a file known to exist, without syncing its own data first; a part that was " \
	  "changed after a sync of the whole does not count")                                      \
	C(USE, use, FOLDER_UNSYNCED, folder_unsynced, INT, "",                                     \
	  "1: it created or renamed the file and synced it, but nobody synced the folder "         \
	  "afterwards")                                                                            \
	C(USE, use, CREATED, created, INT, "",                                                     \
	  "1: the process created it, according to O_EXCL or the creation time")                   \
	C(USE, use, REMOVED, removed, INT, "", "1: the process removed it")                        \
	C(USE, use, TRUNCATED, truncated, INT, "", "times that the process truncated it")          \
	C(USE, use, SHORT_WRITES, short_writes, INT, "",                                           \
	  "short writes whose remainder the thread did not write next; of sockets the last one "   \
	  "before a close")                                                                        \
	C(USE, use, IGNORED, ignored, INT, "",                                                     \
	  "failed writes, syncs and closes that leave data unsafe, after which the thread "        \
	  "continued as after successful ones")                                                    \
	C(USE, use, ENTRIES, entries, SIZE, "bytes", "bytes of directory entries listed")          \
	C(USE, use, INEXACT, inexact, INT, "",                                                     \
	  "1: sums of ranges are bounds because there were too many ranges, or files > 1")

#define SCHEMA_HABIT(C)                                                                        \
	C(HABIT, habit, PROCESS_ID, process_id, ID, ">process", "the process")                 \
	C(HABIT, habit, THREAD_ID, thread_id, ID, ">thread", "the thread, its latest version") \
	C(HABIT, habit, FILE_ID, file_id, ID, ">file",                                         \
	  "the file; null if the calls are on several")                                        \
	C(HABIT, habit, PATTERN, pattern, BYTES, "",                                           \
	  "its path with # for numbers, or the common part of the paths")                      \
	C(HABIT, habit, CALLS_TEXT, sequence, BYTES, "",                                       \
	  "the operations, separated by spaces; + after one that repeats")                     \
	C(HABIT, habit, FILES, files, INT, "", "different files")                              \
	C(HABIT, habit, TIMES, times, INT, "", "number of repetitions of the sequence")        \
	C(HABIT, habit, CALLS, calls, INT, "", "total calls")                                  \
	C(HABIT, habit, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                  \
	C(HABIT, habit, TIME, time, DUR, "ns", "time in them, including waits")                \
	C(HABIT, habit, WAIT_TIME, wait_time, DUR, "ns", "part of it in waiting calls")        \
	C(HABIT, habit, PERIOD, period, DUR, "ns", "median from one beginning to the next")    \
	C(HABIT, habit, FIRST, first_start, TIME, "ns", "start of the first call")             \
	C(HABIT, habit, LAST, last_stop, TIME, "ns", "end of the last call")                   \
	C(HABIT, habit, SCOPE, scope, BYTES, "",                                               \
	  "file (all calls of the thread on one file from an open on, whatever it did in "     \
	  "between) or thread (all its calls in sequence)")                                    \
	C(HABIT, habit, STEPS, steps, INT, "", "operations in the sequence")                   \
	C(HABIT, habit, ERRORS, errors, INT, "", "calls that failed")                          \
	C(HABIT, habit, INEXACT, inexact, INT, "",                                             \
	  "1: lower bound, or files are estimated: there was too much to keep")

#define SCHEMA_STALL(C)                                                                            \
	C(STALL, stall, PROCESS_ID, process_id, ID, ">process", "the process")                     \
	C(STALL, stall, THREAD_ID, thread_id, ID, ">thread", "the thread, its latest version")     \
	C(STALL, stall, OP, op, CODE, "", "the call that waited or failed")                        \
	C(STALL, stall, ERR, err, CODE, "", "the errno if they all have the same; else null")      \
	C(STALL, stall, WHAT, what, BYTES, "",                                                     \
	  "idle (ended by new work, or by a timeout without work), work (in the middle of work), " \
	  "retry (failed and was repeated), poll (polled for a change)")                           \
	C(STALL, stall, FILE_ID, file_id, ID, ">file",                                             \
	  "what it waited for: file, lock, the last socket to a peer; null if several")            \
	C(STALL, stall, PEER_ID, peer_id, ID, ">file",                                             \
	  "the file row with the peer's address, if it waited for a peer")                         \
	C(STALL, stall, WAKER_ID, waker_id, ID, ">thread",                                         \
	  "the thread that ended most of the waits")                                               \
	C(STALL, stall, TIMES, times, INT, "", "waits, or failures")                               \
	C(STALL, stall, TIMEOUTS, timeouts, INT, "", "those that timed out")                       \
	C(STALL, stall, TIME, time, DUR, "ns", "time in them, and in the waits between attempts")  \
	C(STALL, stall, LONGEST, longest, DUR, "ns", "the longest")                                \
	C(STALL, stall, TYPICAL, typical, DUR, "ns", "the median")                                 \
	C(STALL, stall, RUNQ, runq, DUR, "ns",                                                     \
	  "part of it in which the thread was runnable but had no CPU")                            \
	C(STALL, stall, PERIOD, period, DUR, "ns", "median from one beginning to the next")        \
	C(STALL, stall, FIRST, first_start, TIME, "ns", "start of the first")                      \
	C(STALL, stall, LAST, last_stop, TIME, "ns", "end of the last")                            \
	C(STALL, stall, PAUSED, paused, DUR, "ns",                                                 \
	  "part of time: waits between attempts, which are in no other row")

#define SCHEMA_PRESS(C)                                                                          \
	C(PRESS, press, WINDOW, window_start, TIME, "ns", "start of the window")                 \
	C(PRESS, press, DEV, dev, INT, "", "the device of the files, as in file.dev")            \
	C(PRESS, press, PROCESS_ID, process_id, ID, ">process",                                  \
	  "the process; null: all but the 64 groups with most time on the device")               \
	C(PRESS, press, THREAD_ID, thread_id, ID, ">thread",                                     \
	  "one of the threads of the group, which is all threads of the process with the same "  \
	  "name")                                                                                \
	C(PRESS, press, CALLS, calls, INT, "",                                                   \
	  "completed calls that reached the device: writes, syncs, O_DIRECT, others that slept") \
	C(PRESS, press, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                    \
	C(PRESS, press, TIME, time, DUR, "ns", "time in such calls within the window")           \
	C(PRESS, press, LONGEST, longest, DUR, "ns", "the longest completed call")               \
	C(PRESS, press, SYNCS, syncs, INT, "", "syncs among the calls")                          \
	C(PRESS, press, WIDTH, width, DUR, "ns",                                                 \
	  "length of the window: 100 ms; longer in very long recordings, the same in all rows")

#define SCHEMA_RIVAL(C)                                                                           \
	C(RIVAL, rival, DEV, dev, INT, "", "the device")                                          \
	C(RIVAL, rival, PROCESS_ID, process_id, ID, ">process", "the process that became slower") \
	C(RIVAL, rival, THREAD_ID, thread_id, ID, ">thread", "one of its threads, as in press")   \
	C(RIVAL, rival, RIVAL_ID, rival_id, ID, ">process", "the process of the other group")     \
	C(RIVAL, rival, RIVAL_THREAD_ID, rival_thread_id, ID, ">thread", "one of its threads")    \
	C(RIVAL, rival, WINDOWS, windows, INT, "",                                                \
	  "windows in which calls of the first group ended, as in press")                         \
	C(RIVAL, rival, BUSY_WINDOWS, busy_windows, INT, "",                                      \
	  "those in which the other group was in calls for at least 1/100 of the window")         \
	C(RIVAL, rival, QUIET, quiet_dur, DUR, "ns",                                              \
	  "mean time that the calls of busy windows would have taken if each took the mean of "   \
	  "its kind (sync, write, other) in quiet windows; without waiting for a CPU")            \
	C(RIVAL, rival, BUSY, busy_dur, DUR, "ns", "mean time that they took")                    \
	C(RIVAL, rival, LOST, lost_time, DUR, "ns", "the difference, over all of these calls")    \
	C(RIVAL, rival, BYTES, bytes, SIZE, "bytes",                                              \
	  "bytes that the other group moved in that time")                                        \
	C(RIVAL, rival, SYNCS, syncs, INT, "", "its syncs in that time")                          \
	C(RIVAL, rival, CORRELATION, correlation, INT, "",                                        \
	  "rank correlation of the slowness of the first group's calls with the other group's "   \
	  "time, per window, in 1/1000")                                                          \
	C(RIVAL, rival, LAG, lag, DUR, "ns",                                                      \
	  "the lag of the first group behind the other, best fit")                                \
	C(RIVAL, rival, FIRST, first_start, TIME, "ns", "the first busy window")                  \
	C(RIVAL, rival, LAST, last_stop, TIME, "ns", "the end of the last one")                   \
	C(RIVAL, rival, SPELLS, spells, INT, "",                                                  \
	  "times that a busy window followed a quiet one; a few may be coincidence")

#define SCHEMA_FDLIFE(C)                                                                           \
	C(FDLIFE, fdlife, PROCESS_ID, process_id, ID, ">process", "the process")                   \
	C(FDLIFE, fdlife, THREAD_ID, thread_id, ID, ">thread",                                     \
	  "the thread with most opens, if it made more than half of them; else any")               \
	C(FDLIFE, fdlife, FILE_ID, file_id, ID, ">file", "the last of the files")                  \
	C(FDLIFE, fdlife, PATTERN, pattern, BYTES, "",                                             \
	  "their path with # for numbers, the connection with # for the end that varies, or tcp, " \
	  "pipe, ...")                                                                             \
	C(FDLIFE, fdlife, FILES, files, INT, "", "different files")                                \
	C(FDLIFE, fdlife, OPENED, opened, INT, "", "descriptors opened, duplicates included")      \
	C(FDLIFE, fdlife, CLOSED, closed, INT, "",                                                 \
	  "descriptors closed, including by exec, and including those of `before`")                \
	C(FDLIFE, fdlife, OPEN_MOST, open_most, INT, "", "maximum number open at a time")          \
	C(FDLIFE, fdlife, OPEN_END, open_end, INT, "",                                             \
	  "open at the end of the process or recording")                                           \
	C(FDLIFE, fdlife, RISING, rising, INT, "",                                                 \
	  "how many of the seven steps between eighths of the time from the first open to the "    \
	  "end raised the minimum number open: 7 is a leak, 0 is normal use")                      \
	C(FDLIFE, fdlife, DELETED, deleted, INT, "",                                               \
	  "those open at the end whose file was deleted")                                          \
	C(FDLIFE, fdlife, DELETED_BYTES, deleted_bytes, SIZE, "bytes",                             \
	  "bytes that the process wrote to these files")                                           \
	C(FDLIFE, fdlife, REQUESTS, requests, INT, "",                                             \
	  "sockets: number of turns from sending to receiving")                                    \
	C(FDLIFE, fdlife, FIRST, first_start, TIME, "ns", "start of the first open")               \
	C(FDLIFE, fdlife, LAST, last_stop, TIME, "ns", "end of the last call on them")             \
	C(FDLIFE, fdlife, BEFORE, before, INT, "",                                                 \
	  "descriptors found open: from before recording, inherited or received; detected at the " \
	  "first call on them and counted as open from the beginning")                             \
	C(FDLIFE, fdlife, INEXACT, inexact, INT, "",                                               \
	  "1: a close or an open was missed, or there was too much to keep")

#define SCHEMA_FINDING(C)                                                                          \
	C(FINDING, finding, RULE, rule, BYTES, "", "the rule that found it")                       \
	C(FINDING, finding, LEVEL, level, BYTES, "", "note, warning or problem")                   \
	C(FINDING, finding, SENTENCE, sentence, BYTES, "", "what is wrong")                        \
	C(FINDING, finding, FILE_ID, file_id, ID, ">file", "the file; null if it concerns none")   \
	C(FINDING, finding, PATTERN, pattern, BYTES, "", "the number of files, if several")        \
	C(FINDING, finding, PEER_ID, peer_id, ID, ">file", "the file row with the peer's address") \
	C(FINDING, finding, PROCESS_ID, process_id, ID, ">process", "who did it")                  \
	C(FINDING, finding, THREAD_ID, thread_id, ID, ">thread", "which thread")                   \
	C(FINDING, finding, CALLS, calls, INT, "", "calls concerned")                              \
	C(FINDING, finding, BYTES, bytes, SIZE, "bytes", "bytes concerned")                        \
	C(FINDING, finding, TIME, time, DUR, "ns", "time that it costs")                           \
	C(FINDING, finding, SHARE, share, INT, "",                                                 \
	  "share of the time that work waited for I/O, in 1/1000; null if time is not the issue")  \
	C(FINDING, finding, SURE, sure, BYTES, "",                                                 \
	  "yes, or the reason for doubt: lost calls, inexact ranges")                              \
	C(FINDING, finding, POS, pos, INT, "bytes", "position in the file")                        \
	C(FINDING, finding, STOP_POS, stop_pos, INT, "bytes", "to where")                          \
	C(FINDING, finding, FIRST, first_start, TIME, "ns", "start of the first call")             \
	C(FINDING, finding, LAST, last_stop, TIME, "ns", "end of the last call")                   \
	C(FINDING, finding, ASK, ask, BYTES, "", "the query that reproduces it")                   \
	C(FINDING, finding, REMEDY, remedy, BYTES, "", "what to change")
