// SPDX-License-Identifier: Apache-2.0
#include "base/amount.h"

#include <stdio.h>
#include <stdlib.h>

struct text format_shortest(double v, int digits, bool single)
{
	const int digits_max = single ? 9 : 17;
	struct text t;

	for (; digits <= digits_max; digits++) {
		snprintf(t.s, sizeof(t.s), "%.*g", digits, v);
		if (single ? strtof(t.s, NULL) == (float)v : strtod(t.s, NULL) == v)
			break;
	}
	return t;
}

struct text format_count(uint64_t n)
{
	struct text t;
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[at++] = ',';
		t.s[at++] = digits[i];
	}
	t.s[at] = '\0';
	return t;
}

/* Three significant digits, never in exponent form. */
static struct text scaled(double v, const char *unit)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
	return t;
}

struct text format_size(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes / 1024;
	size_t unit = 0;
	struct text t;

	if (bytes < 1024) {
		snprintf(t.s, sizeof(t.s), "%u B", (unsigned int)bytes);
		return t;
	}
	/* 1023.5 would be printed as 1024: use the next unit. */
	while (v >= 1023.5 && unit + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		unit++;
	}
	return scaled(v, units[unit]);
}

struct text format_dur(int64_t ns)
{
	struct text t;
	double v = (double)ns;

	if (ns < 0)
		snprintf(t.s, sizeof(t.s), "-");
	else if (ns < 1000)
		snprintf(t.s, sizeof(t.s), "%d ns", (int)ns);
	else if (v < 999.5e3)
		return scaled(v / 1e3, "us");
	else if (v < 999.5e6)
		return scaled(v / 1e6, "ms");
	else if (v < 999.5e9)
		return scaled(v / 1e9, "s");
	else
		snprintf(t.s, sizeof(t.s), "%.40s s", format_count((uint64_t)(v / 1e9 + 0.5)).s);
	return t;
}

struct text format_percent(uint64_t part, uint64_t whole)
{
	struct text t;
	double p = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(t.s, sizeof(t.s), "-");
	else if (part && p <= 0.5) /* which is printed as 0 */
		snprintf(t.s, sizeof(t.s), "<1 %%");
	else
		snprintf(t.s, sizeof(t.s), "%.0f %%", p);
	return t;
}

struct text format_rate(uint64_t n, int64_t dur_ns, bool bytes)
{
	double rate = dur_ns > 0 ? (double)n * 1e9 / (double)dur_ns : 0;
	struct text t;

	if (dur_ns <= 0 || rate >= 1e18)
		snprintf(t.s, sizeof(t.s), "-");
	else if (bytes)
		snprintf(t.s, sizeof(t.s), "%.40s/s", format_size((uint64_t)(rate + 0.5)).s);
	else if (rate >= 9.995 || rate == 0)
		snprintf(t.s, sizeof(t.s), "%.40s/s", format_count((uint64_t)(rate + 0.5)).s);
	else
		snprintf(t.s, sizeof(t.s), "%.2f/s", rate);
	return t;
}
