/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared.h: options shared by several commands. A command that records has `struct record_flags rec` in its options
 * struct and RECORD_FLAGS(struct its_options, rec) in its table; one that reads traces has `struct read_flags read`
 * and READ_FLAGS(...). Both contain the selection, which has the same meaning everywhere.
 */
#pragma once

#include "capture/ebpf/ebpf.h"
#include "cli/options/command.h"
#include "engine/engine.h"
#include "schema/select.h"
#include "store/store.h"

/* What to keep: in the kernel while recording, from the trace while reading. */
struct select_flags {
	struct option_list pids, tids, comms, uids, units, containers, cgroups, ops, paths;
	bool failed_only;
	int64_t slower_ns;
	struct option_list where; /* see record/record_where.h */
};

struct record_flags {
	struct select_flags sel;
	bool everything; /* -a */
	bool no_follow;
	bool explain;
	const char *user;	 /* -u: the user that the command runs as; NULL: the caller */
	uint64_t ring_bytes;	 /* per CPU; 0: default */
	struct option_list with; /* see record_flags_with() */
	const char *stacks;	 /* see record_flags_stacks() */
	const char *content;	 /* see record_flags_content() */
	int64_t strace_f;	 /* -f is always on in weir; -ff applies to trace */
	bool strace_T, strace_y; /* accepted; always on in weir */
	bool phases;		 /* --with phases */
};

struct read_flags {
	struct select_flags sel;
	struct option_list inputs; /* -i; see read_flags_open() */
	struct option_list hosts;  /* --host; likewise */
	bool json, utc, rel;
	const char *from, *to; /* as given; see read_flags_range() */
};

#define SHARED_ROW(type, member, s, l, t, value, field, help, ...)              \
	{                                                                       \
		s, l, t, value, help, offsetof(type, member.field), __VA_ARGS__ \
	}

#define SELECT_FLAGS(type, member, pid_help)                                                       \
	SHARED_ROW(type, member, 'p', "pid", OPTION_LIST, "PID", pids, pid_help),                  \
		SHARED_ROW(                                                                        \
			type, member, 't', "tid", OPTION_LIST, "TID", tids,                        \
			"only these threads; with -p, these and the threads of those processes"),  \
		SHARED_ROW(type, member, 0, "comm", OPTION_LIST, "NAME", comms,                    \
			   "only threads of this name"),                                           \
		SHARED_ROW(type, member, 0, "uid", OPTION_LIST, "USER", uids,                      \
			   "only this user, a name or a number"),                                  \
		SHARED_ROW(type, member, 0, "unit", OPTION_LIST, "UNIT", units,                    \
			   "only this systemd unit"),                                              \
		SHARED_ROW(type, member, 0, "container", OPTION_LIST, "ID", containers,            \
			   "only this container: its name, its id, or how the id begins"),         \
		SHARED_ROW(type, member, 0, "cgroup", OPTION_LIST, "PATH", cgroups,                \
			   "only this control group and those below it"),                          \
		SHARED_ROW(type, member, 'e', NULL, OPTION_LIST, "SET", ops,                       \
			   "only these calls, as strace spells them: openat,%file; !%network; "    \
			   "trace=%desc; /^p.*64$",                                                \
			   .words = select_op_word),                                               \
		SHARED_ROW(type, member, 'P', "path", OPTION_LIST, "PATH", paths,                  \
			   "only calls on this file, below this folder, or on files that match a " \
			   "glob (** crosses folders); a glob that begins with * matches "         \
			   "anywhere, any other relative path starts from the working directory"), \
		SHARED_ROW(type, member, 'Z', "failed-only", OPTION_FLAG, NULL, failed_only,       \
			   "only calls that failed"),                                              \
		SHARED_ROW(type, member, 0, "slower", OPTION_DURATION, "TIME", slower_ns,          \
			   "only calls that took this long or longer: 1ms, 200us", .zero = true),  \
		SHARED_ROW(type, member, 0, "where", OPTION_LIST, "EXPR", where,                   \
			   "only calls for which this is true, as in weir query: 'dur > 1ms && "   \
			   "path ~ "                                                               \
			   "\"*.sst\"'")

