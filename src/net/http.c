// SPDX-License-Identifier: Apache-2.0
/* http.c: requests; connections are in conns.c, answers in reply.c, timeouts in watch.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/internal.h"

#define PORTS_TRIED  100
#define THREAD_STACK (1u << 20)

/* ---- listening ---- */

static int listen_on(uint16_t port)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, HTTP_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int http_listen(uint16_t port, bool search, uint16_t *ret_port, struct error *err)
{
	struct sockaddr_in at = {0};
	socklen_t len = sizeof(at);
	int fd = -EADDRINUSE;

	for (unsigned int i = 0; i < PORTS_TRIED && fd == -EADDRINUSE && port + i <= UINT16_MAX;
	     i++) {
		fd = listen_on((uint16_t)(port + i));
		if (!search)
			break;
	}
	if (fd < 0)
		return error_errno(err, fd, "cannot listen on 127.0.0.1:%u", port);
	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		at.sin_port = htons(port);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* ---- routes ---- */

/* True if the path matches the route; its parts are cut out of r->cut. */
static bool match(struct http_request *r, const char *route)
{
	char *at = r->cut;
	size_t parts = 0;

	memcpy(r->cut, r->path, strlen(r->path) + 1);
	while (*route) {
		if (route[0] == '{' && route[1] == '}') {
			size_t len = strcspn(at, "/");

			if (!len || parts == HTTP_PARTS_MAX)
				return false;
			r->parts[parts++] = at;
			at += len;
			route += 2;
			if (*at != *route)
				return false;
			if (*at)
				*at++ = '\0';
			route += *route != '\0';
			continue;
		}
		if (*at++ != *route++)
			return false;
	}
	return *at == '\0';
}

/* The route of the request; NULL: none. *ret_other: the path is known with another method. */
static const struct http_route *route_of(struct http_request *r, bool *ret_other)
{
	const char *method = strcmp(r->method, "HEAD") == 0 ? "GET" : r->method;

	*ret_other = false;
	for (const struct http_route *route = r->http->opt->routes; route->path; route++) {
		if (!match(r, route->path))
			continue;
		if (strcmp(route->method, method) == 0)
			return route;
		*ret_other = true;
	}
	return NULL;
}

/* ---- requests ---- */

static void set_state(struct http_request *r, enum conn_state state)
{
	struct http *h = r->http;

	pthread_mutex_lock(&h->lock);
	if (r->conn) {
		h->working += (state == CONN_WORKING) - (r->conn->state == CONN_WORKING);
		r->conn->state = state;
		r->conn->since = clock_monotonic_ns();
		r->conn->request = state == CONN_IDLE ? NULL : r;
		pthread_cond_signal(&h->wake);
	}
	pthread_mutex_unlock(&h->lock);
}

/* libmicrohttpd decodes in place and stops at a NUL: a request with a NUL is marked before. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct http *h = arg;
	const union MHD_ConnectionInfo *info =
		h->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->http = h;
	r->connection = connection;
	r->conn = info ? info->socket_context : NULL;
	r->uri = strdup(uri);
	r->bad = !r->uri || uri[0] != '/' || strstr(uri, "%00");
	for (const char *c = uri; *c && !r->bad; c++)
		r->bad = (unsigned char)*c <= ' ' || *c == 0x7f;
	set_state(r, CONN_RECEIVING);
	return r;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	struct http_request *r = *con_cls;

	if (!r)
		return;
	set_state(r, CONN_IDLE);
	if (r->response)
		r->http->mhd.destroy_response(r->response);
	buf_free(&r->body);
	buf_free(&r->headers);
	free(r->uri);
	free(r->path);
	free(r->cut);
	free(r);
	*con_cls = NULL;
}

static void http_refuse(struct http_request *r, unsigned int status, const char *why)
{
	http_reply_text(r, status, "text/plain; charset=utf-8", why);
}

static enum MHD_Result count_host(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	unsigned int *n = arg;

	*n += strcasecmp(name, "Host") == 0;
	return MHD_YES;
}

/* The headers have arrived, the body has not: requests are refused now if possible. */
static bool http_begin(struct http_request *r, const char *url, const char *method)
{
	unsigned int hosts = 0;
	const char *length;
	bool other;

	r->method = method;
	r->path = strdup(url);
	r->cut = strdup(url);
	if (!r->path || !r->cut)
		return http_refuse(r, 500, "out of memory\n"), false;
	if (r->bad)
		return http_refuse(r, 400, "the address of the request is malformed\n"), false;
	/* RFC 9112, 3.2: with two Host headers, implementations disagree about which one applies */
	r->http->mhd.get_connection_values(r->connection, MHD_HEADER_KIND, count_host, &hosts);
	if (hosts > 1)
		return http_refuse(r, 400, "the request has more than one Host header\n"), false;
	r->route = route_of(r, &other);
	if (!r->route && other)
		return http_refuse(r, 405, "method not allowed for this address\n"), false;
	if (!r->http->opt->admit(r->http->opt->arg, r, r->route))
		return false;
	r->admitted = true;
	length = http_header(r, "Content-Length");
	if (!r->route && length) { /* its body would not be read */
		r->http->opt->otherwise(r->http->opt->arg, r);
		return false;
	}
	if (length && strtoull(length, NULL, 10) > r->route->body_max)
		return http_refuse(r, 413, "the request's body is too large\n"), false;
	return true;
}

static void take_body(struct http_request *r, const char *data, size_t len)
{
	size_t max = r->route ? r->route->body_max : 0;

	if (r->body.len + len > max || r->too_large || buf_append(&r->body, data, len) < 0)
		r->too_large = true;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_len, void **con_cls)
{
	struct http_request *r = *con_cls;
	const struct http_options *opt = ((struct http *)arg)->opt;

	if (!r)
		return MHD_NO;
	if (!r->begun) {
		r->begun = true;
		return http_begin(r, url, method) ? MHD_YES : http_send(r);
	}
	if (*data_len) {
		take_body(r, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	if (r->too_large) {
		http_refuse(r, 413, "the request's body is too large\n");
		return http_send(r);
	}
	set_state(r, CONN_WORKING);
	if (r->route)
		r->route->handle(opt->arg, r);
	else
		opt->otherwise(opt->arg, r);
	http_on_stop(r, NULL, NULL);
	set_state(r, CONN_SENDING);
	return http_send(r);
}

const char *http_method(const struct http_request *r)
{
	return r->method;
}

const char *http_path(const struct http_request *r)
{
	return r->path;
}

const char *http_part(const struct http_request *r, size_t i)
{
	assert(i < HTTP_PARTS_MAX && r->parts[i]);
	return r->parts[i];
}

const char *http_header(const struct http_request *r, const char *name)
{
	return r->http->mhd.lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *http_param(const struct http_request *r, const char *name)
{
	return r->http->mhd.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct each_param {
	bool (*take)(void *arg, const char *name, const char *value);
	void *arg;
};

static enum MHD_Result on_param(void *arg, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	const struct each_param *e = arg;

	return e->take(e->arg, name ?: "", value ?: "") ? MHD_NO : MHD_YES;
}

void http_each_param(const struct http_request *r,
		     bool (*take)(void *arg, const char *name, const char *value), void *arg)
{
	struct each_param e = {take, arg};

	r->http->mhd.get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, on_param, &e);
}

const char *http_query(const struct http_request *r)
{
	const char *mark = strchr(r->uri, '?');

	return mark ? mark + 1 : "";
}

const char *http_cookie(const struct http_request *r, const char *name)
{
	return r->http->mhd.lookup_connection_value(r->connection, MHD_COOKIE_KIND, name);
}

void http_trust(struct http_request *r)
{
	if (r->conn)
		conns_trust(r->http, r->conn);
}

uid_t http_peer(const struct http_request *r)
{
	return r->conn ? r->conn->peer : PEER_UNKNOWN;
}

struct buf *http_body(struct http_request *r)
{
	return &r->body;
}

/* ---- stopping a request ---- */

void http_on_stop(struct http_request *r, void (*interrupt)(void *arg), void *arg)
{
	pthread_mutex_lock(&r->http->lock);
	r->interrupt = interrupt;
	r->interrupt_arg = arg;
	pthread_mutex_unlock(&r->http->lock);
}

void http_deadline(struct http_request *r, int64_t ns)
{
	pthread_mutex_lock(&r->http->lock);
	r->deadline = ns ? clock_monotonic_ns() + ns : 0;
	pthread_mutex_unlock(&r->http->lock);
}

void http_extend(struct http_request *r, int64_t ns)
{
	pthread_mutex_lock(&r->http->lock);
	r->deadline += r->deadline ? ns : 0;
	pthread_mutex_unlock(&r->http->lock);
}

int http_stopped(const struct http_request *r)
{
	return __atomic_load_n(&r->stopped, __ATOMIC_RELAXED);
}

/* ---- starting and stopping ---- */

static void no_log(void *arg, const char *fmt, va_list ap)
{
}

int http_start(struct http **ret, int listen_fd, const struct http_options *opt, struct error *err)
{
	struct http *h = calloc(1, sizeof(*h));
	int r = h ? mhd_api_get(&h->mhd, err) : error_errno(err, -ENOMEM, "cannot serve");

	if (r < 0) {
		close(listen_fd);
		free(h);
		return r;
	}
	h->opt = opt;
	pthread_mutex_init(&h->lock, NULL);
	clock_cond_init(&h->wake);
	h->daemon = h->mhd.start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			MHD_USE_ITC | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
		h, MHD_OPTION_NOTIFY_CONNECTION, conns_notify, h, MHD_OPTION_END);
	if (!h->daemon || pthread_create(&h->watcher, NULL, http_watch, h)) {
		if (h->daemon)
			h->mhd.stop_daemon(h->daemon);
		free(h);
		return error_set(err, -EAGAIN, "cannot start the server's threads");
	}
	*ret = h;
	return 0;
}

void http_stop(struct http *h)
{
	MHD_socket listening;

	if (!h)
		return;
	listening = h->mhd.quiesce_daemon(h->daemon);
	if (listening >= 0)
		close(listening);
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	/* the watcher continues to stop requests until the last one has ended */
	h->mhd.stop_daemon(h->daemon);
	pthread_mutex_lock(&h->lock);
	h->daemon = NULL;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->watcher, NULL);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
