/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: a request and its server; only inside net/. */
#pragma once

#include <pthread.h>

#include "net/http.h"
#include "net/mhd_api.h"

enum conn_state {
	CONN_IDLE,	/* no request, or its first line is incomplete */
	CONN_RECEIVING, /* its first line was received */
	CONN_WORKING,	/* the route's function is running */
	CONN_SENDING,
};

struct conn {
	struct conn *prev, *next;
	int fd;
	enum conn_state state;
	int64_t since; /* monotonic, when the state began */
	struct http_request *request;
	uid_t peer;	       /* the user who connected; PEER_UNKNOWN */
	bool trusted, dropped; /* see http_trust(); dropped: it is about to be closed */
};

struct http {
	const struct http_options *opt;
	struct mhd_api mhd;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* protects everything below, and members of a request so marked */
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
	char *uri;  /* as received */
	char *path; /* decoded, parts cut by NUL in `cut` */
	char *cut;
	const char *parts[HTTP_PARTS_MAX];
	struct buf body;
	bool bad, too_large, begun, admitted;

	/* protected by the lock */
	void (*interrupt)(void *arg);
	void *interrupt_arg;
	int64_t deadline;
	int stopped;

	struct MHD_Response *response;
	unsigned int status;
	struct buf headers; /* "name\0value\0" ... */
};

void *http_watch(void *arg);
/* The user who owns the socket at the other end; PEER_UNKNOWN if the kernel does not report it. */
uid_t peer_uid(int fd);
/* libmicrohttpd's MHD_NotifyConnectionCallback. */
void conns_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
		  enum MHD_ConnectionNotificationCode what);
/* Marks the connection's client as authenticated. */
void conns_trust(struct http *h, struct conn *c);
/* Sends the answer of the route's function; 500 if there was none. */
enum MHD_Result http_send(struct http_request *r);
