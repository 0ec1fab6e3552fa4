/* SPDX-License-Identifier: Apache-2.0 */
/* context.c: span contexts as text, W3C's traceparent. */
#include <errno.h>
#include <stdio.h>

#include "layout.h"
#include "weir-span.h"

EXPORT int weir_span_to_traceparent(const struct weir_span_context *c,
				    char text[WEIR_SPAN_TRACEPARENT])
{
	if ((!c->trace[0] && !c->trace[1]) || !c->span) {
		text[0] = 0;
		return -EINVAL;
	}
	snprintf(text, WEIR_SPAN_TRACEPARENT, "00-%016llx%016llx-%016llx-%02x",
		 (unsigned long long)c->trace[0], (unsigned long long)c->trace[1],
		 (unsigned long long)c->span, c->flags & 0xff);
	return 0;
}

/* Parses exactly `digits` lower-case hexadecimal digits. */
static bool hex_take(const char **at, int digits, uint64_t *ret)
{
	*ret = 0;
	for (; digits; digits--, (*at)++) {
		char c = **at;

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		*ret = *ret << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

static bool dash_take(const char **at)
{
	return *(*at)++ == '-';
}

EXPORT int weir_span_from_traceparent(const char *text, struct weir_span_context *ret)
{
	uint64_t version, flags;
	struct weir_span_context c = {0};

	*ret = c;
	if (!hex_take(&text, 2, &version) || version == 0xff || !dash_take(&text) ||
	    !hex_take(&text, 16, &c.trace[0]) || !hex_take(&text, 16, &c.trace[1]) ||
	    !dash_take(&text) || !hex_take(&text, 16, &c.span) || !dash_take(&text) ||
	    !hex_take(&text, 2, &flags) || (*text && (!version || *text != '-')) ||
	    (!c.trace[0] && !c.trace[1]) || !c.span)
		return -EINVAL;
	c.flags = (uint32_t)flags;
	*ret = c;
	return 0;
}