#define RECORD_FLAGS(type, member)                                                                 \
	SHARED_ROW(type, member, 'a', "all", OPTION_FLAG, NULL, everything,                        \
		   "the whole host except weir's own calls; in a pid namespace (a container) "     \
		   "that namespace and those below it"),                                           \
		SELECT_FLAGS(                                                                      \
			type, member.sel,                                                          \
			"these processes with all their threads and their children, existing and " \
			"future (without them: --no-follow); repeatable, or PID,PID"),             \
		SHARED_ROW(type, member, 0, "no-follow", OPTION_FLAG, NULL, no_follow,             \
			   "leave out the children of the selected processes"),                    \
		SHARED_ROW(type, member, 0, "explain", OPTION_FLAG, NULL, explain,                 \
			   "show which part of --where the kernel tests, and record nothing"),     \
		SHARED_ROW(type, member, 'u', "user", OPTION_STRING, "USER", user,                 \
			   "run the command as this user"),                                        \
		SHARED_ROW(type, member, 0, "ring", OPTION_SIZE, "SIZE", ring_bytes,               \
			   "ring buffer per CPU, a power of two from 64KiB to 1GiB"),              \
		SHARED_ROW(                                                                        \
			type, member, 0, "with", OPTION_LIST, "WHAT", with,                        \
			"record this in addition to calls: block, net, phases, sched, irq, mem, "  \
			"faults, "                                                                 \
			"stacks, content, details; repeatable, or WHAT,WHAT; weir doctor shows "   \
			"what this "                                                               \
			"kernel "                                                                  \
			"allows",                                                                  \
			.words = ebpf_with_word),                                                  \
		SHARED_ROW(type, member, 0, "phases", OPTION_FLAG, NULL, phases,                   \
			   "where the time of each call went: CPU, run queue, I/O, sleep"),        \
		SHARED_ROW(type, member, 0, "stacks", OPTION_STRING, "CALLS", stacks,              \
			   "record which functions led to a call, and where the kernel slept: "    \
			   "=slow (1 ms and longer), =5ms, =failed, =slow,failed (the default), "  \
			   "=all",                                                                 \
			   .bare = "slow,failed"),                                                 \
		SHARED_ROW(type, member, 0, "content", OPTION_STRING, "WHAT", content,             \
			   "record the content that calls move: =hash, a hash of each 4 KiB of a " \
			   "file or stream (the default); =bytes, the bytes themselves; "          \
			   "=bytes:4KiB, at most 4 KiB of each call; =chunks, hashes of "          \
			   "content-defined chunks; =hash,1/16, hashes of one piece in 16",        \
			   .bare = "hash"),                                                        \
		SHARED_ROW(type, member, 'f', NULL, OPTION_TIMES, NULL, strace_f, NULL),           \
		SHARED_ROW(type, member, 'T', NULL, OPTION_FLAG, NULL, strace_T, NULL),            \
		SHARED_ROW(type, member, 'y', NULL, OPTION_FLAG, NULL, strace_y, NULL)

/* For tables of options without all READ_FLAGS. */
#define HOST_FLAG(type, field)                                                                    \
	{                                                                                         \
		0, "host", OPTION_LIST, "NAME",                                                   \
			"of several traces, or of a store of many machines, only what this host " \
			"recorded; repeatable",                                                   \
			offsetof(type, field)                                                     \
	}

#define READ_FLAGS(type, member)                                                                 \
	SHARED_ROW(type, member, 'i', "input", OPTION_LIST, "TRACE", inputs,                     \
		   "read this trace, or every trace in this folder; repeatable; weir.trace if "  \
		   "none is named"),                                                             \
		HOST_FLAG(type, member.hosts),                                                   \
		SHARED_ROW(type, member, 0, "json", OPTION_FLAG, NULL, json,                     \
			   "print one JSON document; sizes in bytes, durations in nanoseconds"), \
		SHARED_ROW(type, member, 0, "from", OPTION_STRING, "TIME", from,                 \
			   "from this time: +1.5s after the start, -2s before the end, "         \
			   "09:55:03.5, 2026-11-21T09:55:03"),                                   \
		SHARED_ROW(type, member, 0, "to", OPTION_STRING, "TIME", to,                     \
			   "up to this time, in the same forms"),                                \
		SHARED_ROW(type, member, 0, "utc", OPTION_FLAG, NULL, utc,                       \
			   "times in UTC instead of local time"),                                \
		SHARED_ROW(type, member, 0, "rel", OPTION_FLAG, NULL, rel,                       \
			   "times as seconds since the start of the trace"),                     \
		SELECT_FLAGS(type, member.sel,                                                   \
			     "only these processes, with all their threads but without their "   \
			     "children; repeatable, or PID,PID")

