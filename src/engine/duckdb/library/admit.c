// SPDX-License-Identifier: Apache-2.0
/*
 * admit.c: which statements untrusted SQL may run. Settings reject most others too, but not statements that write into
 * the folder for temporary files, and not all with a reason: some calls terminate the process.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/internal.h"
#include "engine/sql_text.h"

/* Tables that statements create are in memory. The lock rejects SET of anything but a variable. */
static const duckdb_statement_type admitted[] = {
	DUCKDB_STATEMENT_TYPE_SELECT, DUCKDB_STATEMENT_TYPE_EXPLAIN,
	DUCKDB_STATEMENT_TYPE_CREATE, DUCKDB_STATEMENT_TYPE_DROP,
	DUCKDB_STATEMENT_TYPE_ALTER,  DUCKDB_STATEMENT_TYPE_INSERT,
	DUCKDB_STATEMENT_TYPE_UPDATE, DUCKDB_STATEMENT_TYPE_DELETE,
	DUCKDB_STATEMENT_TYPE_SET,    DUCKDB_STATEMENT_TYPE_VARIABLE_SET,
	DUCKDB_STATEMENT_TYPE_MULTI,
};

/* First word of rejected statements. */
static const struct {
	duckdb_statement_type type;
	const char *word;
} refused_types[] = {
	{DUCKDB_STATEMENT_TYPE_PREPARE, "PREPARE"},
	{DUCKDB_STATEMENT_TYPE_EXECUTE, "EXECUTE"},
	{DUCKDB_STATEMENT_TYPE_COPY, "COPY"},
	{DUCKDB_STATEMENT_TYPE_EXPORT, "EXPORT"},
	{DUCKDB_STATEMENT_TYPE_PRAGMA, "PRAGMA"},
	{DUCKDB_STATEMENT_TYPE_CALL, "CALL"},
	{DUCKDB_STATEMENT_TYPE_LOAD, "LOAD or INSTALL"},
	{DUCKDB_STATEMENT_TYPE_ATTACH, "ATTACH"},
	{DUCKDB_STATEMENT_TYPE_DETACH, "DETACH"},
};

static int admit_refuse(const char *word, struct error *err)
{
	return error_set(err, -EINVAL,
			 "%s is not allowed here: SQL may only read the trace; use weir sql on a "
			 "command line",
			 word);
}

/* They write files, or fail without a reason. SELECT can call them as well as CALL. */
static const char *const refused_functions[] = {"enable_logging", "enable_profiling"};

static bool calls(const char *sql, const char *function)
{
	while ((sql = sql_after_word(sql, function))) {
		if (sql[strspn(sql, "\" \t\r\n")] == '(')
			return true;
	}
	return false;
}

int admit_statement(duckdb_statement_type type, const char *sql, struct error *err)
{
	/* EXPLAIN ANALYZE runs the statement */
	if (type == DUCKDB_STATEMENT_TYPE_EXPLAIN && sql_after_word(sql, "copy"))
		return admit_refuse("EXPLAIN of COPY", err);
	for (size_t i = 0; i < ARRAY_SIZE(refused_functions); i++) {
		if (calls(sql, refused_functions[i]))
			return admit_refuse(refused_functions[i], err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(admitted); i++) {
		if (admitted[i] == type)
			return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused_types); i++) {
		if (refused_types[i].type == type)
			return admit_refuse(refused_types[i].word, err);
	}
	return admit_refuse("this kind of statement", err);
}
