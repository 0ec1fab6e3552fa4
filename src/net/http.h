/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: HTTP over libmicrohttpd: bytes, not traces. May use base.
 *
 * http.h: a server with a table of routes. Each connection has its own thread, in which the route's function runs and
 * answers once:
 *
 *   static void hello(void *arg, struct http_request *r)
 *   {
 *           http_reply_text(r, 200, "text/plain", "hello\n");
 *   }
 *
 * What a client may send is bounded: the request line with its headers, the body by route, the time in which the
 * request must arrive, the number of connections, and the number of connections whose client has not authenticated
 * itself (http_trust()). Answers are compressed if the client accepts that.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

#define HTTP_HEAD_MAX \
	(48u << 10) /* bytes of the request line and headers, and of what is stored from them */
#define HTTP_TRUSTED_MAX 128u /* connections at once; ten viewers hold seven each */
#define HTTP_STRANGERS_MAX \
	192u /* in addition: connections whose clients have not authenticated themselves */
#define HTTP_CONNECTIONS_MAX 512u	   /* including those that are being closed */
#define HTTP_BACKLOG	     1024	   /* connections waiting to be accepted */
#define HTTP_PARTS_MAX	     4		   /* `{}` in a route */
#define HTTP_RECEIVE_NS	     10000000000ll /* time limit for receiving a request */
#define HTTP_IDLE_S	     60u	   /* without a byte in either direction */
#define HTTP_GZIP_MIN	     1400u	   /* bytes; a smaller answer fits into a packet anyway */

struct http;
struct http_request;

struct http_route {
	const char *method; /* "GET" answers HEAD too */
	const char *path;   /* "/api/v1/op/{}/next": `{}` is one part, see http_part() */
	size_t body_max;    /* bytes; 0: a body is refused */
	void (*handle)(void *arg, struct http_request *r);
	const char *
		params; /* space-separated names that its query may have; NULL: any. Enforced by `admit` */
};

struct http_options {
	const struct http_route
		*routes; /* ends with {0}; requests that match none go to `otherwise` */
	void (*otherwise)(void *arg, struct http_request *r);
	/* Called before the body is read: true to continue; false after it has answered. */
	bool (*admit)(void *arg, struct http_request *r, const struct http_route *route);
	/* Called before the answer to an admitted request is sent; may add headers. May be NULL. */
	void (*finish)(void *arg, struct http_request *r);
	const char *const *headers; /* name, value, ..., NULL: added to every answer */
	void *arg;
};

/*
 * Opens a socket that listens on 127.0.0.1, on `port` or, with `search`, the first free port from there on. Returns
 * the descriptor; -EADDRINUSE.
 */
int http_listen(uint16_t port, bool search, uint16_t *ret_port, struct error *err);
/* Starts serving; takes the descriptor even on failure. opt must outlive the server. */
int http_start(struct http **ret, int listen_fd, const struct http_options *opt, struct error *err);
/* Stops listening, cancels running requests, and waits for every thread. */
void http_stop(struct http *h);
DEFINE_CLEANUP(struct http *, http_stop)

/* ---- the request ---- */

const char *http_method(const struct http_request *r);
const char *http_path(const struct http_request *r);
/* The part of the path that matched the i-th `{}`, decoded. */
const char *http_part(const struct http_request *r, size_t i);
/* A header or a query parameter, decoded; NULL if absent. Contains no NUL. */
const char *http_header(const struct http_request *r, const char *name);
const char *http_param(const struct http_request *r, const char *name);
/* Passes the name and value of each parameter, decoded, in order, until `take` returns true. */
void http_each_param(const struct http_request *r,
		     bool (*take)(void *arg, const char *name, const char *value), void *arg);
/* The parameters as sent, "" if there are none; identifies a question. */
const char *http_query(const struct http_request *r);
/* The cookie of that name; NULL if absent. */
const char *http_cookie(const struct http_request *r, const char *name);
struct buf *http_body(struct http_request *r);
/* Marks the request's client as authenticated: its connection is not closed in favour of strangers'. */
void http_trust(struct http_request *r);
/* The user of this machine who owns the other end of the connection. */
uid_t http_peer(const struct http_request *r);
#define PEER_UNKNOWN ((uid_t)-1)

/*
 * Sets a function that interrupts the work on a request: it is called (repeatedly, from another thread)
 * once the client has gone away, the deadline has passed, or the server stops. http_stopped() returns
 * the reason: 0, -ECANCELED, -ETIMEDOUT. NULL removes the function; when the call returns, it is not
 * running.
 */
void http_on_stop(struct http_request *r, void (*interrupt)(void *arg), void *arg);
/* Nanoseconds from now; 0: no deadline. */
void http_deadline(struct http_request *r, int64_t ns);
/* Moves the deadline, if there is one, by ns. */
void http_extend(struct http_request *r, int64_t ns);
int http_stopped(const struct http_request *r);

/* ---- the answer: one of these, once ---- */

/* Adds a header to this answer; line breaks in the value are refused. */
int http_add_header(struct http_request *r, const char *name, const char *value);
/* Answers with the body, which is taken, and compressed if that is worthwhile. */
void http_reply(struct http_request *r, unsigned int status, const char *type, struct buf *body);
void http_reply_text(struct http_request *r, unsigned int status, const char *type,
		     const char *text);
/* Answers with bytes that live as long as the program. `gzipped`: they are compressed, and are inflated
 * for a client that does not accept that. */
void http_reply_static(struct http_request *r, const char *type, const void *data, size_t len,
		       bool gzipped);
/* Decompresses data in gzip format. 0 or negative. */
int http_inflate(const void *data, size_t len, struct buf *to);
/* The same up to `max` bytes; -E2BIG if there are more. */
int http_inflate_max(const void *data, size_t len, size_t max, struct buf *to);
/* Answers with a whole file; takes the descriptor. */
void http_reply_file(struct http_request *r, const char *type, int fd);
/*
 * A body of unknown length: `more` appends the next piece (it may wait) and returns 1, 0 at the end,
 * or negative to abort the connection. `done` is always called, last.
 */
struct http_stream {
	int (*more)(void *arg, struct buf *out);
	void (*done)(void *arg);
	void *arg;
};
void http_reply_stream(struct http_request *r, const char *type, const struct http_stream *s);
