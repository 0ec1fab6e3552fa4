/* SPDX-License-Identifier: Apache-2.0 */
/* How long parsing, checking and planning take; prints, asserts nothing. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/query.h"

#define ROUNDS 2000

static int time_query(const char *text)
{
	int64_t best = INT64_MAX, from = 0, all = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct plan *p = NULL;
		struct query_error err;
		int64_t took;

		from = clock_monotonic_ns();
		if (query_parse(text, strlen(text), &p, &err) < 0) {
			fprintf(stderr, "%s\n", err.err.message);
			return 1;
		}
		took = clock_monotonic_ns() - from;
		plan_free(p);
		all += took;
		best = took < best ? took : best;
	}
	printf("%6.1f us (best %.1f us): %.70s\n", (double)all / ROUNDS / 1000, (double)best / 1000,
	       text);
	return 0;
}

int main(void)
{
	static char list[16384];
	size_t len = 0;

	for (int i = 0; i < 400; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len,
					"%spath ~ \"/srv/%d/*.sst\"", i ? " || " : "", i);
	return time_query("dur > 1ms") |
	       time_query("where op in (read, pread64) && dur > 1ms && path ~ "
			  "\"/var/lib/**/*.sst\" | by "
			  "comm, op | count(), sum(bytes), p99(dur), hist(dur) | sort p99 desc | "
			  "head 10") |
	       time_query("flags has O_DIRECT | by thread, dir(path) every 100ms | count() as n, "
			  "sum(bytes) / count() as avg | where n > 10 | join thread | sort avg "
			  "desc, comm | "
			  "select comm, avg") |
	       time_query(list);
}
