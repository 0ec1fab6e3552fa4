/* SPDX-License-Identifier: Apache-2.0 */
/* query.h: what the files of `weir query` share. */
#pragma once

#include "cli/terminal/interrupt.h"
#include "cli/query/query_print.h"
#include "cli/options/shared.h"
#include "engine/annotations.h"
#include "query/query.h"

struct query_opts {
	struct read_flags read;
	const char *file; /* -f: the text's place */
	const char *parquet;
	bool csv, explain, analyze, follow;
	int64_t every_ns;
	const char *library;
	uint64_t memory, spill;
	int64_t threads;
};

struct query_session {
	const struct query_opts *opts;
	struct interrupt *it;
	struct store *store;		 /* NULL: an engine holds the rows, and is connected */
	struct annotations *annotations; /* tables of the user's own; NULL without a store */
	struct engine *engine;		 /* over the store: opened when first needed */
	const char *name;		 /* of what is asked: a trace, or the engine's address */
	struct loss loss;		 /* of the rows that the engine holds */
	struct cell_style style;
	bool prompt;
};

/* Tables of the user's own that there are by now; NULL: none. 0 or negative. */
int query_users(struct query_session *s, const struct query_users **ret, struct error *err);
/* Runs one pipeline and prints its answer, errors too. The exit status. */
int query_statement(struct query_session *s, const char *text, size_t len);
/* The document that --json prints. */
struct answer_document query_document(const struct query_session *s, bool compact);
/* True where the rows themselves were asked for: a head says how many. */
bool query_wants_rows(const struct plan *p);
/* How values of the plan's answer are shown. */
struct cell_style query_style(const struct query_session *s, const struct plan *p);
/* The session's engine, opened now where it is not yet. */
int query_engine(struct query_session *s, struct error *err);

/* query_source.c. True where a scan of the store gives the plan's rows, without the engine. */
bool query_is_scan(const struct query_session *s, const struct plan *p);
struct query_scan;
int query_scan_new(struct query_scan **ret, struct query_session *s, const struct plan *p,
		   bool follow, struct error *err);
void query_scan_free(struct query_scan *s);
DEFINE_CLEANUP(struct query_scan *, query_scan_free)
int query_answer_of_scan(struct answer *ret, const struct plan *p, struct query_scan *scan);

/* query_follow.c: the answer again and again while the trace grows. 0 or negative. */
int query_follow(struct query_session *s, const struct plan *p, struct error *err);
/* query_explain.c: the plan and the SQL; with --analyze the steps. 0 or negative. */
int query_explain(struct query_session *s, const struct plan *p, int64_t planned_ns,
		  struct error *err);
/* query_parquet.c: writes the answer to a Parquet file. 0 or negative. */
int query_parquet(struct query_session *s, const struct plan *p, const char *file,
		  struct error *err);
/* query_prompt.c: pipelines from a terminal, until its end or \q. 0 or negative. */
int query_prompt(struct query_session *s, struct error *err);

#define QUERY_VALUES_MAX 400 /* of a completion; more are of no use to a reader */
