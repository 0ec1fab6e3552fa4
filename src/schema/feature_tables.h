/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_tables.h: the tables that are made from a recorded trace (analysis/features/), and what rules find in them
 * (analysis/diagnose/). Declared as those of tables.h are. Counts that may be too small or too large because a set of ranges
 * outgrew its bound are marked by `inexact`.
 */
#pragma once

#define SCHEMA_FEATURE_TABLES(TABLE)                                                            \
	TABLE(USE, use, MADE, USE_FIRST, NO_COLUMN, USE_LAST,                                   \
	      "what one process did with one file (a generation of it)")                        \
	TABLE(HABIT, habit, MADE, HABIT_FIRST, NO_COLUMN, HABIT_LAST,                           \
	      "a sequence of calls that a thread repeats")                                      \
	TABLE(STALL, stall, MADE, STALL_FIRST, NO_COLUMN, STALL_LAST,                           \
	      "the waits of one thread for one thing")                                          \
	TABLE(PRESS, press, MADE, PRESS_WINDOW, NO_COLUMN, NO_COLUMN,                           \
	      "100 ms of one group of threads on one device")                                   \
	TABLE(RIVAL, rival, MADE, RIVAL_FIRST, NO_COLUMN, RIVAL_LAST,                           \
	      "two groups of threads on one device: how the latency of one follows the I/O of " \
	      "the "                                                                            \
	      "other")                                                                          \
	TABLE(FDLIFE, fdlife, MADE, FDLIFE_FIRST, NO_COLUMN, FDLIFE_LAST,                       \
	      "the descriptors that a process had of files with names of one pattern")          \
	TABLE(FINDING, finding, MADE, FINDING_FIRST, NO_COLUMN, FINDING_LAST,                   \
	      "something that a rule found to be wrong")

