/* SPDX-License-Identifier: Apache-2.0 */
/* compat.c: 32-bit calls from a 64-bit program. Their numbers mean other calls: they must be
 * counted apart. */
#include "truth.h"

static char buf[4096];

#ifdef __x86_64__
static long int80(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}
#endif

static int run_compat(void)
{
#ifdef __x86_64__
	int fd = (int)MUST(openat, AT_FDCWD, "c", O_RDWR | O_CREAT, 0600);
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	CHECK(low != MAP_FAILED);
	MUST(write, fd, buf, 10);
	if (int80(20, 0, 0, 0) == -ENOSYS) { /* getpid */
		skip_reason = "this kernel has no 32-bit calls";
		return 77;
	}
	for (int i = 0; i < 99; i++)
		CHECK(int80(4, fd, (long)low, 5) == 5); /* write: number 4 is stat in 64 bits */
	MUST(write, fd, buf, 10);
	is_file("c");
	is_pos(10 + 99 * 5);
	MUST(close, fd);
	is_any("compat_calls", 100);
	return 0;
#else
	skip_reason = "32-bit calls are tested on x86-64";
	return 77;
#endif
}

const struct work_case compat_cases[] = {
	{"compat", run_compat, "int 0x80 from a 64-bit program"},
	{0},
};
