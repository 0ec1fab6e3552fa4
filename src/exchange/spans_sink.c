// SPDX-License-Identifier: Apache-2.0
/* spans_sink.c: formats spans as text, in pieces as large as the format requires. */
#include <errno.h>

#include "exchange/otlp/proto.h"
#include "exchange/span_out.h"

#define REQUEST_SPANS 512u /* spans per line of OTLP, as its exporters send them */

struct spans_sink {
	enum spans_out_format format;
	struct buf out;
	json_t *document;     /* an OTLP request, or the complete Jaeger document */
	struct intern groups; /* groups in the document */
	size_t spans;	      /* in the document; for Zipkin: so far */
};

static int begin_document(struct spans_sink *s)
{
	json_decref(s->document);
	intern_free(&s->groups);
	s->groups = (struct intern){0};
	s->spans = 0;
	s->document = s->format == SPANS_OUT_JAEGER ? jaeger_document()
						    : json_pack("{s:[]}", "resourceSpans");
	return s->document ? 0 : -ENOMEM;
}

int spans_sink_new(struct spans_sink **ret, enum spans_out_format format, struct error *err)
{
	struct spans_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->format = format;
	if (begin_document(s) < 0) {
		spans_sink_free(s);
		return error_set(err, -ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

void spans_sink_free(struct spans_sink *s)
{
	if (!s)
		return;
	json_decref(s->document);
	intern_free(&s->groups);
	buf_free(&s->out);
	free(s);
}

struct buf *spans_sink_out(struct spans_sink *s)
{
	return &s->out;
}

static int put_json(struct spans_sink *s, const json_t *j, const char *behind)
{
	int r = json_write(&s->out, j);

	return r < 0 ? r : buf_printf(&s->out, "%s", behind);
}

/* Writes the OTLP request collected so far. Each request is complete in itself, and so is a concatenation of messages. */
static int flush_request(struct spans_sink *s)
{
	int r;

	if (!s->spans)
		return 0;
	r = s->format == SPANS_OUT_PROTOBUF ? proto_write(&s->out, proto_request, s->document)
					    : put_json(s, s->document, "\n");
	return r < 0 ? r : begin_document(s);
}

static int put_zipkin(struct spans_sink *s, const struct span_out *span)
{
	_cleanup_json_ json_t *j = zipkin_span(span);
	int r = j ? buf_printf(&s->out, "%s", s->spans ? ",\n" : "[") : -ENOMEM;

	s->spans++;
	return r < 0 ? r : put_json(s, j, "");
}

int spans_sink_put(struct spans_sink *s, const struct span_out *span)
{
	int r;

	if (s->format == SPANS_OUT_ZIPKIN)
		return put_zipkin(s, span);
	if (s->format == SPANS_OUT_JAEGER)
		return jaeger_put(s->document, &s->groups, span);
	r = otlp_put(s->document, &s->groups, span);
	s->spans++;
	return r < 0 || s->spans < REQUEST_SPANS ? r : flush_request(s);
}

int spans_sink_end(struct spans_sink *s)
{
	if (s->format == SPANS_OUT_ZIPKIN)
		return buf_printf(&s->out, "%s]\n", s->spans ? "" : "[");
	if (s->format == SPANS_OUT_JAEGER)
		return put_json(s, s->document, "\n");
	return flush_request(s);
}
