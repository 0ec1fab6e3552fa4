/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duckdb_api.h: the functions of DuckDB's stable C interface that weir calls, and no others. The library is loaded on
 * first use; struct duckdb_api holds the results of dlsym().
 *
 * FOREIGN TYPES: names and typedefs are the library's own, so that its header can be compared.
 *
 * All of these have been stable since 1.2.0 or before; weir requires 1.5 because older versions were not measured.
 * Deliberately omitted as deprecated: duckdb_value_* (NULL for an ENUM), row_count, result_get_chunk, streaming, arrow.
 * tools/duckdb/check-prototypes compares every line here with the header of a source distribution, because a symbol
 * carries no type; that check defines DUCKDB_API_TYPES_KNOWN and includes the real header first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef DUCKDB_API_TYPES_KNOWN
typedef uint64_t idx_t;
typedef int duckdb_state; /* 0: success */
typedef int duckdb_type;
typedef int duckdb_result_type;
typedef int duckdb_statement_type;

/* Handles: pointers to structs private to the library. */
typedef struct _duckdb_database *duckdb_database;
typedef struct _duckdb_connection *duckdb_connection;
typedef struct _duckdb_config *duckdb_config;
typedef struct _duckdb_extracted_statements *duckdb_extracted_statements;
typedef struct _duckdb_prepared_statement *duckdb_prepared_statement;
typedef int duckdb_pending_state;
typedef struct _duckdb_pending_result *duckdb_pending_result;
typedef struct _duckdb_data_chunk *duckdb_data_chunk;
typedef struct _duckdb_vector *duckdb_vector;
typedef struct _duckdb_logical_type *duckdb_logical_type;
typedef struct _duckdb_value *duckdb_value;
typedef struct _duckdb_table_function *duckdb_table_function;
typedef struct _duckdb_aggregate_function *duckdb_aggregate_function;
typedef struct _duckdb_scalar_function *duckdb_scalar_function;
typedef struct _duckdb_aggregate_state *duckdb_aggregate_state;
typedef struct _duckdb_bind_info *duckdb_bind_info;
typedef struct _duckdb_init_info *duckdb_init_info;
typedef struct _duckdb_function_info *duckdb_function_info;
typedef struct _duckdb_profiling_info *duckdb_profiling_info;

/* Passed by value to duckdb_fetch_chunk(): the size is part of the calling convention. */
typedef struct {
	idx_t counts[3];
	void *columns;
	char *message;
	void *internal_data;
} duckdb_result;
_Static_assert(sizeof(duckdb_result) == 48, "passed by value");

/* A VARCHAR or BLOB in a vector: up to 12 bytes are stored inline. */
typedef struct {
	union {
		struct {
			uint32_t length;
			char prefix[4];
			char *ptr;
		} pointer;
		struct {
			uint32_t length;
			char inlined[12];
		} inlined;
	} value;
} duckdb_string_t;
_Static_assert(sizeof(duckdb_string_t) == 16, "stride of a string vector");

typedef struct {
	double percentage;
	uint64_t rows_processed, total_rows_to_process;
} duckdb_query_progress_type;

typedef struct {
	uint64_t offset, length;
} duckdb_list_entry;

typedef struct {
	uint64_t lower;
	int64_t upper;
} duckdb_hugeint;

typedef struct {
	int32_t months, days;
	int64_t micros;
} duckdb_interval;

typedef void (*duckdb_delete_callback_t)(void *data);
typedef void (*duckdb_table_function_bind_t)(duckdb_bind_info info);
typedef void (*duckdb_table_function_init_t)(duckdb_init_info info);
typedef void (*duckdb_table_function_t)(duckdb_function_info info, duckdb_data_chunk output);
typedef idx_t (*duckdb_aggregate_state_size)(duckdb_function_info info);
typedef void (*duckdb_aggregate_init_t)(duckdb_function_info info, duckdb_aggregate_state state);
typedef void (*duckdb_aggregate_destroy_t)(duckdb_aggregate_state *states, idx_t count);
typedef void (*duckdb_aggregate_update_t)(duckdb_function_info info, duckdb_data_chunk input,
					  duckdb_aggregate_state *states);
