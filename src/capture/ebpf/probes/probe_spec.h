/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_spec.h: spans that begin and end at probes in programs, as specified to record --span.
 *
 *   NAME : BEGIN [: END]
 *
 *   usdt:FILE:[PROVIDER:]PROBE[(ARGS)]        a probe in the program's source
 *   uprobe:FILE:FUNCTION[+OFFSET][(ARGS)]     the entry of a function; without END the span ends when it returns
 *   uretprobe:FILE:FUNCTION[(RESULT)]         its return
 *
 * END may omit everything before the name that it shares with BEGIN: "save : usdt:/bin/x:save-begin : save-end".
 * "return" is the return of the function that begins the span. ARGS names the arguments in order, which become
 * attributes: "(key, -, path:string)".
 */
#pragma once

#include "base/error.h"
#include "schema/wire_probe.h"

#define PROBE_WORD_MAX	    128 /* length of a provider or argument name, with its NUL */
#define PROBE_USDT_ARGS	    12	/* libbpf's limit */
#define PROBE_FUNCTION_ARGS 6	/* those in registers */

struct probe_arg {
	const char *name;
	uint8_t number; /* 0, 1, ... */
	enum wire_probe_type type;
};

struct probe_point {
	enum probe_kind { PROBE_USDT, PROBE_ENTRY, PROBE_RETURN } kind;
	const char *path, *name;
	char provider[PROBE_WORD_MAX]; /* for PROBE_USDT; "": any, until probe_file_check() */
	uint64_t offset;	       /* for PROBE_ENTRY, from the start of the function */
	struct probe_arg args[WIRE_PROBE_ARGS];
	uint8_t arg_count, texts; /* texts: how many are strings */
	bool switches; /* a return in a file whose code may switch stacks, see probe_file_check() */
};

struct probe_span {
	char *text; /* the other texts point into it */
	const char *name;
	struct probe_point begin, end;
};

struct probe_spans {
	struct probe_span list[WIRE_PROBE_SPANS];
	size_t count;
};

/* Adds one. 0; -EINVAL with a message, -ENOMEM. */
int probe_spans_add(struct probe_spans *to, const char *text, struct error *err);
void probe_spans_free(struct probe_spans *s);
