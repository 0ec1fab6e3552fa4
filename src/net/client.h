/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h: HTTP as a client, over libcurl, which is loaded on first use: commands without connections neither load
 * nor need it. For stores with an address:
 *
 *   scheme://host[:port][,host2[:port],...]/database[?tls=1&ca=FILE&login=FILE&timeout=30s]
 *
 * Several nodes are tried in order, starting with the one that answered last. User and password are never part of an
 * address: they come from the file `login` (lines "user=..." and "password=...", readable only by its owner), or from
 * $WEIR_USER and $WEIR_PASSWORD.
 *
 * A client is used by one thread; net_client_stop() may be called by any.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

struct net_client;

#define NET_ANSWER_MAX \
	(256u << 20) /* of an answer kept in memory as a whole; 10,000 documents take 40 MiB */

/* Defaults of a scheme, for addresses that omit them. */
struct net_defaults {
	const char *scheme; /* "clickhouse" */
	uint16_t port, tls_port;
	const char *database; /* if the address names none */
};

/*
 * -EINVAL: the address is malformed, and the message says how; -ENOENT, -EACCES: for a file that it names. Does not
 * connect.
 */
int net_client_new(struct net_client **ret, const char *address, const struct net_defaults *d,
		   struct error *err);
void net_client_free(struct net_client *c);
DEFINE_CLEANUP(struct net_client *, net_client_free)
/* "host:port" of the node that answered last, or that is tried first; the database. */
const char *net_client_node(const struct net_client *c);
const char *net_client_database(const struct net_client *c);

struct net_request {
	const char *method;	    /* "GET", "POST", "PUT", "HEAD", "DELETE" */
	const char *path;	    /* with its query, encoded: "/?query=SELECT%201" */
	const char *const *headers; /* "Name: value", ..., NULL; may be NULL */
	struct bytes body;	    /* not owned; must be valid until the answer has ended */
	int64_t silence_ns; /* time without a byte after which it fails; 0: the address's, or 300 s */
};

/*
 * Sends a request and receives the head of the answer; *ret_status is the HTTP status. If a node cannot be connected
 * to, others are tried, but never once a request was sent. -ECONNREFUSED, -ETIMEDOUT, -EPROTO (TLS), -EINTR after
 * net_client_stop(), else -EIO, each with one line that names the node.
 */
int net_client_begin(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		     struct error *err);
/* Appends received bytes to *out, at least one: 1; 0 at the end of the answer. Errors as above. */
int net_client_read(struct net_client *c, struct buf *out, struct error *err);
/* Appends the rest of the answer, of at most NET_ANSWER_MAX bytes. 0. Errors as above; -EPROTO: it is longer. */
int net_client_rest(struct net_client *c, struct buf *out, struct error *err);
/* Sends a request, and receives all of the answer. */
int net_client_send(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		    struct buf *answer, struct error *err);
/* Makes a running request fail with -EINTR within 100 ms; later ones are not affected. Callable from any thread. */
void net_client_stop(struct net_client *c);
/* Also stops requests while *stop is true, which net_client_begin() does not reset; it must outlive the client. */
void net_client_stop_with(struct net_client *c, const atomic_bool *stop);
/* Appends a text as part of a query: %XX for all but letters, digits and -._~ */
int net_encode(const void *data, size_t len, struct buf *out);
