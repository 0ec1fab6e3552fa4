/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation fails once: the query is refused for lack of memory, or does without; nothing is left behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"

static unsigned int left; /* allocations that succeed; 0: the next one fails, once */
static bool armed;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool fails(void)
{
	if (!armed || left--)
		return false;
	armed = false;
	return true;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void ignore(void *arg, const char *word)
{
}

/* Parses, writes, completes with the n-th allocation failing; false where there were fewer. */
static bool round_of(const char *text, unsigned int n)
{
	struct plan *p = NULL;
	struct query_error err;
	struct buf out = {0};
	const char *of;
	size_t start;
	int r;

	left = n;
	armed = true;
	r = query_parse(text, strlen(text), &p, &err);
	assert_true(r == 0 || r == -ENOMEM);
	if (r < 0)
		assert_int_equal(err.err.code, -ENOMEM);
	if (r == 0 && plan_and_where(p, "fd > 1 || path ~ (\"a\", \"b\")", &err) < 0)
		assert_int_equal(err.err.code, -ENOMEM);
	if (r == 0) {
		r = plan_text(p, &out);
		assert_true(r == 0 || r == -ENOMEM);
	}
	query_complete(text, strlen(text), NULL, ignore, NULL, &start, &of);
	if (p)
		plan_free(p);
	buf_free(&out);
	r = armed;
	armed = false;
	return !r;
}

static void each_allocation(void **state)
{
	static char list[32768];
	size_t len = (size_t)snprintf(list, sizeof(list), "op in %%file && comm in (");

	for (int i = 0; i < 1500; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s\"c%d\"", i ? ", " : "",
					i);
	len += (size_t)snprintf(
		list + len, sizeof(list) - len,
		") && path =~ \"a+\" && flags has O_CREAT | by thread, dir(path) as d "
		"every 1s | sum(bytes) / count() as mean, p99(dur) | join thread | sort "
		"mean + 1 desc | select comm, mean");
	assert_true(len < sizeof(list));
	for (unsigned int n = 0; round_of(list, n); n++)
		;
	for (unsigned int n = 0; round_of("sort dur | head 3 | select path | path ~ \"a\"", n); n++)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
