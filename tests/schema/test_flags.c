/* SPDX-License-Identifier: Apache-2.0 */
/* Flags in words, as strace 6.1 was seen to print them. */
#include "schema/flags.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "schema/ops.h"
#include "schema/words.h"

static void assert_printed(enum word_set set, uint64_t value, const char *want)
{
	_cleanup_buf_ struct buf b = {0};

	assert_int_equal(flags_print(&b, set, value), 0);
	assert_string_equal(buf_str(&b), want);
}

static void test_print(void **state)
{
	assert_printed(WORDS_OPEN, 0, "O_RDONLY");
	assert_printed(WORDS_OPEN, O_RDWR | O_CREAT | O_CLOEXEC, "O_RDWR|O_CREAT|O_CLOEXEC");
	assert_printed(WORDS_OPEN, O_WRONLY | O_SYNC | O_DSYNC, "O_WRONLY|O_SYNC");
	assert_printed(WORDS_OPEN, O_RDWR | O_TMPFILE, "O_RDWR|O_TMPFILE");
	assert_printed(WORDS_OPEN, O_RDONLY | O_DIRECTORY | 0x80000000,
		       "O_RDONLY|O_DIRECTORY|0x80000000");
	assert_printed(WORDS_O_ONLY, O_CLOEXEC | O_NONBLOCK, "O_NONBLOCK|O_CLOEXEC");
	assert_printed(WORDS_O_ONLY, 0, "0");
	assert_printed(WORDS_PROT, 0, "PROT_NONE");
	assert_printed(WORDS_PROT, 3, "PROT_READ|PROT_WRITE");
	assert_printed(WORDS_MAP, 0x22, "MAP_PRIVATE|MAP_ANONYMOUS");
	assert_printed(WORDS_ACCESS, 0, "F_OK");
	assert_printed(WORDS_ACCESS, 6, "R_OK|W_OK");
	assert_printed(WORDS_WHENCE, 2, "SEEK_END");
	assert_printed(WORDS_WHENCE, 99, "0x63 /* SEEK_??? */");
	assert_printed(WORDS_AT, 0x1000, "AT_EMPTY_PATH");
	assert_printed(WORDS_AT_STATX, 0x100, "AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW");
	assert_printed(WORDS_STATX, 0xfff, "STATX_ALL");
	assert_printed(WORDS_STATX, 0x7ff, "STATX_BASIC_STATS");
	assert_printed(WORDS_STATX, 0x1003, "STATX_TYPE|STATX_MODE|STATX_MNT_ID");
	assert_printed(WORDS_RENAME, 8, "0x8 /* RENAME_??? */");
	assert_printed(WORDS_FAMILY, 1, "AF_UNIX");
	assert_printed(WORDS_FAMILY, 99, "0x63 /* AF_??? */");
	assert_printed(WORDS_SOCK_TYPE, 1 | O_CLOEXEC | O_NONBLOCK,
		       "SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK");
	assert_printed(WORDS_CLONE, 0x4100 | 17, "CLONE_VM|CLONE_VFORK|SIGCHLD");
	assert_printed(WORDS_CLONE, 17, "SIGCHLD");
	assert_printed(WORDS_FUTEX, 129, "FUTEX_WAKE_PRIVATE");
	assert_printed(WORDS_FUTEX, 256 | 128 | 9,
		       "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME");
	assert_printed(WORDS_FCNTL, F_SETFL, "F_SETFL");
	assert_printed(WORDS_IOCTL, 0x5413, "TIOCGWINSZ");
	assert_printed(WORDS_IOCTL, 0x80047f01, "_IOC(_IOC_READ, 0x7f, 0x1, 0x4)");
	assert_printed(WORDS_QUOTACTL, 0x80000701, "QCMD(Q_GETQUOTA, GRPQUOTA)");
	assert_printed(WORDS_SIGNAL, 9, "SIGKILL");
	assert_printed(WORDS_SIGNAL, 0, "0");
	assert_printed(WORDS_MAP, 0x54040022,
		       "MAP_PRIVATE|MAP_ANONYMOUS|MAP_HUGETLB|21<<MAP_HUGE_SHIFT");
	assert_printed(WORDS_SHMGET, 01000, "IPC_CREAT|000");
	assert_printed(WORDS_SWAPON, 0x8005, "SWAP_FLAG_PREFER|5");
	assert_printed(WORDS_EPOLL_OP, 0, "0 /* EPOLL_CTL_??? */");
	assert_printed(WORDS_IPC, 01600, "IPC_CREAT|0600");
	assert_printed(WORDS_MSG, 0x4040, "MSG_DONTWAIT|MSG_NOSIGNAL");
	assert_printed(WORDS_OPEN, 0xffffffff00000000ull, "O_RDONLY");
	assert_printed(WORDS_WAIT, 3, "WNOHANG|WSTOPPED");
	assert_printed(WORDS_FALLOC, 3, "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE");
}

/* Every set that an argument names has words, and every word is printed. */
static void test_every_word(void **state)
{
	for (uint32_t code = 0; code < op_code_end(); code++) {
		const struct op_def *def = op_def(code);

		for (unsigned int i = 0; def && i < def->arg_count; i++) {
			const struct flag_set *s;

			if (!def->args[i].words)
				continue;
			s = flag_set(def->args[i].words);
			assert_true(s->code_count + s->bit_count ||
				    def->args[i].words == WORDS_FAMILY);
		}
	}
	for (enum word_set set = WORDS_NONE + 1; set < WORDS_COUNT; set++) {
		const struct flag_set *s = flag_set(set);

		for (size_t i = 0; i < (size_t)s->code_count + s->bit_count; i++) {
			const struct flag_word *w =
				i < s->code_count ? &s->codes[i] : &s->bits[i - s->code_count];
			_cleanup_buf_ struct buf b = {0};

			assert_true(i >= s->code_count || (w->value & ~s->mask) == 0);
			if (set == WORDS_QUOTACTL)
				continue;
			assert_int_equal(flags_print(&b, set, w->value), 0);
			assert_non_null(strstr(buf_str(&b), w->name));
		}
	}
}

static void test_word(void **state)
{
	assert_string_equal(flags_word(WORDS_WHENCE, 0), "SEEK_SET");
	assert_string_equal(flags_word(WORDS_OPEN, O_CREAT), "O_CREAT");
	assert_null(flags_word(WORDS_OPEN, 1ull << 40));
}

static void test_modes(void **state)
{
	static const struct {
		uint64_t mode;
		const char *text;
	} cases[] = {
		{0644, "0644"},
		{0, "000"},
		{04755, "04755"},
		{0100644, "S_IFREG|0644"},
		{0041777, "S_IFDIR|S_ISVTX|0777"},
		{0010600, "S_IFIFO|0600"},
	};
	_cleanup_buf_ struct buf b = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_clear(&b);
		assert_int_equal(flags_print_mode(&b, cases[i].mode), 0);
		assert_string_equal(buf_str(&b), cases[i].text);
	}
	buf_clear(&b);
	assert_int_equal(flags_print_dev(&b, 0x103), 0);
	assert_string_equal(buf_str(&b), "makedev(0x1, 0x3)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_every_word),
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
