/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/format.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/when.h"
#include "cli/terminal/bars.h"

/* ---- points in time ---- */

struct text format_when(int64_t ns, enum format_zone zone)
{
	int64_t ms = ns / NSEC_PER_MSEC - (ns % NSEC_PER_MSEC < 0);
	time_t sec = (time_t)(ms / 1000 - (ms % 1000 < 0));
	struct tm tm = {0};
	struct text t;
	long off;

	if (!(zone == FORMAT_UTC ? gmtime_r(&sec, &tm) : localtime_r(&sec, &tm))) {
		snprintf(t.s, sizeof(t.s), "%lld ns", (long long)ns);
		return t;
	}
	off = tm.tm_gmtoff / 60;
	snprintf(t.s, sizeof(t.s), "%d %s %02d:%02d:%02d.%03d %c%02ld%02ld", tm.tm_mday,
		 when_months[tm.tm_mon], tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (int)(ms - (int64_t)sec * 1000), off < 0 ? '-' : '+', labs(off) / 60,
		 labs(off) % 60);
	return t;
}

struct text format_rel(int64_t ns, int digits)
{
	struct text t;
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t unit = (uint64_t)NSEC_PER_SEC;

	assert(digits >= 0 && digits <= 9);
	for (int i = 0; i < digits; i++)
		unit /= 10;
	abs /= unit;
	unit = (uint64_t)NSEC_PER_SEC / unit;
	if (digits == 0)
		snprintf(t.s, sizeof(t.s), "%c%llu s", ns < 0 ? '-' : '+', (unsigned long long)abs);
	else
		snprintf(t.s, sizeof(t.s), "%c%llu.%0*llu s", ns < 0 ? '-' : '+',
			 (unsigned long long)(abs / unit), digits,
			 (unsigned long long)(abs % unit));
	return t;
}

struct text format_counted(uint64_t n, const char *what)
{
	const char *plural = what[strlen(what) - 1] == 's' ? "es" : "s";
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.32s %.24s%s", format_count(n).s, what, n == 1 ? "" : plural);
	return t;
}

/* ---- spark lines ---- */

static unsigned int spark_column(uint64_t ns)
{
	/* Upper bounds of the columns: half decades. */
	static const uint64_t ends[FORMAT_SPARK_WIDTH - 1] = {
		3162,	 10000,	   31623,    100000,	316228,	   1000000,
		3162278, 10000000, 31622777, 100000000, 316227766,
	};
	unsigned int i = 0;

	while (i < ARRAY_SIZE(ends) && ns >= ends[i])
		i++;
	return i;
}

/* Adds a histogram's counts to the columns of a spark line. */
static void format_spark_add(uint64_t counts[static FORMAT_SPARK_WIDTH], const struct hist *h)
{
	for (unsigned int i = 0; i < hist_entries(h); i++) {
		struct hist_entry e = hist_entry(h, i);

		counts[spark_column(hist_middle(e.bucket))] += e.count;
	}
}

struct text format_spark_counts(const uint64_t counts[static FORMAT_SPARK_WIDTH])
{
	uint64_t max = 0;
	struct text t;
	size_t at = 0;

	for (unsigned int i = 0; i < FORMAT_SPARK_WIDTH; i++)
		max = MAX(max, counts[i]);
	for (unsigned int i = 0; i < FORMAT_SPARK_WIDTH; i++) {
		const char *shade = bars_shade(counts[i], max);
		size_t n = strlen(shade);

		memcpy(t.s + at, shade, n);
		at += n;
	}
	t.s[at] = '\0';
	return t;
}

struct text format_spark(const struct hist *h)
{
	uint64_t counts[FORMAT_SPARK_WIDTH] = {0};

	format_spark_add(counts, h);
	return format_spark_counts(counts);
}

/* ---- names ---- */

/* Width of a character in columns; -1 if it must not reach a terminal. */
static int char_width(uint32_t c)
{
	if (!utf8_is_shown(c))
		return -1;
	if (c >= 0x300 && c < 0x370)
		return 0; /* combining characters */
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
		return 2;
	return 1;
}

int format_safe(struct buf *out, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = utf8_decode(p + i, len - i, &c);

		if (n && char_width(c) >= 0) {
			buf_append(out, p + i, n);
			i += n;
			continue;
		}
		for (n = n ? n : 1; n; n--, i++) {
			if (p[i] == '\n' || p[i] == '\t' || p[i] == '\r')
				buf_printf(out, "\\%c",
					   p[i] == '\n'	  ? 'n'
					   : p[i] == '\t' ? 't'
							  : 'r');
			else
				buf_printf(out, "\\x%02x", p[i]);
		}
	}
	return buf_status(out);
}

/* Length of the longest prefix that takes at most `width` columns. */
static size_t prefix_of_width(const char *s, size_t len, size_t width, size_t *ret_width)
{
	size_t at = 0, w = 0;

	while (at < len) {
		uint32_t c = 0;
		size_t n = utf8_decode((const uint8_t *)s + at, len - at, &c);
		int cw = n ? char_width(c) : 1;

		n = n ? n : 1;
		cw = cw < 0 ? 1 : cw;
		if (w + (size_t)cw > width)
			break;
		w += (size_t)cw;
		at += n;
	}
	if (ret_width)
		*ret_width = w;
	return at;
}

