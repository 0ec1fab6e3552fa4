// SPDX-License-Identifier: Apache-2.0
/* reply.c: sends answers. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "net/internal.h"

#define GZIP_WINDOW  (15 + 16) /* zlib's code for the gzip format */
#define STREAM_PIECE (64u << 10)

/* ---- compression ---- */

/* True if the client accepts "gzip", without q=0. */
static bool takes_gzip(const struct http_request *r)
{
	const char *accept = http_header(r, "Accept-Encoding");
	const char *at = accept ? strstr(accept, "gzip") : NULL;

	if (!at)
		return false;
	at += strlen("gzip");
	at += strspn(at, " ");
	if (*at != ';')
		return true;
	at += 1 + strspn(at + 1, " ");
	return strncmp(at, "q=0", 3) != 0 || strspn(at + 3, ".0") != strcspn(at + 3, ", ");
}

static int compress_buf(const struct buf *from, struct buf *to)
{
	z_stream z = {0};
	int r;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	if (buf_reserve(to, deflateBound(&z, from->len)) < 0) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = from->data;
	z.avail_in = (uInt)from->len;
	z.next_out = to->data;
	z.avail_out = (uInt)to->cap;
	r = deflate(&z, Z_FINISH);
	to->len = z.total_out;
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -EIO;
}

int http_inflate_max(const void *data, size_t len, size_t max, struct buf *to)
{
	z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
	int r = Z_OK;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	while (r == Z_OK && to->len <= max) {
		if (buf_reserve(to, STREAM_PIECE) < 0)
			break;
		z.next_out = to->data + to->len;
		z.avail_out = STREAM_PIECE;
		r = inflate(&z, Z_NO_FLUSH);
		to->len += STREAM_PIECE - z.avail_out;
	}
	inflateEnd(&z);
	if (to->len > max)
		return -E2BIG;
	return r == Z_STREAM_END ? 0 : -EIO;
}

int http_inflate(const void *data, size_t len, struct buf *to)
{
	return http_inflate_max(data, len, SIZE_MAX, to);
}

/* ---- sending ---- */

static void own(struct http_request *r, const char *name, const char *value)
{
	r->http->mhd.add_response_header(r->response, name, value);
}

enum MHD_Result http_send(struct http_request *r)
{
	const char *const *h = r->http->opt->headers;

	if (!r->response)
		http_reply_text(r, 500, "text/plain; charset=utf-8", "no answer\n");
	if (!r->response)
		return MHD_NO;
	if (r->admitted && r->http->opt->finish)
		r->http->opt->finish(r->http->opt->arg, r);
	for (size_t i = 0; h[i]; i += 2)
		own(r, h[i], h[i + 1]);
	for (size_t i = 0; i < r->headers.len;) {
		const char *name = (const char *)r->headers.data + i;
		const char *value = name + strlen(name) + 1;

		own(r, name, value);
		i += strlen(name) + strlen(value) + 2;
	}
	return r->http->mhd.queue_response(r->connection, r->status, r->response);
}

int http_add_header(struct http_request *r, const char *name, const char *value)
{
	size_t before = r->headers.len;
	int e;

	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return -EINVAL;
	}
	buf_append(&r->headers, name, strlen(name) + 1);
	e = buf_append(&r->headers, value, strlen(value) + 1);
	if (e < 0)
		r->headers.len = before;
	return e;
}

static void set(struct http_request *r, unsigned int status, const char *type,
		struct MHD_Response *response)
{
	assert(!r->response);
	r->response = response;
	r->status = status;
	if (response && type)
		own(r, "Content-Type", type);
}

void http_reply(struct http_request *r, unsigned int status, const char *type, struct buf *body)
{
	_cleanup_buf_ struct buf packed = {0};
	bool gzip = body->len >= HTTP_GZIP_MIN && body->len < UINT32_MAX && takes_gzip(r) &&
		    compress_buf(body, &packed) == 0 && packed.len < body->len;
	struct buf *b = gzip ? &packed : body;

	set(r, status, type,
	    r->http->mhd.create_response_from_buffer(b->len, b->data, MHD_RESPMEM_MUST_FREE));
	if (!r->response)
		return;
	*b = (struct buf){0};
	if (gzip)
		own(r, "Content-Encoding", "gzip");
	if (b == &packed)
		buf_free(body);
	*body = (struct buf){0};
}

void http_reply_text(struct http_request *r, unsigned int status, const char *type,
		     const char *text)
{
	set(r, status, type,
	    r->http->mhd.create_response_from_buffer(strlen(text), (void *)text,
						     MHD_RESPMEM_MUST_COPY));
}

void http_reply_static(struct http_request *r, const char *type, const void *data, size_t len,
		       bool gzipped)
{
	struct buf plain = {0};

	if (gzipped && !takes_gzip(r)) {
		if (http_inflate(data, len, &plain) < 0) {
			buf_free(&plain);
			http_reply_text(r, 500, "text/plain; charset=utf-8", "out of memory\n");
			return;
		}
		http_reply(r, 200, type, &plain);
		return;
	}
	set(r, 200, type,
	    r->http->mhd.create_response_from_buffer(len, (void *)data, MHD_RESPMEM_PERSISTENT));
	if (r->response && gzipped)
		own(r, "Content-Encoding", "gzip");
}

void http_reply_file(struct http_request *r, const char *type, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		close(fd);
		return;
	}
	set(r, 200, type, r->http->mhd.create_response_from_fd64((uint64_t)st.st_size, fd));
	if (!r->response)
		close(fd);
}

/* ---- streams ---- */

struct reply_stream {
	struct http_stream s;
	struct http_request *request;
	struct buf piece;
	size_t at;
	bool ended;
};

static ssize_t stream_read(void *arg, uint64_t pos, char *to, size_t max)
{
	struct reply_stream *s = arg;
	size_t n;
	int e;

	if (s->at == s->piece.len) {
		if (s->ended)
			return MHD_CONTENT_READER_END_OF_STREAM;
		s->at = 0;
		buf_clear(&s->piece);
		e = http_stopped(s->request) ? -ECANCELED : s->s.more(s->s.arg, &s->piece);
		if (e < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		s->ended = e == 0;
		if (!s->piece.len)
			return s->ended ? MHD_CONTENT_READER_END_OF_STREAM : 0;
	}
	n = MIN(max, s->piece.len - s->at);
	memcpy(to, s->piece.data + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void stream_free(void *arg)
{
	struct reply_stream *s = arg;

	s->s.done(s->s.arg);
	buf_free(&s->piece);
	free(s);
}

void http_reply_stream(struct http_request *r, const char *type, const struct http_stream *from)
{
	struct reply_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		from->done(from->arg);
		return;
	}
	s->s = *from;
	s->request = r;
	set(r, 200, type,
	    r->http->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, stream_read,
						       s, stream_free));
	if (!r->response)
		stream_free(s);
}
