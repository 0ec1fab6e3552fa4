/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: display names of tasks, processes and paths, and which of their ids denote the same one. The only
 * definition; report, stat, top, diff, the language, SQL and the pages use it. Texts are raw bytes from the programs;
 * the code that prints them escapes them. For the name of a single file see dims_file_name().
 */
#pragma once

#include "base/buf.h"
#include "batch/dims.h"

/*
 * The name under which a user knows the program of a process: the name that exec gave its first thread ("redis-server",
 * "sh", "build.sh"). It is the name that the program was started by, whatever file /proc/PID/exe resolves to. The
 * kernel truncates it to 15 bytes; the rest is taken from the argument that it was derived from. A name that the
 * program later gave to its first thread names that thread, not the process. Empty if unknown.
 */
struct bytes names_program(const struct dims *d, int64_t process_id);
/* "redis-server 7208": the program and the pid. "process ?3" for an id without a row. 0 or -ENOMEM. */
int names_process(const struct dims *d, int64_t process_id, struct buf *out);
/* "rocksdb:low 4712": the latest name of the thread, and its tid. "thread ?5" for an id without a row. */
int names_thread(const struct dims *d, int64_t thread_id, struct buf *out);

/* The process of a thread version, -1 if unknown; and its pid. */
int64_t names_process_of(const struct dims *d, int64_t thread_id);
int64_t names_pid(const struct dims *d, int64_t thread_id);
/* The id that represents all versions of a thread: the first version's id. The id itself if unknown. */
int64_t names_task(const struct dims *d, int64_t thread_id);
/* The id that represents all versions of a file, likewise. names/file_lines.h unifies more ids. */
int64_t names_inode(const struct dims *d, int64_t file_id);
/* True if no row of host before the i-th has its name: a machine has one row for each boot. */
bool names_host_is_new(const struct dims *d, size_t i);
/* The number of machines with different names. */
size_t names_hosts(const struct dims *d);
/* The name of the machine on which a process, thread or file version was recorded, `table`; empty if
 * unknown, as of the files of a server. */
struct bytes names_host(const struct dims *d, enum table_id table, int64_t id);
/*
 * Appends the machine if there are several, as it precedes the names of threads, processes and files in all texts:
 * "db1:"; "?:" if it is unknown. 0 or -ENOMEM.
 */
int names_put_host(const struct dims *d, enum table_id table, int64_t id, struct buf *out);
/* The last part of a path: "b" of "/a/b"; the whole name if it has no slash. */
struct bytes names_base(struct bytes path);
/* A path without trailing "/" and "/.". */
struct bytes names_trimmed(struct bytes path);
/*
 * Distinguishes processes that have the same name: for each of `ids` (duplicates are allowed) the first argument in
 * which processes of that name differ; {NULL, 0} if there is none or the name is unique. free() the result. 0 or
 * -ENOMEM.
 */
int names_apart(const struct dims *d, const int64_t *ids, size_t count, struct bytes **ret);
/*
 * Appends the text with '#' for every part that varies between runs, such as numbers and generated words: "x.4711"
 * becomes "x.#". *ret_changed is set if anything was replaced. 0 or -ENOMEM.
 */
int names_pattern(struct bytes text, struct buf *out, bool *ret_changed);
