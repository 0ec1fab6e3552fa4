// SPDX-License-Identifier: Apache-2.0
/* client.c: sends requests to one of several nodes. */
#include "net/client.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "net/client_address.h"
#include "net/curl_api.h"

#define CONNECT_MS 10000L
#define SILENCE_NS (300 * NSEC_PER_SEC)
#define POLL_MS	   100

struct net_client {
	struct net_address address;
	struct curl_api curl;
	CURL *easy;
	CURLM *multi;
	struct curl_slist *headers;
	char url[16384];
	char wrong[CURL_ERROR_SIZE];
	size_t node;	      /* the current one */
	struct buf received;  /* not returned yet */
	bool running, headed; /* a request is in multi; its status was received */
	CURLcode code;
	int64_t silence_ns, heard; /* last time when a byte was sent or received */
	curl_off_t sent;
	atomic_bool stop;
	const atomic_bool *stop_with; /* NULL: none */
};

static size_t client_receive(char *data, size_t size, size_t count, void *arg)
{
	struct net_client *c = arg;

	c->headed = true;
	return buf_append(&c->received, data, size * count) < 0 ? 0 : size * count;
}

static size_t client_header(char *data, size_t size, size_t count, void *arg)
{
	struct net_client *c = arg;

	/* the empty line ends the head, except that of "100 Continue" */
	if (size * count == 2 && data[0] == '\r') {
		long status = 0;

		c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		c->headed = status >= 200;
	}
	return size * count;
}

static bool client_is_stopped(const struct net_client *c)
{
	return atomic_load(&c->stop) || (c->stop_with && atomic_load(c->stop_with));
}

static int client_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
			   curl_off_t up)
{
	struct net_client *c = arg;

	if (down + up != c->sent) {
		c->sent = down + up;
		c->heard = clock_monotonic_ns();
	}
	return client_is_stopped(c);
}

int net_client_new(struct net_client **ret, const char *address, const struct net_defaults *d,
		   struct error *err)
{
	_cleanup_(net_client_freep) struct net_client *c = calloc(1, sizeof(*c));
	int r = c ? net_address_parse(&c->address, address, d, err) : -ENOMEM;

	if (r >= 0)
		r = curl_api_get(&c->curl, err);
	if (r < 0)
		return error_errno(err, r, "%.200s", address);
	c->easy = c->curl.easy_init();
	c->multi = c->curl.multi_init();
	if (!c->easy || !c->multi)
		return error_errno(err, -ENOMEM, "%.200s", address);
	*ret = TAKE_PTR(c);
	return 0;
}

static void client_end(struct net_client *c)
{
	if (c->running)
		c->curl.multi_remove_handle(c->multi, c->easy);
	c->running = false;
	if (c->headers)
		c->curl.slist_free_all(c->headers);
	c->headers = NULL;
}

void net_client_free(struct net_client *c)
{
	if (!c)
		return;
	if (c->easy) {
		client_end(c);
		c->curl.easy_cleanup(c->easy);
	}
	if (c->multi)
		c->curl.multi_cleanup(c->multi);
	buf_free(&c->received);
	net_address_free(&c->address);
	free(c);
}

const char *net_client_node(const struct net_client *c)
{
	return c->address.nodes[c->node];
}

const char *net_client_database(const struct net_client *c)
{
	return c->address.database;
}

void net_client_stop(struct net_client *c)
{
	atomic_store(&c->stop, true);
}

void net_client_stop_with(struct net_client *c, const atomic_bool *stop)
{
	c->stop_with = stop;
}

/* A server without TLS refuses a handshake, or waits for more of it. */
static const char *client_handshake_hint(struct net_client *c)
{
	double took = 0;

	if (!c->address.tls ||
	    c->curl.easy_getinfo(c->easy, CURLINFO_APPCONNECT_TIME, &took) != CURLE_OK || took > 0)
		return "";
	return "; a port without TLS needs an address without tls=1";
}

