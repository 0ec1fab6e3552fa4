/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: what a task, a process and a path are called, and which of their ids are one: the one
 * definition behind report, stat, top, diff, the language, SQL and the pages. Texts are bytes as the
 * programs chose them; the code that prints them makes them safe. What one file is called: dims_file_name().
 */
#pragma once

#include "base/buf.h"
#include "batch/dims.h"

/*
 * The name that a person knows the program of a process by: the name that exec gave its first thread
 * ("redis-server", "sh", "build.sh"), which is the name the program was started by, whatever file
 * /proc/PID/exe resolves to. The kernel cuts it to 15 bytes: the argument that it was made from has the
 * rest. A name that the program gave to its first thread later is the thread's, not the process's. Empty
 * where nothing is known.
 */
struct bytes names_program(const struct dims *d, int64_t process_id);
/* "redis-server 7208": the program and the pid. "process ?3" for an id without a row. 0 or -ENOMEM. */
int names_process(const struct dims *d, int64_t process_id, struct buf *out);
/* "rocksdb:low 4712": the latest name of the thread, and its tid. "thread ?5" for an id without a row. */
int names_thread(const struct dims *d, int64_t thread_id, struct buf *out);

/* The process of a version of a thread, -1 where it is unknown; and its pid. */
int64_t names_process_of(const struct dims *d, int64_t thread_id);
int64_t names_pid(const struct dims *d, int64_t thread_id);
/* The id that stands for all versions of a thread: the first one's. The id itself where it is unknown. */
int64_t names_task(const struct dims *d, int64_t thread_id);
/* The id that stands for all versions of a file, likewise. What else is one file to a reader: names/file_lines.h. */
int64_t names_inode(const struct dims *d, int64_t file_id);
/* The last part of a path: "b" of "/a/b"; all of a name without a slash. */
struct bytes names_base(struct bytes path);
/* A path without "/" and "/." behind it, with which a folder may be asked for. */
struct bytes names_trimmed(struct bytes path);
/*
 * Distinguishes processes that share a name: for each of `ids`, in which one may stand several times, the first argument in
 * which those of its name differ; {NULL, 0} if it has none, or no other has its name. free() it. 0 or -ENOMEM.
 */
int names_apart(const struct dims *d, const int64_t *ids, size_t count, struct bytes **ret);
/*
 * Appends the text with what changes from run to run, numbers and words that a program made up, as '#': "x.4711" becomes
 * "x.#"; *ret_changed: there was any. 0 or -ENOMEM.
 */
int names_pattern(struct bytes text, struct buf *out, bool *ret_changed);
