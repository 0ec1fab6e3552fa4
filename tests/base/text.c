// SPDX-License-Identifier: Apache-2.0
/* text.c: what becomes of hostile names in JSON and CSV, byte for byte; of writes behind one that failed; fields of protobuf. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/protobuf.h"
#include "base/utf8.h"

struct pair {
	const char *from, *to;
};

static void characters(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		uint32_t code;
	} all[] = {
		{"a", 1, 'a'},
		{"\xc3\xa4", 2, 0xe4},
		{"\xe2\x82\xac", 3, 0x20ac},
		{"\xf0\x9f\x8c\x8a", 4, 0x1f30a},
		{"\xff", 0, 0},
		{"\x80", 0, 0},
		{"\xc3", 0, 0},	    /* cut */
		{"\xc3(", 0, 0},    /* not continued */
		{"\xc0\xaf", 0, 0}, /* overlong */
		{"\xe0\x80\xaf", 0, 0},
		{"\xed\xa0\x80", 0, 0},	    /* a surrogate */
		{"\xf4\x90\x80\x80", 0, 0}, /* past U+10FFFF */
		{"\xf8\x88\x80\x80", 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		uint32_t c = 0;

		assert_int_equal(utf8_decode(all[i].text, strlen(all[i].text), &c), all[i].length);
		assert_int_equal(c, all[i].code);
	}
}

static void shown(void **state)
{
	static const uint32_t hidden[] = {0,	  0x1b,	  0x7f,	  0x80,	  0x9b,	  0x9f,	  0xad,
					  0x61c,  0x200b, 0x200e, 0x200f, 0x2028, 0x202a, 0x202e,
					  0x2060, 0x2066, 0x2069, 0xe000, 0xfeff, 0xfffa, 0xe0041};
	static const uint32_t harmless[] = {' ',    '~',    0xa0,   0xe4,   0x3b1,
					    0x20ac, 0x4e2d, 0xfffd, 0x1f30a};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		assert_false(utf8_is_shown(hidden[i]));
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		assert_true(utf8_is_shown(harmless[i]));
}

static void json(void **state)
{
	static const struct pair all[] = {
		{"", ""},
		{"/var/lib/\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a",
		 "/var/lib/\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a"},
		{"say \"\\n\"", "say \\\"\\\\n\\\""},
		{"\033]0;title\a\033[2J", "\\u001b]0;title\\u0007\\u001b[2J"},
		{"\xc2\x9b"
		 "2J",
		 "\\u009b2J"},
		{"\x7f", "\\u007f"},
		{"\xe2\x80\xae"
		 "gpj.exe",
		 "\\u202egpj.exe"},
		{"a\xe2\x81\xa6z\xe2\x81\xa9", "a\\u2066z\\u2069"},
		{"\xf3\xa0\x81\x81", "\\udb40\\udc41"}, /* U+E0041 */
		{"a\xff\xfez", "a\\ufffd\\ufffdz"},
		{"<b>", "\\u003cb>"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_buf_ struct buf to = {0};

		assert_int_equal(json_escape(&to, all[i].from, strlen(all[i].from), "<"), 0);
		assert_string_equal(buf_str(&to), all[i].to);
	}
}

static void json_document(void **state)
{
	static const struct pair all[] = {
		{"{\n \"a\": [1, \"\\\"\xc3\xa4\"]\n}", "{\n \"a\": [1, \"\\\"\xc3\xa4\"]\n}"},
		{"[\"\xe2\x80\xae\", \"\x7f\", \"\xc2\x85\"]",
		 "[\"\\u202e\", \"\\u007f\", \"\\u0085\"]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_buf_ struct buf to = {0};

		assert_int_equal(json_escape_document(&to, all[i].from, strlen(all[i].from)), 0);
		assert_string_equal(buf_str(&to), all[i].to);
	}
}

static void csv_text(void **state)
{
	static const struct pair all[] = {
		{"", "\"\""},
		{"/var/lib", "/var/lib"},
		{"a,b", "\"a,b\""},
		{"q\"q", "\"q\"\"q\""},
		{"l\nm", "\"l\nm\""},
		{"=1+1", "'=1+1"},
		{"=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"},
		{"=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""},
		{"+1", "'+1"},
		{"-5", "'-5"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1", "'\t=1"},
		{"\r=1", "\"'\r=1\""},
		{"'quoted'", "''quoted'"}, /* so that one taken off gives the text */
		{"a=1", "a=1"},
		{"\033[2J", "\033[2J"}, /* programs get the bytes */
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_buf_ struct buf to = {0};

		assert_int_equal(csv_put_text(&to, all[i].from, strlen(all[i].from)), 0);
		assert_string_equal(buf_str(&to), all[i].to);
	}
}

static void csv_number(void **state)
{
	_cleanup_buf_ struct buf to = {0};

	assert_int_equal(csv_put(&to, "-5", 2), 0);
	assert_string_equal(buf_str(&to), "-5");
}

/* ---- buffers ---- */

static void errors_stick(void **state)
{
	_cleanup_buf_ struct buf b = {0}, all = {0};

	assert_int_equal(buf_printf(&b, "%s", "one"), 0);
	assert_int_equal(buf_fail(&b, 1), 0); /* not an error */
	assert_int_equal(buf_fail(&b, -EBADMSG), -EBADMSG);
	assert_int_equal(buf_fail(&b, -EINVAL), -EBADMSG); /* the first one counts */
	assert_int_equal(buf_printf(&b, "two"), -EBADMSG);
	assert_int_equal(buf_append(&b, "three", 5), -EBADMSG);
	assert_int_equal(buf_varint(&b, 4), -EBADMSG);
	assert_int_equal(buf_status(&b), -EBADMSG);
	assert_string_equal(buf_str(&b), "one");
	assert_int_equal(buf_add(&all, &b), -EBADMSG);
	assert_int_equal(buf_status(&all), -EBADMSG);
	buf_clear(&b);
	assert_int_equal(buf_append(&b, "five", 4), 0);
	assert_int_equal(buf_status(&b), 0);
	assert_string_equal(buf_str(&b), "five");
}

static void protobuf(void **state)
{
	static const uint8_t want[] = {0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i', 0x1a, 0x00};
	_cleanup_buf_ struct buf message = {0}, text = {0}, empty = {0};

	buf_printf(&text, "hi");
	protobuf_uint(&message, 1, 150);
	protobuf_bytes(&message, 2, buf_bytes(&text));
	assert_int_equal(protobuf_message(&message, 3, &empty), 0);
	assert_int_equal(message.len, sizeof(want));
	assert_memory_equal(message.data, want, sizeof(want));
	buf_fail(&text, -ENOMEM);
	assert_int_equal(protobuf_message(&message, 4, &text), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters),	cmocka_unit_test(shown),
		cmocka_unit_test(json),		cmocka_unit_test(json_document),
		cmocka_unit_test(csv_text),	cmocka_unit_test(csv_number),
		cmocka_unit_test(errors_stick), cmocka_unit_test(protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