/* Converts curl's error to one line, and to the nearest errno. */
static int client_failed(struct net_client *c, CURLcode code, struct error *err)
{
	const char *why = c->wrong[0] ? c->wrong : c->curl.easy_strerror(code);
	int r = -EIO;

	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return error_set(err, -EINTR, "interrupted");
	case CURLE_COULDNT_RESOLVE_HOST:
		return error_set(err, -ECONNREFUSED, "%s: %.300s; correct the host in the address",
				 net_client_node(c), why);
	case CURLE_COULDNT_CONNECT:
		return error_set(err, -ECONNREFUSED,
				 "%s: %.300s; start the server, or correct the port in the address",
				 net_client_node(c), why);
	case CURLE_OPERATION_TIMEDOUT:
		return error_set(err, -ETIMEDOUT, "%s: %.300s%s", net_client_node(c), why,
				 client_handshake_hint(c));
	case CURLE_OUT_OF_MEMORY:
	case CURLE_WRITE_ERROR:
		r = -ENOMEM;
		break;
	case CURLE_SSL_CONNECT_ERROR:
		return error_set(err, -EPROTO, "%s: TLS: %.300s%s", net_client_node(c), why,
				 client_handshake_hint(c));
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return error_set(err, -EPROTO, "%s: TLS: %.300s; ?ca=FILE names the CA certificate",
				 net_client_node(c), why);
	default:
		break;
	}
	return error_set(err, r, "%s: %.300s", net_client_node(c), why);
}

/* Transfers bytes until there are some to return, the head is complete (`head`), or the transfer ends. */
static int client_run(struct net_client *c, bool head, struct error *err)
{
	while (c->running && !c->received.len && !(head && c->headed)) {
		int left = 0, moved = 0;
		CURLMcode m = c->curl.multi_perform(c->multi, &left);
		CURLMsg *msg;

		if (m != CURLM_OK)
			return error_set(err, -EIO, "%s: %s", net_client_node(c),
					 c->curl.multi_strerror(m));
		while ((msg = c->curl.multi_info_read(c->multi, &moved))) {
			if (msg->msg != CURLMSG_DONE)
				continue;
			c->code = msg->data.result;
			c->headed = true;
			client_end(c);
			if (c->code != CURLE_OK)
				return client_failed(c, c->code, err);
			break;
		}
		if (!c->running || c->received.len || (head && c->headed))
			break;
		if (client_is_stopped(c))
			return client_failed(c, CURLE_ABORTED_BY_CALLBACK, err);
		if (clock_monotonic_ns() - c->heard > c->silence_ns)
			return error_set(err, -ETIMEDOUT,
					 "%s: no data for %lld s; ?timeout=TIME in the address "
					 "sets the limit%s",
					 net_client_node(c),
					 (long long)(c->silence_ns / NSEC_PER_SEC),
					 client_handshake_hint(c));
		c->curl.multi_poll(c->multi, NULL, 0, POLL_MS, NULL);
	}
	return 0;
}

static int client_headers(struct net_client *c, const struct net_request *q)
{
	/* bodies are sent at once, without "Expect: 100-continue" */
	struct curl_slist *list = c->curl.slist_append(NULL, "Expect:"), *more = list;

	for (size_t i = 0; more && q->headers && q->headers[i]; i++) {
		more = c->curl.slist_append(list, q->headers[i]);
		list = more ? more : list;
	}
	c->headers = list;
	return more ? 0 : -ENOMEM;
}

static int client_set_up(struct net_client *c, const struct net_request *q)
{
	const struct curl_api *a = &c->curl;
	const struct net_address *at = &c->address;
	int n = snprintf(c->url, sizeof(c->url), "%s://%s%s", at->tls ? "https" : "http",
			 at->nodes[c->node], q->path);

	if (n < 0 || (size_t)n >= sizeof(c->url))
		return -E2BIG;
	if (client_headers(c, q) < 0)
		return -ENOMEM;
	a->easy_reset(c->easy);
	a->easy_setopt(c->easy, CURLOPT_URL, c->url);
	a->easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, at->tls ? "https" : "http");
	a->easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	a->easy_setopt(c->easy, CURLOPT_PROXY, "");
	a->easy_setopt(c->easy, CURLOPT_TCP_NODELAY, 1L);
	a->easy_setopt(c->easy, CURLOPT_BUFFERSIZE, 512L << 10);
	a->easy_setopt(c->easy, CURLOPT_UPLOAD_BUFFERSIZE, 1L << 20);
	a->easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	a->easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->wrong);
	a->easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	a->easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, client_receive);
	a->easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	a->easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, client_header);
	a->easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	a->easy_setopt(c->easy, CURLOPT_NOPROGRESS, 0L);
	a->easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, client_progress);
	a->easy_setopt(c->easy, CURLOPT_XFERINFODATA, c);
	if (at->ca)
		a->easy_setopt(c->easy, CURLOPT_CAINFO, at->ca);
	if (at->user)
		a->easy_setopt(c->easy, CURLOPT_USERNAME, at->user);
	if (at->password)
		a->easy_setopt(c->easy, CURLOPT_PASSWORD, at->password);
	if (strcmp(q->method, "GET") != 0) {
		a->easy_setopt(c->easy, CURLOPT_POST, 1L);
		a->easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
		a->easy_setopt(c->easy, CURLOPT_POSTFIELDS,
			       q->body.data ? q->body.data : (const uint8_t *)"");
		a->easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, q->method);
	}
	if (strcmp(q->method, "HEAD") == 0)
		a->easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
	return 0;
}

