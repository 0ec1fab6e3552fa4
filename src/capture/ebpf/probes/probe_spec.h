/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_spec.h: spans that begin and end at probes in programs, as record --span has them.
 *
 *   NAME : BEGIN [: END]
 *
 *   usdt:FILE:[PROVIDER:]PROBE[(ARGS)]        a probe that the author of the program put there
 *   uprobe:FILE:FUNCTION[+OFFSET][(ARGS)]     the entry of a function; without END the span ends as it returns
 *   uretprobe:FILE:FUNCTION[(RESULT)]         its return
 *
 * END may leave out what it has in common with BEGIN, up to the name: "save : usdt:/bin/x:save-begin : save-end". "return" ends
 * the function that begins the span. ARGS names the arguments in their order, which become attributes: "(key, -, path:string)".
 */
#pragma once

#include "base/error.h"
#include "schema/wire_probe.h"

#define PROBE_WORD_MAX	    128 /* of a provider, or the name of an argument, with its NUL */
#define PROBE_USDT_ARGS	    12	/* as many as libbpf takes */
#define PROBE_FUNCTION_ARGS 6	/* those in registers */

struct probe_arg {
	const char *name;
	uint8_t number; /* 0, 1, ... */
	enum wire_probe_type type;
};

struct probe_point {
	enum probe_kind { PROBE_USDT, PROBE_ENTRY, PROBE_RETURN } kind;
	const char *path, *name;
	char provider[PROBE_WORD_MAX]; /* of PROBE_USDT; "": any, until probe_file_check() */
	uint64_t offset;	       /* of PROBE_ENTRY, from the function's beginning */
	struct probe_arg args[WIRE_PROBE_ARGS];
	uint8_t arg_count, texts; /* texts: of them, strings */
	bool switches; /* a return in a file whose code can go on on another stack, see probe_file_check() */
};

struct probe_span {
	char *text; /* which the other texts are part of */
	const char *name;
	struct probe_point begin, end;
};

struct probe_spans {
	struct probe_span list[WIRE_PROBE_SPANS];
	size_t count;
};

/* Adds one. 0; -EINVAL with what is wrong, -ENOMEM. */
int probe_spans_add(struct probe_spans *to, const char *text, struct error *err);
void probe_spans_free(struct probe_spans *s);
