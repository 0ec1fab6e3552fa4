/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opensearch: shared by the loader and the engine of OpenSearch: its HTTP interface (search_server.h), and the
 * documents for rows of a trace (search_fields.h). May use net and query. Written for OpenSearch 2 and the part that
 * Elasticsearch 7.10 and 8 share with it.
 *
 * search_server.h: one server, and the names of weir's data streams there: PREFIX-op, PREFIX-loss, ...
 */
#pragma once

#include <jansson.h>

#include "net/client.h"

#define SEARCH_SCHEME "opensearch"

struct search_server {
	struct net_client *client;
	const char *prefix; /* the address's database: "weir" */
	bool elastic;
	unsigned int version; /* 2019: of "2.19.1" */
};

/*
 * Parses the address and identifies the server. Errors are those of net_client_begin(); -EPROTO: it is neither;
 * -EPROTONOSUPPORT: it is too old.
 */
int search_connect(struct search_server *s, const char *address, struct error *err);
void search_close(struct search_server *s);
/* True if a field that is stored only by column can be searched. */
bool search_finds_columns(bool elastic, unsigned int version);

/*
 * Sends a body (none: {NULL, 0}; JSON, or lines of JSON for _bulk) and parses the answer; *ret may be NULL. An error
 * of the server becomes one line: -ENOENT for what is missing, -EACCES, -EBUSY if it is overloaded (429, 503),
 * -ENOMEM if its memory limit was exceeded, usually -EINVAL.
 */
int search_send(struct search_server *s, const char *method, const char *path, struct bytes body,
		json_t **ret, struct error *err);
/* The same with a JSON value as body, which is released. NULL: -ENOMEM. */
int search_json(struct search_server *s, const char *method, const char *path, json_t *body,
		json_t **ret, struct error *err);

#define _cleanup_json_ _cleanup_(json_decrefp)
