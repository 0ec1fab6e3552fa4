/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clickhouse: what the loader and the engine of ClickHouse have in common: its HTTP interface, its Native format, and the
 * tables in which traces lie. May use net and batch. Written for 18.16 and later.
 *
 * server.h: one database on a server.
 */
#pragma once

#include "net/client.h"

#define CLICKHOUSE_SCHEME "clickhouse"

struct clickhouse {
	struct net_client *client;
	unsigned int version; /* 18016: of "18.16.1" */
	char *address; /* as the user wrote it, for a second connection that stops the first */
};

/* Parses the address and learns the version; the database need not be there. Errors as net_client_begin()'s; -EPROTO: what
 * answers is no ClickHouse. */
int clickhouse_connect(struct clickhouse *c, const char *address, struct error *err);
/* A second connection, whose server is known. */
int clickhouse_again(const struct clickhouse *c, struct clickhouse *ret, struct error *err);
void clickhouse_close(struct clickhouse *c);

struct clickhouse_query {
	const char *sql;	    /* may end with data's FORMAT */
	const char *settings;	    /* "&name=value...", encoded; NULL: none */
	const char *id;		    /* query_id; NULL: the server makes one */
	bool no_database;	    /* runs in `default`, for CREATE DATABASE */
	bool compressed;	    /* the data are in ClickHouse's frames */
	struct bytes data;	    /* of an INSERT */
	const char *const *headers; /* of the data; NULL: none */
};

/*
 * Runs a statement. An exception of the server becomes one line: -EINVAL as a rule, -ENOMEM where a limit of memory was
 * exceeded, -EINTR where it was killed, -ENOENT for a table or database that is missing, -EBUSY where a query with this id
 * runs, -EACCES for a wrong user or password, -ETIMEDOUT.
 */
int clickhouse_run(struct clickhouse *c, const struct clickhouse_query *q, struct buf *answer,
		   struct error *err);
/* The same for a statement without data. */
int clickhouse_do(struct clickhouse *c, const char *sql, struct buf *answer, struct error *err);
/* Starts one whose answer is read as it comes, by net_client_read(). */
int clickhouse_begin(struct clickhouse *c, const struct clickhouse_query *q, struct error *err);
/* The exception that a text reports; 0 where it is none. */
int clickhouse_exception(const struct clickhouse *c, const char *text, struct error *err);

/* 'text' as a literal; `name` in backquotes. 0 or -ENOMEM. */
int clickhouse_literal(struct bytes text, struct buf *out);
