/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and words go both ways, in ascending order. */
#include "schema/vocab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_round_trip(void **state)
{
	static const char *const columns[] = {"kind", "op",	"class", "err",
					      "type", "family", "cause"};

	for (size_t k = 0; k < ARRAY_SIZE(columns); k++) {
		int64_t before = -1;
		size_t i = 0;

		for (int64_t code; (code = vocab_at(columns[k], i)) >= 0; i++) {
			const char *word = vocab_word(columns[k], code);

			assert_non_null(word);
			assert_true(code > before);
			assert_int_equal(vocab_code(columns[k], word), code);
			before = code;
		}
		assert_true(i >= 4);
	}
}

static void test_words(void **state)
{
	assert_string_equal(vocab_word("err", ENOENT), "ENOENT");
	assert_string_equal(vocab_word("err", 512), "ERESTARTSYS");
	assert_string_equal(vocab_word("class", CLASS_WAIT), "wait");
	assert_string_equal(vocab_word("family", 2), "AF_INET");
	assert_null(vocab_word("err", 0));
	assert_null(vocab_word("err", 41)); /* a hole */
	assert_null(vocab_word("nonsense", 1));
	assert_null(vocab_word("op", -1));
	assert_null(vocab_word("op", INT64_MAX));
	assert_int_equal(vocab_code("err", "ENONSENSE"), -1);
	assert_int_equal(vocab_code("nonsense", "read"), -1);
	assert_int_equal(vocab_at("nonsense", 0), -1);
}

/* Every errno of libc that prints has a name here, and the same one. */
static void test_errnos(void **state)
{
	for (int e = 1; e < 134; e++) {
		const char *name = strerrorname_np(e);

		if (name)
			assert_string_equal(vocab_word("err", e),
					    e == ENOTSUP ? "EOPNOTSUPP" : name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_errnos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
