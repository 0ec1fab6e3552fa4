/* SPDX-License-Identifier: Apache-2.0 */
/* show QUERY...: the plan of each, or the error. For a look by hand, and for the bench of parsing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/query.h"

static int show(const char *text)
{
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_buf_ struct buf out = {0};
	struct query_error err;

	if (query_parse(text, strlen(text), &p, &err) < 0) {
		if (query_error_text(&err, text, strlen(text), &out) < 0)
			return 1;
	} else if (plan_text(p, &out) < 0) {
		return 1;
	}
	printf("%s\n", buf_str(&out));
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++)
		r |= show(argv[i]);
	return r;
}