#define SCHEMA_USE(C)                                                                              \
	C(USE, use, PROCESS_ID, process_id, ID, ">process", "the process")                         \
	C(USE, use, THREAD_ID, thread_id, ID, ">thread",                                           \
	  "of its threads the one that spent most time in I/O on the file, its latest version")    \
	C(USE, use, THREADS, threads, INT, "", "threads of the process that used the file")        \
	C(USE, use, FILE_ID, file_id, ID, ">file", "the file, its latest version")                 \
	C(USE, use, PATTERN, pattern, BYTES, "",                                                   \
	  "its path with # for numbers and random letters: x.4711 and x.4712 are x.#; of several " \
	  "files their folder")                                                                    \
	C(USE, use, FILES, files, INT, "",                                                         \
	  "1; several where there were too many uses: then file_id is one of them")                \
	C(USE, use, FIRST, first_start, TIME, "ns", "start of the first call")                     \
	C(USE, use, LAST, last_stop, TIME, "ns", "end of the last call")                           \
	C(USE, use, CALLS, calls, INT, "", "calls of I/O")                                         \
	C(USE, use, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                          \
	C(USE, use, TIME, time, DUR, "ns", "time in them")                                         \
	C(USE, use, ERRORS, errors, INT, "", "of them failed")                                     \
	C(USE, use, OPENS, opens, INT, "", "times that it was opened")                             \
	C(USE, use, OPEN_TIME, open_time, DUR, "ns", "time in open and close")                     \
	C(USE, use, OPEN_MOST, open_most, INT, "", "most descriptors of it open at once")          \
	C(USE, use, MISSING, missing, INT, "", "calls that failed because there is no such file")  \
	C(USE, use, STATS, stats, INT, "", "calls that read its attributes")                       \
	C(USE, use, STAT_TIME, stat_time, DUR, "ns", "time in them")                               \
	C(USE, use, READS, reads, INT, "",                                                         \
	  "reads that succeeded, those at the end and sendfile, splice, copy_file_range included") \
	C(USE, use, READ_BYTES, read_bytes, SIZE, "bytes",                                         \
	  "bytes read; a mapped range counts once, where it was not read otherwise")               \
	C(USE, use, READ_TIME, read_time, DUR, "ns", "time in reads")                              \
	C(USE, use, READ_HIST, read_hist, BYTES, "", "packed histogram of bytes per read")         \
	C(USE, use, SMALL_READS, small_reads, INT, "", "reads of 1 byte to 4 KiB less one")        \
	C(USE, use, TINY_READS, tiny_reads, INT, "", "reads of 1 to 16 bytes")                     \
	C(USE, use, END_READS, end_reads, INT, "", "reads that returned 0 bytes")                  \
	C(USE, use, PAST_READS, past_reads, INT, "",                                               \
	  "of these the ones that began beyond the end of the file")                               \
	C(USE, use, NEXT_READS, next_reads, INT, "",                                               \
	  "reads that began where the one before ended")                                           \
	C(USE, use, BACK_READS, back_reads, INT, "", "reads that began before the one before")     \
	C(USE, use, READ_FIRST, read_first, SIZE, "bytes", "position of the first read")           \
	C(USE, use, READ_STOP, read_stop, SIZE, "bytes", "end of what was read")                   \
	C(USE, use, READ_RANGES, read_ranges, INT, "", "separate ranges that were read")           \
	C(USE, use, READ_COVERED, read_covered, SIZE, "bytes", "different bytes that were read")   \
	C(USE, use, REREAD, reread, SIZE, "bytes",                                                 \
	  "bytes read that the process had read before and that had not been written since")       \
	C(USE, use, WRITES, writes, INT, "", "writes that succeeded, and copies into it")          \
	C(USE, use, WRITE_BYTES, write_bytes, SIZE, "bytes",                                       \
	  "bytes written; a range mapped shared and writable counts once, likewise")               \
	C(USE, use, WRITE_TIME, write_time, DUR, "ns", "time in writes")                           \
	C(USE, use, WRITE_HIST, write_hist, BYTES, "", "packed histogram of bytes per write")      \
	C(USE, use, SMALL_WRITES, small_writes, INT, "", "writes of 1 byte to 4 KiB less one")     \
	C(USE, use, NEXT_WRITES, next_writes, INT, "",                                             \
	  "writes that began where the one before ended")                                          \
	C(USE, use, APPENDS, appends, INT, "", "writes with O_APPEND")                             \
	C(USE, use, WRITE_FIRST, write_first, SIZE, "bytes", "position of the first write")        \
	C(USE, use, WRITE_STOP, write_stop, SIZE, "bytes", "end of what was written")              \
	C(USE, use, WRITE_COVERED, write_covered, SIZE, "bytes",                                   \
	  "different bytes that were written")                                                     \
	C(USE, use, UNREAD, unread, SIZE, "bytes",                                                 \
	  "bytes that it was the last to write, and that were not read afterwards; mapped ranges " \
	  "count as read")                                                                         \
	C(USE, use, UNREAD_FIRST, unread_first, SIZE, "bytes", "position of the first of them")    \
	C(USE, use, SKIPPED, skipped, SIZE, "bytes",                                               \
	  "bytes before its first read that another process wrote before, and that were not read") \
	C(USE, use, WRITER_ID, writer_id, ID, ">process",                                          \
	  "which other process wrote most of them, or wrote last before its first read")           \
	C(USE, use, OTHERS, others, INT, "", "other processes that used the file")                 \
	C(USE, use, TORN, torn, INT, "",                                                           \
	  "reads that ended within what a write that was still running wrote, or where another "   \
	  "process, which wrote the file anew, went on after the reader had closed it")            \
	C(USE, use, DIRECT, direct, INT, "", "reads and writes with O_DIRECT")                     \
	C(USE, use, MISALIGNED, misaligned, INT, "",                                               \
	  "of these the ones below 4 KiB, or not aligned to 4 KiB")                                \
	C(USE, use, SYNCS, syncs, INT, "",                                                         \
	  "fsync, fdatasync, msync, sync_file_range, O_SYNC writes")                               \
	C(USE, use, SYNC_TIME, sync_time, DUR, "ns", "time in them")                               \
	C(USE, use, DIRTY, dirty, SIZE, "bytes",                                                   \
	  "bytes written since the last sync of the file or file system by anybody")               \
	C(USE, use, RENAMED, renamed, INT, "", "times that the process renamed it")                \
	C(USE, use, UNSYNCED, unsynced, INT, "",                                                   \
	  "of these, over a file that was known to be there, with its own bytes not synced")       \
	C(USE, use, FOLDER_UNSYNCED, folder_unsynced, INT, "",                                     \
	  "1: it synced the file that it created or renamed, and no one synced the folder "        \
	  "afterwards")                                                                            \
	C(USE, use, CREATED, created, INT, "",                                                     \
	  "1: the process created it, by O_EXCL or by its time of birth")                          \
	C(USE, use, REMOVED, removed, INT, "", "1: the process removed it")                        \
	C(USE, use, TRUNCATED, truncated, INT, "", "times that the process cut it")                \
	C(USE, use, SHORT_WRITES, short_writes, INT, "",                                           \
	  "short writes whose rest the thread did not write next; none of sockets")                \
	C(USE, use, IGNORED, ignored, INT, "",                                                     \
	  "writes, syncs and closes that failed so that data are not safe, after which the "       \
	  "thread went on as after others")                                                        \
	C(USE, use, ENTRIES, entries, SIZE, "bytes", "bytes of folder entries that were listed")   \
	C(USE, use, INEXACT, inexact, INT, "",                                                     \
	  "1: sums of ranges are bounds, as there were too many, or files > 1")

#define SCHEMA_HABIT(C)                                                                        \
	C(HABIT, habit, PROCESS_ID, process_id, ID, ">process", "the process")                 \
	C(HABIT, habit, THREAD_ID, thread_id, ID, ">thread", "the thread, its latest version") \
	C(HABIT, habit, FILE_ID, file_id, ID, ">file",                                         \
	  "the file; null where the calls are on several")                                     \
	C(HABIT, habit, PATTERN, pattern, BYTES, "",                                           \
	  "its path with # for numbers, or what the paths of the files have in common")        \
	C(HABIT, habit, CALLS_TEXT, sequence, BYTES, "",                                       \
	  "the operations, separated by spaces; a + behind one that repeats")                  \
	C(HABIT, habit, FILES, files, INT, "", "different files")                              \
	C(HABIT, habit, TIMES, times, INT, "", "times that the sequence ran")                  \
	C(HABIT, habit, CALLS, calls, INT, "", "calls in all")                                 \
	C(HABIT, habit, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                  \
	C(HABIT, habit, TIME, time, DUR, "ns", "time in them, waits included")                 \
	C(HABIT, habit, WAIT_TIME, wait_time, DUR, "ns", "of it in calls that wait")           \
	C(HABIT, habit, PERIOD, period, DUR, "ns", "median from one beginning to the next")    \
	C(HABIT, habit, FIRST, first_start, TIME, "ns", "start of the first call")             \
	C(HABIT, habit, LAST, last_stop, TIME, "ns", "end of the last call")                   \
	C(HABIT, habit, SCOPE, scope, BYTES, "",                                               \
	  "file (all calls of the thread on one file, from an open on, whatever it did "       \
	  "between them) or thread (all its calls in sequence)")                               \
	C(HABIT, habit, STEPS, steps, INT, "", "operations of the sequence")                   \
	C(HABIT, habit, ERRORS, errors, INT, "", "calls that failed")                          \
	C(HABIT, habit, INEXACT, inexact, INT, "",                                             \
	  "1: it may have run more often, or files are estimated: there was too much to keep")

#define SCHEMA_STALL(C)                                                                            \
	C(STALL, stall, PROCESS_ID, process_id, ID, ">process", "the process")                     \
	C(STALL, stall, THREAD_ID, thread_id, ID, ">thread", "the thread, its latest version")     \
	C(STALL, stall, OP, op, CODE, "", "the call that waited or failed")                        \
	C(STALL, stall, ERR, err, CODE, "", "the errno of all of them; else null")                 \
	C(STALL, stall, WHAT, what, BYTES, "",                                                     \
	  "idle (ended by work, or by time without any), work (in the middle of work), retry "     \
	  "(failed and was called again), poll (asked again and again whether something changed)") \
	C(STALL, stall, FILE_ID, file_id, ID, ">file",                                             \
	  "what it waited for: file, lock, the last socket to a peer; null where several")         \
	C(STALL, stall, PEER_ID, peer_id, ID, ">file",                                             \
	  "the file row with the peer's address, where it waited for a peer")                      \
	C(STALL, stall, WAKER_ID, waker_id, ID, ">thread",                                         \
	  "the thread that ended most of the waits")                                               \
	C(STALL, stall, TIMES, times, INT, "", "waits, or failures")                               \
	C(STALL, stall, TIMEOUTS, timeouts, INT, "", "that ended by their time-out")               \
	C(STALL, stall, TIME, time, DUR, "ns", "time in them, and in the waits between tries")     \
	C(STALL, stall, LONGEST, longest, DUR, "ns", "the longest")                                \
	C(STALL, stall, TYPICAL, typical, DUR, "ns", "the median")                                 \
	C(STALL, stall, RUNQ, runq, DUR, "ns",                                                     \
	  "part of it in which the thread was ready to run and had no CPU")                        \
	C(STALL, stall, PERIOD, period, DUR, "ns", "median from one beginning to the next")        \
	C(STALL, stall, FIRST, first_start, TIME, "ns", "start of the first")                      \
	C(STALL, stall, LAST, last_stop, TIME, "ns", "end of the last")                            \
	C(STALL, stall, PAUSED, paused, DUR, "ns",                                                 \
	  "of time: waits between one try and the next, which are in no other row")

#define SCHEMA_PRESS(C)                                                                        \
	C(PRESS, press, WINDOW, window_start, TIME, "ns", "start of the window")               \
	C(PRESS, press, DEV, dev, INT, "", "the device of the files, as in file.dev")          \
	C(PRESS, press, PROCESS_ID, process_id, ID, ">process",                                \
	  "the process; null: those beside the 64 groups that take most time on the device")   \
	C(PRESS, press, THREAD_ID, thread_id, ID, ">thread",                                   \
	  "one of the threads of the group: those of the process with one name")               \
	C(PRESS, press, CALLS, calls, INT, "",                                                 \
	  "calls that reach the device and ended: writes, syncs, O_DIRECT, others that slept") \
	C(PRESS, press, BYTES, bytes, SIZE, "bytes", "bytes that they moved")                  \
	C(PRESS, press, TIME, time, DUR, "ns", "time in such calls within the window")         \
	C(PRESS, press, LONGEST, longest, DUR, "ns", "the longest call that ended")            \
	C(PRESS, press, SYNCS, syncs, INT, "", "of the calls: syncs")                          \
	C(PRESS, press, WIDTH, width, DUR, "ns",                                               \
	  "length of the window: 100 ms; in very long recordings more, in all rows alike")

#define SCHEMA_RIVAL(C)                                                                           \
	C(RIVAL, rival, DEV, dev, INT, "", "the device")                                          \
	C(RIVAL, rival, PROCESS_ID, process_id, ID, ">process", "who became slower")              \
	C(RIVAL, rival, THREAD_ID, thread_id, ID, ">thread", "one of its threads, as in press")   \
	C(RIVAL, rival, RIVAL_ID, rival_id, ID, ">process", "the process of the other group")     \
	C(RIVAL, rival, RIVAL_THREAD_ID, rival_thread_id, ID, ">thread", "one of its threads")    \
	C(RIVAL, rival, WINDOWS, windows, INT, "",                                                \
	  "windows in which calls of the first group ended, as in press")                         \
	C(RIVAL, rival, BUSY_WINDOWS, busy_windows, INT, "",                                      \
	  "of these, with the other in calls for at least 1/100 of the window")                   \
	C(RIVAL, rival, QUIET, quiet_dur, DUR, "ns",                                              \
	  "mean that the calls of busy windows would have taken if each took the mean of its "    \
	  "kind (sync, write, other) without the other group; waiting for a CPU left out")        \
	C(RIVAL, rival, BUSY, busy_dur, DUR, "ns", "mean that they took")                         \
	C(RIVAL, rival, LOST, lost_time, DUR, "ns", "the difference, over all of these calls")    \
	C(RIVAL, rival, BYTES, bytes, SIZE, "bytes", "bytes that the other moved meanwhile")      \
	C(RIVAL, rival, SYNCS, syncs, INT, "", "its syncs meanwhile")                             \
	C(RIVAL, rival, CORRELATION, correlation, INT, "",                                        \
	  "rank correlation of how slow the first's calls were with the other's time, by "        \
	  "window, in 1/1000")                                                                    \
	C(RIVAL, rival, LAG, lag, DUR, "ns", "by how much the first follows the other, best fit") \
	C(RIVAL, rival, FIRST, first_start, TIME, "ns", "the first busy window")                  \
	C(RIVAL, rival, LAST, last_stop, TIME, "ns", "the end of the last one")                   \
	C(RIVAL, rival, SPELLS, spells, INT, "",                                                  \
	  "times that busy windows followed a quiet one: few may be chance")

#define SCHEMA_FDLIFE(C)                                                                         \
	C(FDLIFE, fdlife, PROCESS_ID, process_id, ID, ">process", "the process")                 \
	C(FDLIFE, fdlife, THREAD_ID, thread_id, ID, ">thread",                                   \
	  "the thread that opened most, if it is more than half of them; else one that opened")  \
	C(FDLIFE, fdlife, FILE_ID, file_id, ID, ">file", "the last of the files")                \
	C(FDLIFE, fdlife, PATTERN, pattern, BYTES, "",                                           \
	  "their path with # for numbers, the connection with # for the end that has many, or "  \
	  "tcp, pipe, ...")                                                                      \
	C(FDLIFE, fdlife, FILES, files, INT, "", "different files")                              \
	C(FDLIFE, fdlife, OPENED, opened, INT, "", "descriptors opened, duplicates included")    \
	C(FDLIFE, fdlife, CLOSED, closed, INT, "",                                               \
	  "and closed, by exec as well, those of `before` included")                             \
	C(FDLIFE, fdlife, OPEN_MOST, open_most, INT, "", "most of them open at once")            \
	C(FDLIFE, fdlife, OPEN_END, open_end, INT, "",                                           \
	  "open at the end of the process or recording")                                         \
	C(FDLIFE, fdlife, RISING, rising, INT, "",                                               \
	  "of seven steps from one eighth of the process's time to the next, how many raised "   \
	  "the least number open: 7 is a leak, what comes and goes is 0")                        \
	C(FDLIFE, fdlife, DELETED, deleted, INT, "", "of those open at the end: without a name") \
	C(FDLIFE, fdlife, DELETED_BYTES, deleted_bytes, SIZE, "bytes",                           \
	  "bytes that the process wrote to these")                                               \
	C(FDLIFE, fdlife, REQUESTS, requests, INT, "",                                           \
	  "of sockets: times that sending turned to receiving")                                  \
	C(FDLIFE, fdlife, FIRST, first_start, TIME, "ns", "start of the first open")             \
	C(FDLIFE, fdlife, LAST, last_stop, TIME, "ns", "end of the last call on them")           \
	C(FDLIFE, fdlife, BEFORE, before, INT, "",                                               \
	  "descriptors that were found open: from before recording, inherited or received; "     \
	  "known from the first call on them, and counted as open from the beginning")           \
	C(FDLIFE, fdlife, INEXACT, inexact, INT, "",                                             \
	  "1: a close or an open was missed, or there was too much to keep")

#define SCHEMA_FINDING(C)                                                                          \
	C(FINDING, finding, RULE, rule, BYTES, "", "the rule that found it")                       \
	C(FINDING, finding, LEVEL, level, BYTES, "", "note, warning or problem")                   \
	C(FINDING, finding, SENTENCE, sentence, BYTES, "", "what is wrong")                        \
	C(FINDING, finding, FILE_ID, file_id, ID, ">file",                                         \
	  "the file; null where it is about none")                                                 \
	C(FINDING, finding, PATTERN, pattern, BYTES, "", "the files, where they are several")      \
	C(FINDING, finding, PEER_ID, peer_id, ID, ">file", "the file row with the peer's address") \
	C(FINDING, finding, PROCESS_ID, process_id, ID, ">process", "who did it")                  \
	C(FINDING, finding, THREAD_ID, thread_id, ID, ">thread", "which thread")                   \
	C(FINDING, finding, CALLS, calls, INT, "", "calls that it is about")                       \
	C(FINDING, finding, BYTES, bytes, SIZE, "bytes", "bytes that it is about")                 \
	C(FINDING, finding, TIME, time, DUR, "ns", "time that it costs")                           \
	C(FINDING, finding, SHARE, share, INT, "",                                                 \
	  "of the time that work waited for I/O, in 1/1000; null where time is not the point")     \
	C(FINDING, finding, SURE, sure, BYTES, "",                                                 \
	  "yes, or what else could be the case: lost calls, ranges beyond bounds")                 \
	C(FINDING, finding, POS, pos, INT, "bytes", "from where in the file")                      \
	C(FINDING, finding, STOP_POS, stop_pos, INT, "bytes", "to where")                          \
	C(FINDING, finding, FIRST, first_start, TIME, "ns", "start of the first call")             \
	C(FINDING, finding, LAST, last_stop, TIME, "ns", "end of the last call")                   \
	C(FINDING, finding, ASK, ask, BYTES, "", "the question that repeats it")                   \
	C(FINDING, finding, REMEDY, remedy, BYTES, "", "what to change")
