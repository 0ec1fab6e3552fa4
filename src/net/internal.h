/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: a request and its server, for the files of net/ alone. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>

#include "net/http.h"

enum conn_state {
	CONN_IDLE,	/* no request, or not yet its first line */
	CONN_RECEIVING, /* its first line came */
	CONN_WORKING,	/* the route's function runs */
	CONN_SENDING,
};

struct conn {
	struct conn *prev, *next;
	int fd;
	enum conn_state state;
	int64_t since; /* monotonic, of the state */
	struct http_request *request;
	uid_t peer;	       /* who connected; PEER_UNKNOWN */
	bool trusted, dropped; /* see http_trust(); dropped: it is about to end */
};

struct http {
	const struct http_options *opt;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* all below, and what of a request says so */
	pthread_cond_t wake;
	struct conn *conns;
	unsigned int working;
	bool stopping;
	pthread_t watcher;
};

struct http_request {
	struct http *http;
	struct MHD_Connection *connection;
	struct conn *conn;
	const struct http_route *route;
	const char *method;
	char *uri;  /* as sent */
	char *path; /* decoded, parts cut by NUL in `cut` */
	char *cut;
	const char *parts[HTTP_PARTS_MAX];
	struct buf body;
	bool bad, too_large, begun, admitted;

	/* under the lock */
	void (*interrupt)(void *arg);
	void *interrupt_arg;
	int64_t deadline;
	int stopped;

	struct MHD_Response *response;
	unsigned int status;
	struct buf headers; /* "name\0value\0" ... */
};

void *http_watch(void *arg);
/* The user whose socket is on the other end; PEER_UNKNOWN where the kernel does not say. */
uid_t peer_uid(int fd);
/* libmicrohttpd's MHD_NotifyConnectionCallback. */
void conns_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
		  enum MHD_ConnectionNotificationCode what);
/* The connection's client has shown who it is. */
void conns_trust(struct http *h, struct conn *c);
/* Sends what the route's function left; 500 where that was nothing. */
enum MHD_Result http_send(struct http_request *r);