typedef void (*duckdb_aggregate_combine_t)(duckdb_function_info info,
					   duckdb_aggregate_state *source,
					   duckdb_aggregate_state *target, idx_t count);
typedef void (*duckdb_aggregate_finalize_t)(duckdb_function_info info,
					    duckdb_aggregate_state *source, duckdb_vector result,
					    idx_t count, idx_t offset);
typedef void (*duckdb_scalar_function_t)(duckdb_function_info info, duckdb_data_chunk input,
					 duckdb_vector output);

/* duckdb_pending_state */
enum {
	DUCKDB_PENDING_MORE = 1,
	DUCKDB_PENDING_ERROR = 2,
	DUCKDB_PENDING_NO_TASKS = 3,
};

/* Statement types, with the header's names and numbers. */
enum {
	DUCKDB_STATEMENT_TYPE_SELECT = 1,
	DUCKDB_STATEMENT_TYPE_INSERT = 2,
	DUCKDB_STATEMENT_TYPE_UPDATE = 3,
	DUCKDB_STATEMENT_TYPE_EXPLAIN = 4,
	DUCKDB_STATEMENT_TYPE_DELETE = 5,
	DUCKDB_STATEMENT_TYPE_PREPARE = 6,
	DUCKDB_STATEMENT_TYPE_CREATE = 7,
	DUCKDB_STATEMENT_TYPE_EXECUTE = 8,
	DUCKDB_STATEMENT_TYPE_ALTER = 9,
	DUCKDB_STATEMENT_TYPE_COPY = 11,
	DUCKDB_STATEMENT_TYPE_VARIABLE_SET = 13,
	DUCKDB_STATEMENT_TYPE_DROP = 15,
	DUCKDB_STATEMENT_TYPE_EXPORT = 16,
	DUCKDB_STATEMENT_TYPE_PRAGMA = 17,
	DUCKDB_STATEMENT_TYPE_CALL = 19,
	DUCKDB_STATEMENT_TYPE_SET = 20,
	DUCKDB_STATEMENT_TYPE_LOAD = 21,
	DUCKDB_STATEMENT_TYPE_ATTACH = 25,
	DUCKDB_STATEMENT_TYPE_DETACH = 26,
	DUCKDB_STATEMENT_TYPE_MULTI = 27,
};

/* Type codes, with the header's names and numbers. */
enum {
	DUCKDB_TYPE_INVALID = 0,
	DUCKDB_TYPE_BOOLEAN = 1,
	DUCKDB_TYPE_TINYINT = 2,
	DUCKDB_TYPE_SMALLINT = 3,
	DUCKDB_TYPE_INTEGER = 4,
	DUCKDB_TYPE_BIGINT = 5,
	DUCKDB_TYPE_UTINYINT = 6,
	DUCKDB_TYPE_USMALLINT = 7,
	DUCKDB_TYPE_UINTEGER = 8,
	DUCKDB_TYPE_UBIGINT = 9,
	DUCKDB_TYPE_FLOAT = 10,
	DUCKDB_TYPE_DOUBLE = 11,
	DUCKDB_TYPE_TIMESTAMP = 12,
	DUCKDB_TYPE_DATE = 13,
	DUCKDB_TYPE_TIME = 14,
	DUCKDB_TYPE_INTERVAL = 15,
	DUCKDB_TYPE_HUGEINT = 16,
	DUCKDB_TYPE_VARCHAR = 17,
	DUCKDB_TYPE_BLOB = 18,
	DUCKDB_TYPE_DECIMAL = 19,
	DUCKDB_TYPE_TIMESTAMP_S = 20,
	DUCKDB_TYPE_TIMESTAMP_MS = 21,
	DUCKDB_TYPE_TIMESTAMP_NS = 22,
	DUCKDB_TYPE_ENUM = 23,
	DUCKDB_TYPE_LIST = 24,
	DUCKDB_TYPE_STRUCT = 25,
	DUCKDB_TYPE_MAP = 26,
	DUCKDB_TYPE_ARRAY = 33,
	DUCKDB_TYPE_UUID = 27,
	DUCKDB_TYPE_UNION = 28,
	DUCKDB_TYPE_BIT = 29,
	DUCKDB_TYPE_TIMESTAMP_TZ = 31,
	DUCKDB_TYPE_UHUGEINT = 32,
	DUCKDB_TYPE_SQLNULL = 36,
};

