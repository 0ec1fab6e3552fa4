/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vocab.h: the fixed vocabularies of CODE columns. Codes go to disk: append only, never reuse.
 */
#pragma once

#include "base/util.h"

/* V(CODE, code, "word") */
/* clang-format off */
#define VOCAB_KIND(V) \
	V(KIND, SYSCALL, "syscall") V(KIND, IO_URING, "io_uring") V(KIND, LIBAIO, "libaio") \
	V(KIND, FAULT, "fault")
#define VOCAB_CLASS(V) \
	V(CLASS, DATA, "data") V(CLASS, META, "meta") V(CLASS, SYNC, "sync") \
	V(CLASS, NET, "net") V(CLASS, PROCESS, "process") V(CLASS, WAIT, "wait") \
	V(CLASS, OTHER, "other")
#define VOCAB_FILE_TYPE(V) \
	V(FILE_TYPE, UNKNOWN, "unknown") V(FILE_TYPE, REGULAR, "regular") V(FILE_TYPE, DIRECTORY, "directory") \
	V(FILE_TYPE, SYMLINK, "symlink") V(FILE_TYPE, CHAR, "char") V(FILE_TYPE, BLOCK, "block") \
	V(FILE_TYPE, PIPE, "pipe") V(FILE_TYPE, SOCKET, "socket") V(FILE_TYPE, ANON, "anon")
/* The causes of loss. Each loss is counted where it happened, and shown by every report that it can
 * change. */
#define VOCAB_CAUSE(V) \
	V(CAUSE, RING_FULL, "ring_full") V(CAUSE, RECURSION, "recursion") V(CAUSE, COMPAT, "compat") \
	V(CAUSE, UNPAIRED, "unpaired") V(CAUSE, STORAGE_FULL, "storage_full") V(CAUSE, PATH_CUT, "path_cut") \
	V(CAUSE, ARG_UNREAD, "argument_unread") V(CAUSE, NO_FILE, "no_file") V(CAUSE, THREAD_GAP, "thread_gap") \
	V(CAUSE, DISK_FULL, "disk_full") V(CAUSE, TORN, "torn") V(CAUSE, CORRUPT, "corrupt") \
	V(CAUSE, STOPPED, "stopped") V(CAUSE, HOLD_LIMIT, "hold_limit") V(CAUSE, DECODE, "decode") \
	V(CAUSE, WRITE_FAILED, "write_failed") V(CAUSE, RUNNING_UNREAD, "running_unread") \
	V(CAUSE, UNSENT, "unsent")
/* clang-format on */

#define VOCAB_ENUM(P, N, s) P##_##N,
enum call_kind { VOCAB_KIND(VOCAB_ENUM) KIND_COUNT };
enum op_class { VOCAB_CLASS(VOCAB_ENUM) CLASS_COUNT };
enum file_type { VOCAB_FILE_TYPE(VOCAB_ENUM) FILE_TYPE_COUNT };
enum loss_cause { VOCAB_CAUSE(VOCAB_ENUM) CAUSE_COUNT };
#undef VOCAB_ENUM

/* Bits of op.status. */
enum op_status {
	STATUS_UNFINISHED = 1 << 0, /* still running when recording stopped: ret is null */
	STATUS_INTERRUPTED =
		1 << 1,		/* -512 ... -516: will be restarted, ret as the kernel had it */
	STATUS_DENIED = 1 << 2, /* seccomp or ptrace denied it: the kernel never entered the call */
	STATUS_CONTESTED = 1 << 3, /* pos may belong to another user of the same open file */
	STATUS_APPEND = 1 << 4,	   /* O_APPEND or RWF_APPEND: pos is i_size after - ret */
	STATUS_HELD = 1 << 5,	   /* weir held the program meanwhile, see held */
	STATUS_NO_START = 1 << 6,  /* entered before recording began */
	STATUS_NORETURN = 1 << 7,  /* exit, exit_group, or the thread died in it */
	STATUS_BY_PATH =
		1 << 8, /* the file was found by its path after the call, not by the kernel */
	STATUS_ARG_UNREAD = 1 << 9, /* a path or structure argument could not be read whole */
	STATUS_SLEPT = 1 << 10,	    /* the thread slept in the call (gave up its CPU by itself) */
};

/* The word of a code in the vocabulary of `table.column`, or NULL where unknown. Covers kind, op,
 * class, err, type, family, cause. */
const char *vocab_word(const char *column, int64_t code);
/* The code of a word, or -1. */
int64_t vocab_code(const char *column, const char *word);
/* The i-th known code, or -1: enumerates the codes, which need not be dense, for building ENUM types. */
int64_t vocab_at(const char *column, size_t i);
