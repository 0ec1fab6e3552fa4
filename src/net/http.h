/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: HTTP over libmicrohttpd: bytes, not traces. May use base.
 *
 * http.h: a server with a table of routes. Each connection has a thread of its own, in which the
 * route's function runs and answers once:
 *
 *   static void hello(void *arg, struct http_request *r)
 *   {
 *           http_reply_text(r, 200, "text/plain", "hello\n");
 *   }
 *
 * What a client may send is bounded: the request line with its headers, the body by route, the time
 * in which all of it must have come, the number of connections, and that of those whose client has not
 * shown who it is (http_trust()). Answers are compressed where the
 * client takes that.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

#define HTTP_HEAD_MAX \
	(48u << 10) /* bytes of request line and headers, and of what is kept of them */
#define HTTP_TRUSTED_MAX     128u /* connections at once; ten viewers hold seven each */
#define HTTP_STRANGERS_MAX   192u /* beside them: of clients that have not shown who they are */
#define HTTP_CONNECTIONS_MAX 512u /* with those that are about to end */
#define HTTP_BACKLOG	     1024 /* that wait to be accepted */
#define HTTP_PARTS_MAX	     4	  /* `{}` in a route */
#define HTTP_RECEIVE_NS	     10000000000ll /* within which a request must have come */
#define HTTP_IDLE_S	     60u	   /* without a byte either way */
#define HTTP_GZIP_MIN	     1400u	   /* bytes; less fits a packet anyway */

struct http;
struct http_request;

struct http_route {
	const char *method; /* "GET" answers HEAD too */
	const char *path;   /* "/api/v1/op/{}/next": `{}` is one part, see http_part() */
	size_t body_max;    /* bytes; 0: a body is refused */
	void (*handle)(void *arg, struct http_request *r);
	const char *
		params; /* names that its query may have, a space between; NULL: any. `admit` sees to it */
};

struct http_options {
	const struct http_route *routes; /* ends with {0}; what none takes goes to `otherwise` */
	void (*otherwise)(void *arg, struct http_request *r);
	/* Before the body is read: true where the request may go on; else it has answered. */
	bool (*admit)(void *arg, struct http_request *r, const struct http_route *route);
	/* Before the answer to a request that may go on is sent: may add headers to it. NULL: nothing. */
	void (*finish)(void *arg, struct http_request *r);
	const char *const *headers; /* name, value, ..., NULL: on every answer */
	void *arg;
};

/* A socket that listens on 127.0.0.1: `port`, or the first free one from there on where `search`.
 * The descriptor; -EADDRINUSE. */
int http_listen(uint16_t port, bool search, uint16_t *ret_port, struct error *err);
/* Serves from now on; the descriptor is taken in either case. opt must outlive the server. */
int http_start(struct http **ret, int listen_fd, const struct http_options *opt, struct error *err);
/* Stops listening, cancels what runs, waits for every thread. */
void http_stop(struct http *h);
DEFINE_CLEANUP(struct http *, http_stop)

/* ---- the request ---- */

const char *http_method(const struct http_request *r);
const char *http_path(const struct http_request *r);
/* What stood for the i-th `{}`, decoded. */
const char *http_part(const struct http_request *r, size_t i);
/* A header or a parameter of the query, decoded; NULL where absent. No NUL within. */
const char *http_header(const struct http_request *r, const char *name);
const char *http_param(const struct http_request *r, const char *name);
/* The name of each parameter, decoded, as it was sent, until `take` returns true. */
void http_each_param(const struct http_request *r, bool (*take)(void *arg, const char *name),
		     void *arg);
/* The parameters as they were sent, "" where there are none: what tells two questions apart. */
const char *http_query(const struct http_request *r);
/* The cookie of that name; NULL where absent. */
const char *http_cookie(const struct http_request *r, const char *name);
struct buf *http_body(struct http_request *r);
/* The request's client has shown who it is: its connection stays while strangers come and go. */
void http_trust(struct http_request *r);
/* The user of this machine whose connection it is. */
uid_t http_peer(const struct http_request *r);
#define PEER_UNKNOWN ((uid_t)-1)

/*
 * While a request is worked on: `interrupt` is called (again and again, from another thread) when
 * its client went away, its deadline passed, or the server stops. http_stopped() tells why: 0,
 * -ECANCELED, -ETIMEDOUT. NULL ends that; afterwards it is not running any more.
 */
void http_on_stop(struct http_request *r, void (*interrupt)(void *arg), void *arg);
/* Nanoseconds from now; 0: no deadline. */
void http_deadline(struct http_request *r, int64_t ns);
/* The deadline, if there is one, is so much later. */
void http_extend(struct http_request *r, int64_t ns);
int http_stopped(const struct http_request *r);

/* ---- the answer: one of these, once ---- */

/* A header of this answer alone; line breaks in the value are refused. */
int http_add_header(struct http_request *r, const char *name, const char *value);
/* The body is taken (and compressed where that pays). */
void http_reply(struct http_request *r, unsigned int status, const char *type, struct buf *body);
void http_reply_text(struct http_request *r, unsigned int status, const char *type,
		     const char *text);
/* Bytes that live as long as the program; `gzipped`: they are compressed, and are inflated for who
 * does not take that. */
void http_reply_static(struct http_request *r, const char *type, const void *data, size_t len,
		       bool gzipped);
/* What is compressed in the gzip form, as it was. 0 or negative. */
int http_inflate(const void *data, size_t len, struct buf *to);
/* The whole of a file, which is closed in the end. */
void http_reply_file(struct http_request *r, const char *type, int fd);
/*
 * A body of unknown length: `more` appends the next piece (it may wait) and returns 1, 0 at the
 * end, negative to break the connection off; `done` is called in any case, last.
 */
struct http_stream {
	int (*more)(void *arg, struct buf *out);
	void (*done)(void *arg);
	void *arg;
};
void http_reply_stream(struct http_request *r, const char *type, const struct http_stream *s);