size_t format_width(const char *s)
{
	size_t w;

	prefix_of_width(s, strlen(s), SIZE_MAX, &w);
	return w;
}

/* Appends the longest suffix of s that takes at most `width` columns. */
static int append_tail(struct buf *out, const char *s, size_t width)
{
	size_t len = strlen(s), total = format_width(s), skip = total > width ? total - width : 0,
	       w;
	size_t at = prefix_of_width(s, len, skip, &w);

	/* Skips a wide character that straddles the cut. */
	while (w < skip && at < len) {
		size_t n = 1;

		while (at + n < len && ((uint8_t)s[at + n] & 0xc0) == 0x80)
			n++;
		at += n;
		w += 2;
	}
	return buf_append(out, s + at, len - at);
}

static int append_middle(struct buf *out, const char *s, size_t width)
{
	size_t len = strlen(s), keep, front;
	const char *slash = NULL, *last = s[0] == '/' ? strrchr(s, '/') : NULL;

	if (format_width(s) <= width)
		return buf_append(out, s, len);
	if (width < 8)
		return buf_append(out, s, prefix_of_width(s, len, width, NULL));
	/* Cuts at a folder: the longest run of last names that fits, preceded by the first name if that fits too. */
	for (const char *p = s + len; p > s; p--) {
		if (*p != '/')
			continue;
		if (format_width(p) + 4 > width)
			break; /* longer runs do not fit either */
		slash = p;
	}
	if (slash && s[0] == '/') {
		const char *first = strchr(s + 1, '/');

		if (first && first < slash &&
		    prefix_of_width(s, (size_t)(first - s), SIZE_MAX, &front) &&
		    front + 4 + format_width(slash) <= width)
			buf_append(out, s, (size_t)(first - s));
		buf_append(out, "/...", 4);
		return buf_append(out, slash, strlen(slash));
	}
	/*
	 * If no folder fits before it, only the name, marked so that it is not taken for a relative path; if that is too
	 * long, its two ends.
	 */
	if (last && last[1] && format_width(last + 1) <= width) {
		buf_append(out, "...", 3);
		return append_tail(out, last + 1, width - 3);
	}
	s = last && last[1] ? last + 1 : s;
	len = strlen(s);
	keep = width - 3;
	front = keep / 3;
	buf_append(out, s, prefix_of_width(s, len, front, NULL));
	buf_append(out, "...", 3);
	return append_tail(out, s, keep - front);
}

int format_path(struct buf *out, const void *data, size_t len, size_t width)
{
	_cleanup_buf_ struct buf safe = {0};

	buf_fail(out, format_safe(&safe, data, len));
	return append_middle(out, buf_str(&safe), width);
}

int format_pad(struct buf *out, const char *s, size_t width, bool right)
{
	size_t w, len = strlen(s), take = prefix_of_width(s, len, width, &w);

	if (right)
		buf_printf(out, "%*s", (int)(width - w), "");
	buf_append(out, s, take);
	if (!right)
		buf_printf(out, "%*s", (int)(width - w), "");
	return buf_status(out);
}

/* ---- lines ---- */

int format_next(struct buf *out, size_t width, const char *fmt, ...)
{
	size_t begin = out->len;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	while (begin && out->data[begin - 1] != '\n')
		begin--;
	if (width && out->len > begin &&
	    format_width(buf_str(out) + begin) + 3 + format_width(text) > width)
		return buf_printf(out, "\n%s", text);
	return buf_printf(out, "%s%s", out->len ? "   " : "", text);
}

/* Numbers and their units stay on one line. */
static bool begins_with_unit(const char *text)
{
	static const char *const units[] = {"%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB"};
	size_t len = *text == ' ' ? strcspn(text + 1, " ,;:.)") : 0;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i]) == len && !memcmp(units[i], text + 1, len))
			return true;
	}
	return false;
}

int format_wrapped(struct buf *out, const char *text, size_t indent, size_t width)
{
	size_t at = indent;

	for (const char *p = text; *p;) {
		size_t len = strcspn(p, " "), taken;

		if (len && isdigit((unsigned char)p[len - 1]) && begins_with_unit(p + len))
			len += 1 + strcspn(p + len + 1, " ");
		prefix_of_width(p, len, SIZE_MAX, &taken);
		if (at > indent && at + 1 + taken > width) {
			buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (p != text) {
			buf_append(out, " ", 1);
			at++;
		}
		buf_append(out, p, len);
		at += taken;
		p += len + (p[len] == ' ');
	}
	return buf_append(out, "\n", 1);
}

int format_wrap(struct buf *text, size_t indent, size_t width)
{
	_cleanup_buf_ struct buf plain = *text;

	*text = (struct buf){0};
	buf_fail(text, buf_status(&plain));
	return format_wrapped(text, buf_str(&plain), indent, width);
}
