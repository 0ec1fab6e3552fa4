/* SPDX-License-Identifier: Apache-2.0 */
/* query.h: shared by the files of `weir query`. */
#pragma once

#include "cli/terminal/interrupt.h"
#include "cli/query/query_print.h"
#include "cli/options/shared.h"
#include "engine/annotations.h"
#include "query/query.h"

struct query_opts {
	struct read_flags read;
	const char *file; /* -f: the file with the text */
	const char *parquet;
	bool csv, explain, analyze, follow;
	int64_t every_ns;
	struct engine_flags engine;
};

struct query_session {
	const struct query_opts *opts;
	struct interrupt *it;
	struct store *store;		 /* NULL: the rows are in an engine, which is connected */
	struct annotations *annotations; /* users' tables; NULL without a store */
	struct engine *engine;		 /* over the store; opened on first use */
	const char *name;		 /* of the input: a trace, or the engine's address */
	struct loss loss;		 /* loss in the engine's rows */
	struct cell_style style;
	bool prompt;
};

/* The users' tables that exist now; NULL: none. 0 or negative. */
int query_users(struct query_session *s, const struct query_users **ret, struct error *err);
/* Runs one pipeline and prints its answer or error. Returns the exit status. */
int query_statement(struct query_session *s, const char *text, size_t len);
/* The document that --json prints. */
struct answer_document query_document(const struct query_session *s, bool compact);
/* True if the query asks for rows and a head limits their number. */
bool query_wants_rows(const struct plan *p);
/* How to display values of the plan's answer. */
struct cell_style query_style(const struct query_session *s, const struct plan *p);
/* Opens the session's engine if it is not open yet. */
int query_engine(struct query_session *s, struct error *err);

/* query_source.c. True if a scan of the store can produce the plan's rows without the engine. */
bool query_is_scan(const struct query_session *s, const struct plan *p);
struct query_scan;
int query_scan_new(struct query_scan **ret, struct query_session *s, const struct plan *p,
		   bool follow, struct error *err);
void query_scan_free(struct query_scan *s);
DEFINE_CLEANUP(struct query_scan *, query_scan_free)
int query_answer_of_scan(struct answer *ret, const struct plan *p, struct query_scan *scan);

/* query_follow.c: prints the answer repeatedly while the trace grows. 0 or negative. */
int query_follow(struct query_session *s, const struct plan *p, struct error *err);
/* query_explain.c: prints the plan and the SQL; with --analyze also the steps. 0 or negative. */
int query_explain(struct query_session *s, const struct plan *p, int64_t planned_ns,
		  struct error *err);
/* query_parquet.c: writes the answer to a Parquet file. 0 or negative. */
int query_parquet(struct query_session *s, const struct plan *p, const char *file,
		  struct error *err);
/* query_prompt.c: reads pipelines from a terminal, until end of file or \q. 0 or negative. */
int query_prompt(struct query_session *s, struct error *err);

#define QUERY_VALUES_MAX 400 /* offers of a completion; a longer list does not help */