/* Tries one node. *ret_untouched: it was not reached, so another may be tried. */
static int client_try(struct net_client *c, const struct net_request *q, bool *ret_untouched,
		      struct error *err)
{
	int r;

	client_end(c);
	buf_clear(&c->received);
	c->wrong[0] = 0;
	c->headed = false;
	c->sent = 0;
	c->code = CURLE_OK;
	c->heard = clock_monotonic_ns();
	c->silence_ns = q->silence_ns		? q->silence_ns
			: c->address.timeout_ns ? c->address.timeout_ns
						: SILENCE_NS;
	r = client_set_up(c, q);
	if (r < 0)
		return error_errno(err, r, "%s: cannot make a request", net_client_node(c));
	if (c->curl.multi_add_handle(c->multi, c->easy) != CURLM_OK)
		return error_errno(err, -ENOMEM, "%s", net_client_node(c));
	c->running = true;
	r = client_run(c, true, err);
	*ret_untouched = c->code == CURLE_COULDNT_CONNECT || c->code == CURLE_COULDNT_RESOLVE_HOST;
	return r;
}

int net_client_begin(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		     struct error *err)
{
	struct error first = {0};
	bool untouched = false;
	long status = 0;
	int r = -EIO;

	atomic_store(&c->stop, false);
	for (size_t i = 0; i < c->address.node_count; i++) {
		struct error why = {0};

		r = client_try(c, q, &untouched, &why);
		if (r < 0 && !first.code)
			first = why;
		if (r >= 0 || !untouched)
			break;
		c->node = (c->node + 1) % c->address.node_count;
	}
	if (r < 0) {
		client_end(c);
		return error_set(err, r, "%s", first.message);
	}
	c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	*ret_status = (unsigned int)status;
	return 0;
}

int net_client_read(struct net_client *c, struct buf *out, struct error *err)
{
	int r = client_run(c, false, err);

	if (r < 0) {
		client_end(c);
		return r;
	}
	if (!c->received.len)
		return 0;
	r = buf_append(out, c->received.data, c->received.len);
	buf_clear(&c->received);
	return r < 0 ? error_errno(err, r, "%s", net_client_node(c)) : 1;
}

int net_client_rest(struct net_client *c, struct buf *out, struct error *err)
{
	int r;

	while ((r = net_client_read(c, out, err)) > 0) {
		if (out->len <= NET_ANSWER_MAX)
			continue;
		client_end(c);
		return error_set(err, -EPROTO, "%s: the answer is longer than %u MiB",
				 net_client_node(c), NET_ANSWER_MAX >> 20);
	}
	return r;
}

int net_client_send(struct net_client *c, const struct net_request *q, unsigned int *ret_status,
		    struct buf *answer, struct error *err)
{
	int r = net_client_begin(c, q, ret_status, err);

	return r < 0 ? r : net_client_rest(c, answer, err);
}

int net_encode(const void *data, size_t len, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++) {
		bool plain = (p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'z') ||
			     (p[i] >= 'A' && p[i] <= 'Z') || (p[i] && strchr("-._~", p[i]));
		const char code[] = {'%', digits[p[i] >> 4], digits[p[i] & 15]};

		if (plain)
			buf_append(out, &p[i], 1);
		else
			buf_append(out, code, sizeof(code));
	}
	return buf_status(out);
}
