/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations keeps the rules that capture, printer and selection rely on. */
#include "schema/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "schema/flags.h"

static void test_numbers(void **state)
{
	static const struct {
		const char *name;
		int code;
	} samples[] = {
		{"read", 0},
		{"openat", 257},
		{"renameat2", 316},
		{"statx", 332},
		{"pidfd_send_signal", 424},
		{"openat2", 437},
		{"mseal", 462},
		{"removexattrat", 466},
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		assert_int_equal(op_find(samples[i].name), samples[i].code);
		assert_string_equal(op_name((uint32_t)samples[i].code, buf), samples[i].name);
	}
	assert_int_equal(op_find("nonsense"), -1);
	assert_null(op_def(400));
	assert_null(op_def(UINT32_MAX));
	assert_string_equal(op_name(500, buf), "syscall_0x1f4");
	assert_true(op_code_end() >= 467);
	assert_int_equal(op_code_of_native(SYS_openat), 257);
	assert_int_equal(op_code_of_native(SYS_clone3), 435);
}

/* The numbers of the machine's own header, where it has them. */
static void test_native_numbers(void **state)
{
#define SAME(call) assert_int_equal(op_code_of_native(SYS_##call), op_find(#call))
	SAME(read);
	SAME(mmap);
	SAME(fcntl);
	SAME(renameat2);
	SAME(newfstatat);
	SAME(io_uring_enter);
	SAME(exit_group);
	SAME(set_mempolicy_home_node);
#undef SAME
}

static unsigned int count_role(const struct op_def *def, enum arg_role role)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < def->arg_count; i++)
		n += def->args[i].role == role;
	return n;
}

/* A column of op takes at most one argument. */
static void test_columns(void **state)
{
	static const enum arg_role groups[][5] = {
		{ARG_FD, ARG_FDPAIR},
		{ARG_FD2, ARG_DIRFD2, ARG_FDPAIR},
		{ARG_PATH},
		{ARG_PATH2},
		{ARG_POS, ARG_POSP},
		{ARG_POS2, ARG_POSP2},
		{ARG_FLAGS, ARG_HOW},
		{ARG_SIZE, ARG_LEN, ARG_IOV, ARG_MSG, ARG_MMSG},
		{ARG_ADDR, ARG_ADDROUT},
		{ARG_DIRFD},
	};

	for (uint32_t code = 0; code < op_code_end(); code++) {
		const struct op_def *def = op_def(code);

		if (!def)
			continue;
		assert_true(def->arg_count <= OP_ARGS);
		assert_true(def->class < CLASS_COUNT);
		for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
			unsigned int n = 0;

			for (size_t k = 0; k < ARRAY_SIZE(groups[g]); k++)
				n += groups[g][k] ? count_role(def, groups[g][k]) : 0;
			if (n > 1)
				fail_msg("%s: %u arguments for one column (group %zu)", def->name,
					 n, g);
		}
		for (unsigned int i = 0; i < def->arg_count; i++) {
			uint8_t role = def->args[i].role;
			bool words = role == ARG_FLAGS || role == ARG_FLAGS2 || role == ARG_CMD ||
				     role == ARG_HOW;

			assert_true(words == (def->args[i].words != WORDS_NONE));
			assert_true(def->args[i].words < WORDS_COUNT);
		}
	}
}

static void test_names_unique(void **state)
{
	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (op_def(code))
			assert_int_equal(op_find(op_def(code)->name), code);
	}
}

/* Every call in these sets is decoded; what is not must be a call that Linux has dropped. */
static void test_decoded(void **state)
{
	const uint32_t must =
		OP_SET_FILE | OP_SET_DESC | OP_SET_NETWORK | OP_SET_PROCESS | OP_SET_MEMORY;
	unsigned int raw = 0;

	for (uint32_t code = 0; code < op_code_end(); code++) {
		const struct op_def *def = op_def(code);

		if (!def || def->decoded)
			continue;
		print_message("recorded raw: %s\n", def->name);
		raw++;
		if (def->sets & must)
			fail_msg("%s is in %%file, %%desc, %%network, %%process or %%memory and "
				 "not decoded",
				 def->name);
	}
	assert_true(raw <= 11);
}

static void test_classes(void **state)
{
	static const struct {
		const char *name;
		enum op_class class;
	} samples[] = {
		{"read", CLASS_DATA},	   {"openat", CLASS_META},
		{"fdatasync", CLASS_SYNC}, {"sendto", CLASS_NET},
		{"execve", CLASS_PROCESS}, {"epoll_wait", CLASS_WAIT},
		{"futex", CLASS_WAIT},	   {"accept4", CLASS_WAIT},
		{"wait4", CLASS_WAIT},	   {"clock_nanosleep", CLASS_WAIT},
		{"getpid", CLASS_OTHER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		assert_int_equal(op_def((uint32_t)op_find(samples[i].name))->class,
				 samples[i].class);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_native_numbers),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_names_unique),
		cmocka_unit_test(test_decoded), cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
