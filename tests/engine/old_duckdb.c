// SPDX-License-Identifier: Apache-2.0
/* old_duckdb.c: a library that says it is DuckDB 1.4, to see it refused. */
const char *duckdb_library_version(void);

const char *duckdb_library_version(void)
{
	return "v1.4.2";
}