/* Kinds of result. */
enum {
	DUCKDB_RESULT_TYPE_CHANGED_ROWS = 1,
	DUCKDB_RESULT_TYPE_NOTHING = 2,
	DUCKDB_RESULT_TYPE_QUERY_RESULT = 3,
};
#endif

/* F(result, name, arguments): duckdb_<name> in the library, member <name> of struct duckdb_api. */
#define DUCKDB_FUNCTIONS(F)                                                                       \
	F(const char *, library_version, (void))                                                  \
	F(duckdb_state, create_config, (duckdb_config *))                                         \
	F(duckdb_state, set_config, (duckdb_config, const char *, const char *))                  \
	F(void, destroy_config, (duckdb_config *))                                                \
	F(duckdb_state, open_ext, (const char *, duckdb_database *, duckdb_config, char **))      \
	F(void, close, (duckdb_database *))                                                       \
	F(duckdb_state, connect, (duckdb_database, duckdb_connection *))                          \
	F(void, disconnect, (duckdb_connection *))                                                \
	F(void, interrupt, (duckdb_connection))                                                   \
	F(void, free, (void *))                                                                   \
	/* statements and their results */                                                        \
	F(duckdb_state, query, (duckdb_connection, const char *, duckdb_result *))                \
	F(idx_t, extract_statements,                                                              \
	  (duckdb_connection, const char *, duckdb_extracted_statements *))                       \
	F(const char *, extract_statements_error, (duckdb_extracted_statements))                  \
	F(void, destroy_extracted, (duckdb_extracted_statements *))                               \
	F(duckdb_state, prepare_extracted_statement,                                              \
	  (duckdb_connection, duckdb_extracted_statements, idx_t, duckdb_prepared_statement *))   \
	F(const char *, prepare_error, (duckdb_prepared_statement))                               \
	F(duckdb_statement_type, prepared_statement_type, (duckdb_prepared_statement))            \
	F(duckdb_state, pending_prepared, (duckdb_prepared_statement, duckdb_pending_result *))   \
	F(duckdb_pending_state, pending_execute_task, (duckdb_pending_result))                    \
	F(duckdb_state, execute_pending, (duckdb_pending_result, duckdb_result *))                \
	F(const char *, pending_error, (duckdb_pending_result))                                   \
	F(void, destroy_pending, (duckdb_pending_result *))                                       \
	F(void, destroy_prepare, (duckdb_prepared_statement *))                                   \
	F(const char *, result_error, (duckdb_result *))                                          \
	F(duckdb_result_type, result_return_type, (duckdb_result))                                \
	F(idx_t, column_count, (duckdb_result *))                                                 \
	F(const char *, column_name, (duckdb_result *, idx_t))                                    \
	F(duckdb_logical_type, column_logical_type, (duckdb_result *, idx_t))                     \
	F(idx_t, rows_changed, (duckdb_result *))                                                 \
	F(duckdb_data_chunk, fetch_chunk, (duckdb_result))                                        \
	F(void, destroy_result, (duckdb_result *))                                                \
	/* timing of a statement's steps */                                                       \
	F(duckdb_profiling_info, get_profiling_info, (duckdb_connection))                         \
	F(duckdb_value, profiling_info_get_value, (duckdb_profiling_info, const char *))          \
	F(idx_t, profiling_info_get_child_count, (duckdb_profiling_info))                         \
	F(duckdb_profiling_info, profiling_info_get_child, (duckdb_profiling_info, idx_t))        \
	/* chunks and vectors */                                                                  \
	F(idx_t, vector_size, (void))                                                             \
	F(duckdb_vector, data_chunk_get_vector, (duckdb_data_chunk, idx_t))                       \
	F(idx_t, data_chunk_get_size, (duckdb_data_chunk))                                        \
	F(void, data_chunk_set_size, (duckdb_data_chunk, idx_t))                                  \
	F(void, destroy_data_chunk, (duckdb_data_chunk *))                                        \
	F(void *, vector_get_data, (duckdb_vector))                                               \
	F(uint64_t *, vector_get_validity, (duckdb_vector))                                       \
	F(void, vector_ensure_validity_writable, (duckdb_vector))                                 \
	F(void, vector_assign_string_element_len, (duckdb_vector, idx_t, const char *, idx_t))    \
	F(void, unsafe_vector_assign_string_element_len,                                          \
	  (duckdb_vector, idx_t, const char *, idx_t)) /* for text known to be UTF-8 */           \
	F(duckdb_vector, list_vector_get_child, (duckdb_vector))                                  \
	F(duckdb_vector, struct_vector_get_child, (duckdb_vector, idx_t))                         \
	F(duckdb_vector, array_vector_get_child, (duckdb_vector))                                 \
	/* types */                                                                               \
	F(duckdb_logical_type, create_logical_type, (duckdb_type))                                \
	F(duckdb_logical_type, create_list_type, (duckdb_logical_type))                           \
	F(duckdb_logical_type, create_enum_type, (const char **, idx_t))                          \
	F(void, destroy_logical_type, (duckdb_logical_type *))                                    \
	F(duckdb_type, get_type_id, (duckdb_logical_type))                                        \
	F(duckdb_type, enum_internal_type, (duckdb_logical_type))                                 \
	F(char *, enum_dictionary_value, (duckdb_logical_type, idx_t))                            \
	F(uint32_t, enum_dictionary_size, (duckdb_logical_type))                                  \
	F(uint8_t, decimal_scale, (duckdb_logical_type))                                          \
	F(duckdb_type, decimal_internal_type, (duckdb_logical_type))                              \
	F(duckdb_logical_type, list_type_child_type, (duckdb_logical_type))                       \
	F(duckdb_logical_type, array_type_child_type, (duckdb_logical_type))                      \
	F(idx_t, array_type_array_size, (duckdb_logical_type))                                    \
	F(idx_t, struct_type_child_count, (duckdb_logical_type))                                  \
	F(char *, struct_type_child_name, (duckdb_logical_type, idx_t))                           \
	F(duckdb_logical_type, struct_type_child_type, (duckdb_logical_type, idx_t))              \
	F(duckdb_logical_type, map_type_key_type, (duckdb_logical_type))                          \
	F(duckdb_logical_type, map_type_value_type, (duckdb_logical_type))                        \
	/* values: arguments of table functions */                                                \
	F(bool, is_null_value, (duckdb_value))                                                    \
	F(int64_t, get_int64, (duckdb_value))                                                     \
	F(char *, get_varchar, (duckdb_value))                                                    \
	F(idx_t, get_list_size, (duckdb_value))                                                   \
	F(duckdb_value, get_list_child, (duckdb_value, idx_t))                                    \
	F(void, destroy_value, (duckdb_value *))                                                  \
	/* table functions */                                                                     \
	F(duckdb_table_function, create_table_function, (void))                                   \
	F(void, destroy_table_function, (duckdb_table_function *))                                \
	F(void, table_function_set_name, (duckdb_table_function, const char *))                   \
	F(void, table_function_add_parameter, (duckdb_table_function, duckdb_logical_type))       \
	F(void, table_function_add_named_parameter,                                               \
	  (duckdb_table_function, const char *, duckdb_logical_type))                             \
	F(void, table_function_set_extra_info,                                                    \
	  (duckdb_table_function, void *, duckdb_delete_callback_t))                              \
	F(void, table_function_set_bind, (duckdb_table_function, duckdb_table_function_bind_t))   \
	F(void, table_function_set_init, (duckdb_table_function, duckdb_table_function_init_t))   \
	F(void, table_function_set_local_init,                                                    \
	  (duckdb_table_function, duckdb_table_function_init_t))                                  \
	F(void, table_function_set_function, (duckdb_table_function, duckdb_table_function_t))    \
	F(void, table_function_supports_projection_pushdown, (duckdb_table_function, bool))       \
	F(duckdb_state, register_table_function, (duckdb_connection, duckdb_table_function))      \
	F(void *, bind_get_extra_info, (duckdb_bind_info))                                        \
	F(void, bind_add_result_column, (duckdb_bind_info, const char *, duckdb_logical_type))    \
	F(duckdb_value, bind_get_parameter, (duckdb_bind_info, idx_t))                            \
	F(duckdb_value, bind_get_named_parameter, (duckdb_bind_info, const char *))               \
	F(void, bind_set_bind_data, (duckdb_bind_info, void *, duckdb_delete_callback_t))         \
	F(void, bind_set_cardinality, (duckdb_bind_info, idx_t, bool))                            \
	F(void, bind_set_error, (duckdb_bind_info, const char *))                                 \
	F(void *, init_get_bind_data, (duckdb_init_info))                                         \
	F(void, init_set_init_data, (duckdb_init_info, void *, duckdb_delete_callback_t))         \
	F(idx_t, init_get_column_count, (duckdb_init_info))                                       \
	F(idx_t, init_get_column_index, (duckdb_init_info, idx_t))                                \
	F(void, init_set_max_threads, (duckdb_init_info, idx_t))                                  \
	F(void, init_set_error, (duckdb_init_info, const char *))                                 \
	F(void *, function_get_bind_data, (duckdb_function_info))                                 \
	F(void *, function_get_init_data, (duckdb_function_info))                                 \
	F(void *, function_get_local_init_data, (duckdb_function_info))                           \
	F(void, function_set_error, (duckdb_function_info, const char *))                         \
	/* aggregates and scalars */                                                              \
	F(duckdb_aggregate_function, create_aggregate_function, (void))                           \
	F(void, destroy_aggregate_function, (duckdb_aggregate_function *))                        \
	F(void, aggregate_function_set_name, (duckdb_aggregate_function, const char *))           \
	F(void, aggregate_function_add_parameter,                                                 \
	  (duckdb_aggregate_function, duckdb_logical_type))                                       \
	F(void, aggregate_function_set_return_type,                                               \
	  (duckdb_aggregate_function, duckdb_logical_type))                                       \
	F(void, aggregate_function_set_functions,                                                 \
	  (duckdb_aggregate_function, duckdb_aggregate_state_size, duckdb_aggregate_init_t,       \
	   duckdb_aggregate_update_t, duckdb_aggregate_combine_t, duckdb_aggregate_finalize_t))   \
	F(void, aggregate_function_set_destructor,                                                \
	  (duckdb_aggregate_function, duckdb_aggregate_destroy_t))                                \
	F(void, aggregate_function_set_extra_info,                                                \
	  (duckdb_aggregate_function, void *, duckdb_delete_callback_t))                          \
	F(void *, aggregate_function_get_extra_info, (duckdb_function_info))                      \
	F(void, aggregate_function_set_error, (duckdb_function_info, const char *))               \
	F(duckdb_state, register_aggregate_function,                                              \
	  (duckdb_connection, duckdb_aggregate_function))                                         \
	F(duckdb_scalar_function, create_scalar_function, (void))                                 \
	F(void, destroy_scalar_function, (duckdb_scalar_function *))                              \
	F(void, scalar_function_set_name, (duckdb_scalar_function, const char *))                 \
	F(void, scalar_function_add_parameter, (duckdb_scalar_function, duckdb_logical_type))     \
	F(void, scalar_function_set_return_type, (duckdb_scalar_function, duckdb_logical_type))   \
	F(void, scalar_function_set_function, (duckdb_scalar_function, duckdb_scalar_function_t)) \
	F(void, scalar_function_set_extra_info,                                                   \
	  (duckdb_scalar_function, void *, duckdb_delete_callback_t))                             \
	F(void *, scalar_function_get_extra_info, (duckdb_function_info))                         \
	F(void, scalar_function_set_error, (duckdb_function_info, const char *))                  \
	F(duckdb_state, register_scalar_function, (duckdb_connection, duckdb_scalar_function))

struct duckdb_api {
	/* from dlopen(); never closed, because DuckDB's threads may outlive the last call */
	void *handle;
#define DUCKDB_MEMBER(type, name, args) type(*name) args;
	DUCKDB_FUNCTIONS(DUCKDB_MEMBER)
#undef DUCKDB_MEMBER
};
