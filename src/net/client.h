/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h: HTTP as a client, over libcurl, which is opened when first asked for: commands that talk to nobody neither load it
 * nor need it. For stores that are found by an address:
 *
 *   scheme://host[:port][,host2[:port],...]/database[?tls=1&ca=FILE&login=FILE&timeout=30s]
 *
 * Several nodes are tried in their order, starting with the one that answered last. User and password are never part of an
 * address: they come from the file `login` (lines "user=..." and "password=...", readable by its owner alone), or from
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

/* What a scheme means where an address leaves it out. */
struct net_defaults {
	const char *scheme; /* "clickhouse" */
	uint16_t port, tls_port;
	const char *database; /* where the address names none */
};

/* -EINVAL: the address is malformed, with what is wrong; -ENOENT, -EACCES: a file that it names. Does not connect. */
int net_client_new(struct net_client **ret, const char *address, const struct net_defaults *d,
		   struct error *err);
void net_client_free(struct net_client *c);
DEFINE_CLEANUP(struct net_client *, net_client_free)
/* "host:port" of the node that answered last, or is tried first; the database. */
const char *net_client_node(const struct net_client *c);
const char *net_client_database(const struct net_client *c);

struct net_request {
	const char *method;	    /* "GET", "POST", "PUT", "HEAD", "DELETE" */
	const char *path;	    /* with its query, encoded: "/?query=SELECT%201" */
	const char *const *headers; /* "Name: value", ..., NULL; may be NULL */
	struct bytes body;	    /* not owned; valid until the answer has ended */
	int64_t silence_ns; /* fails after so long without a byte; 0: the address's, or 300 s */
};

/*
 * Sends a request and receives the head of the answer; *ret_status is what HTTP says. Further nodes are tried where one could
 * not be connected to, never once a request was sent. -ECONNREFUSED, -ETIMEDOUT, -EPROTO (TLS), -EINTR after
 * net_client_stop(), -EIO else, each with one line that names the node.
 */
int net_client_begin(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		     struct error *err);
/* Appends what has come to *out, at least one byte: 1; 0 at the end of the answer. Errors as above. */
int net_client_read(struct net_client *c, struct buf *out, struct error *err);
/* Both, to the end. */
int net_client_send(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		    struct buf *answer, struct error *err);
/* What runs fails with -EINTR within 100 ms; what begins later does not. Any thread. */
void net_client_stop(struct net_client *c);
/* Stops whenever *stop is true, too, which net_client_begin() leaves as it is; it outlives the client. */
void net_client_stop_with(struct net_client *c, const atomic_bool *stop);
/* Appends a text as part of a query: %XX for all but letters, digits and -._~ */
int net_encode(const void *data, size_t len, struct buf *out);
