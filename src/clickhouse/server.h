/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse: shared by the loader and the engine of ClickHouse: its HTTP interface, its Native format, and the
 * tables for traces. May use net and batch. Written for 18.16 and later.
 *
 * server.h: one database on a server.
 */
#pragma once

#include "net/client.h"

#define CLICKHOUSE_SCHEME "clickhouse"

struct clickhouse {
	struct net_client *client;
	unsigned int version; /* 18016: of "18.16.1" */
	char *address; /* as the user wrote it, for a second connection that can stop the first */
};

/*
 * Parses the address and determines the version; the database need not exist. Errors are those of net_client_begin();
 * -EPROTO: the server is not ClickHouse.
 */
int clickhouse_connect(struct clickhouse *c, const char *address, struct error *err);
/* Opens a second connection to the same server. */
int clickhouse_again(const struct clickhouse *c, struct clickhouse *ret, struct error *err);
void clickhouse_close(struct clickhouse *c);

struct clickhouse_query {
	const char *sql;	    /* may end with the FORMAT of `data` */
	const char *settings;	    /* "&name=value...", encoded; NULL: none */
	const char *id;		    /* query_id; NULL: the server makes one */
	bool no_database;	    /* runs in `default`, for CREATE DATABASE */
	bool compressed;	    /* the data is in ClickHouse's frames */
	struct bytes data;	    /* for an INSERT */
	const char *const *headers; /* for the data; NULL: none */
};

/*
 * Runs a statement. An exception of the server becomes one line: usually -EINVAL; -ENOMEM if a memory limit was
 * exceeded, -EINTR if it was killed, -ENOENT for a missing table or database, -EBUSY if a query with this id is
 * running, -EACCES for a wrong user or password, -ETIMEDOUT.
 */
int clickhouse_run(struct clickhouse *c, const struct clickhouse_query *q, struct buf *answer,
		   struct error *err);
/* The same for a statement without data. */
int clickhouse_do(struct clickhouse *c, const char *sql, struct buf *answer, struct error *err);
/* The same for a statement that is formatted. */
int clickhouse_ask(struct clickhouse *c, struct buf *answer, struct error *err, const char *fmt,
		   ...) _printf_(4, 5);
/* Starts a statement whose answer is read incrementally by net_client_read(). */
int clickhouse_begin(struct clickhouse *c, const struct clickhouse_query *q, struct error *err);
/* The error for an exception in a text; 0 if it is not one. */
int clickhouse_exception(const struct clickhouse *c, const char *text, struct error *err);

/* Appends 'text' as a literal; `name` in backquotes. 0 or -ENOMEM. */
int clickhouse_literal(struct bytes text, struct buf *out);