/* Options of the commands that run the embedded engine. */
struct engine_flags {
	const char *library;
	uint64_t memory, spill;
	int64_t threads;
};

#define ENGINE_FLAGS(type, member)                                                               \
	SHARED_ROW(type, member, 0, "memory", OPTION_SIZE, "SIZE", memory,                       \
		   "memory that the engine may use (default 512MiB)"),                           \
		SHARED_ROW(type, member, 0, "spill", OPTION_SIZE, "SIZE", spill,                 \
			   "size of its temporary files in $TMPDIR or /var/tmp (default 4GiB)"), \
		SHARED_ROW(type, member, 0, "threads", OPTION_COUNT, "N", threads,               \
			   "threads (default: one per CPU)"),                                    \
		SHARED_ROW(type, member, 0, "duckdb", OPTION_STRING, "FILE", library,            \
			   "DuckDB's library, instead of weir's own and of $WEIR_DUCKDB")

#define TRACE_DEFAULT "weir.trace" /* in the working directory, like perf.data */

/*
 * The selection for a recording. Processes must exist; units and containers are converted to cgroup folders. Options
 * that exclude each other, unknown words and names are errors. Call select_free() on the result.
 */
int record_flags_select(const struct record_flags *f, struct select *ret, struct error *err);
/* The data of --with, for recording_options.with. An unknown word is an error that lists the known ones. */
int record_flags_with(const struct record_flags *f, uint32_t *ret, struct error *err);
/* The calls that get stacks, from --stacks or --with stacks. */
int record_flags_stacks(const struct record_flags *f, uint32_t with, struct wire_stacks *ret,
			struct error *err);
/* The content to keep, from --content or --with content. */
int record_flags_content(const struct record_flags *f, uint32_t with, struct wire_content_how *ret,
			 struct error *err);
/* The selection over a trace, whose pids and cgroups are those of the recorded host and need not exist here. */
int read_flags_select(const struct read_flags *f, struct select *ret, struct error *err);
/* True if no option says what to record (-p, -a, --unit, ...) and there is no command. */
bool record_flags_no_target(const struct record_flags *f);

/*
 * The address of an engine (engine/engine.h), if that is the only input; NULL: the inputs are paths. -EINVAL: no
 * engine accepts the address, or there are several inputs.
 */
int read_flags_address(const struct read_flags *f, int argc, char **argv, const char **ret,
		       struct error *err);
/* Connects to the engine at an address, for the chosen hosts. */
int read_flags_connect(const struct read_flags *f, const char *address,
		       struct engine_options options, struct engine **ret, struct error *err);
/* For commands that read trace files: -EINVAL if the text is an address. */
int input_is_path(const char *text, struct error *err);
/* The input as the user wrote it: the address, if the path is that of a fetched file. */
const char *input_shown(const char *path);
/*
 * The paths of -i and of the remaining arguments; TRACE_DEFAULT if there are none. For an engine's address, the rows
 * of the range are fetched into a file that exists until the process ends. free() *ret.
 */
int read_flags_paths(const struct read_flags *f, int argc, char **argv, const char ***ret,
		     size_t *ret_count, struct error *err);
/* Opens the traces of these paths. */
int read_flags_open(const struct read_flags *f, int argc, char **argv, struct store **ret,
		    struct error *err);
/* The engine's options from the flags. */
struct engine_options engine_flags_options(const struct engine_flags *f);
/* 0, or the exit status for a wrong value. */
int engine_flags_check(const struct engine_flags *f, const char *command);
/* True if the text has the form of a time, as --from and --to take it. */
bool read_is_time(const char *text);
/* --from and --to, relative to the trace's first and last time; INT64_MIN and INT64_MAX if not given. */
int read_flags_range(const struct read_flags *f, int64_t first, int64_t last, int64_t *ret_from,
		     int64_t *ret_to, struct error *err);

/* A user by name or number, from /etc/passwd, as a static program has no name service. */
struct user {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};
int user_find(const char *text, struct user *ret, struct error *err);
