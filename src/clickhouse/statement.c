// SPDX-License-Identifier: Apache-2.0
/* statement.c: runs statements over HTTP. */
#include "clickhouse/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct net_defaults defaults = {
	.scheme = CLICKHOUSE_SCHEME, .port = 8123, .tls_port = 8443, .database = "weir"};

/* Codes of exceptions (ClickHouse's ErrorCodes.cpp) that are not -EINVAL. */
static const struct {
	int code, errno_code;
	const char *advice;
} known[] = {
	{60, -ENOENT, "; load a trace into it first: weir load"},
	{81, -ENOENT, "; load a trace into it first: weir load"},
	{159, -ETIMEDOUT, ""},
	{160, -ETIMEDOUT, ""},
	{192, -EACCES, "; set $WEIR_USER and $WEIR_PASSWORD, or login=FILE in the address"},
	{193, -EACCES, "; set $WEIR_USER and $WEIR_PASSWORD, or login=FILE in the address"},
	{194, -EACCES, "; set $WEIR_USER and $WEIR_PASSWORD, or login=FILE in the address"},
	{516, -EACCES, "; set $WEIR_USER and $WEIR_PASSWORD, or login=FILE in the address"},
	{216, -EBUSY, "; another loader is loading this recording: load again when it has ended"},
	{202, -EBUSY, ""},
	{75, -ENOSPC, "; load again when the server's disk has room"},
	{243, -ENOSPC, "; load again when the server's disk has room"},
	{241, -ENOMEM, "; --memory SIZE raises the bound, the server's own may be lower"},
	{173, -ENOMEM, ""},
	{394, -EINTR, ""},
};

int clickhouse_literal(struct bytes text, struct buf *out)
{
	buf_append(out, "'", 1);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\'' || text.data[i] == '\\')
			buf_append(out, "\\", 1);
		if (text.data[i])
			buf_append(out, text.data + i, 1);
		else
			buf_append(out, "\\0", 2);
	}
	return buf_append(out, "'", 1);
}

/* "Code: 60, e.displayText() = DB::Exception: Table weir.op doesn't exist., e.what() = ..." (18), "Code: 60. DB::Exception:
 * Table ... (UNKNOWN_TABLE) (version ...)" (today). */
int clickhouse_exception(const struct clickhouse *c, const char *text, struct error *err)
{
	const char *at = strstr(text, "Code: "), *what = at ? strstr(at, "Exception: ") : NULL;
	const char *ends[] = {", e.what() = ", ", Stack trace", " (version ", "\n"};
	const char *advice = "";
	size_t len;
	int code, r = -EINVAL;

	if (!what || sscanf(at, "Code: %d", &code) != 1)
		return 0;
	what += strlen("Exception: ");
	len = strlen(what);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *end = strstr(what, ends[i]);

		if (end)
			len = MIN(len, (size_t)(end - what));
	}
	while (len && what[len - 1] == '.')
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].code == code) {
			r = known[i].errno_code;
			advice = known[i].advice;
		}
	}
	if (r == -EINTR)
		return error_set(err, r, "interrupted");
	return error_set(err, r, "%s: ClickHouse's error %d: %.*s%s", net_client_node(c->client),
			 code, (int)MIN(len, (size_t)500), what, advice);
}

static int server_put_path(struct clickhouse *c, const struct clickhouse_query *q, bool in_path,
			   struct buf *out)
{
	int r;

	buf_printf(out, "/?database=%s",
		   q->no_database ? "default" : net_client_database(c->client));
	if (q->id)
		buf_printf(out, "&query_id=%s", q->id);
	if (q->settings)
		buf_printf(out, "%s", q->settings);
	if (q->compressed)
		buf_printf(out, "&decompress=1&http_native_compression_disable_checksumming_on_"
				"decompress=1");
	r = buf_status(out);
	if (r < 0 || !in_path)
		return r;
	buf_printf(out, "&query=");
	return net_encode(q->sql, strlen(q->sql), out);
}

int clickhouse_begin(struct clickhouse *c, const struct clickhouse_query *q, struct error *err)
{
	_cleanup_buf_ struct buf path = {0}, answer = {0};
	bool in_path = q->data.len > 0;
	struct net_request request = {.method = "POST", .headers = q->headers};
	unsigned int status;
	int r = server_put_path(c, q, in_path, &path);

	if (r < 0)
		return error_errno(err, r, "a statement");
	request.path = buf_str(&path);
	request.body = in_path ? q->data : bytes_of(q->sql);
	r = net_client_begin(c->client, &request, &status, err);
	if (r < 0 || status == 200)
		return r;
	while ((r = net_client_read(c->client, &answer, err)) > 0) {
		if (answer.len > 1u << 20)
			break;
	}
	if (r < 0)
		return r;
	r = clickhouse_exception(c, buf_str(&answer), err);
	if (r < 0)
		return r;
	return error_set(
		err, status == 401 || status == 403 ? -EACCES : -EPROTO,
		"%s answers with %u: %.*s; is this the HTTP port of ClickHouse, 8123 by default?",
		net_client_node(c->client), status,
		(int)MIN(strcspn(buf_str(&answer), "\r\n"), (size_t)300), buf_str(&answer));
}

int clickhouse_run(struct clickhouse *c, const struct clickhouse_query *q, struct buf *answer,
		   struct error *err)
{
	int r = clickhouse_begin(c, q, err);

	return r < 0 ? r : net_client_rest(c->client, answer, err);
}

int clickhouse_do(struct clickhouse *c, const char *sql, struct buf *answer, struct error *err)
{
	_cleanup_buf_ struct buf own = {0};

	return clickhouse_run(c, &(struct clickhouse_query){.sql = sql}, answer ? answer : &own,
			      err);
}

int clickhouse_ask(struct clickhouse *c, struct buf *answer, struct error *err, const char *fmt,
		   ...)
{
	_cleanup_free_ char *sql = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&sql, fmt, args);
	va_end(args);
	return n < 0 ? error_errno(err, -ENOMEM, "a statement")
		     : clickhouse_do(c, sql, answer, err);
}

int clickhouse_connect(struct clickhouse *c, const char *address, struct error *err)
{
	const struct clickhouse_query q = {.sql = "SELECT version()", .no_database = true};
	_cleanup_buf_ struct buf answer = {0};
	unsigned int major, minor;
	int r = net_client_new(&c->client, address, &defaults, err);

	if (r >= 0) {
		c->address = strdup(address);
		r = c->address ? clickhouse_run(c, &q, &answer, err) : -ENOMEM;
	}
	if (r < 0)
		return r;
	if (sscanf(buf_str(&answer), "%u.%u", &major, &minor) != 2 || major > 9999 || minor > 999)
		return error_set(err, -EPROTO, "%s: the server there is not ClickHouse: '%.*s'",
				 net_client_node(c->client),
				 (int)MIN(strcspn(buf_str(&answer), "\n"), (size_t)80),
				 buf_str(&answer));
	c->version = major * 1000 + minor;
	return 0;
}

int clickhouse_again(const struct clickhouse *c, struct clickhouse *ret, struct error *err)
{
	int r = net_client_new(&ret->client, c->address, &defaults, err);

	ret->version = c->version;
	ret->address = r < 0 ? NULL : strdup(c->address);
	return r < 0 || ret->address ? r : error_errno(err, -ENOMEM, "%.200s", c->address);
}

void clickhouse_close(struct clickhouse *c)
{
	net_client_free(c->client);
	free(c->address);
	*c = (struct clickhouse){0};
}
