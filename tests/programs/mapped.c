/* SPDX-License-Identifier: Apache-2.0 */
/* mapped.c: a mapped file whose pages are not in memory, read and written at known places; and pages put back by msync. */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define PAGE  4096l
#define PAGES 128
#define TAIL  100 /* bytes in the last page */

static char buf[PAGE];

static bool is_resident(int fd)
{
	unsigned char pages[PAGES + 1];
	size_t size = PAGES * PAGE + TAIL;
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	bool any = false;

	if (p == MAP_FAILED || mincore(p, size, pages))
		return true;
	munmap(p, size);
	for (int i = 0; i <= PAGES; i++)
		any |= pages[i] & 1;
	return any;
}

/* Writes a file, unnoted, and takes its pages out of memory. False: its file system keeps them there. */
static bool make_cold(const char *name)
{
	int fd = open(dir(name), O_RDWR | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0);
	for (int i = 0; i <= PAGES; i++) {
		memset(buf, 'a' + i % 26, sizeof(buf));
		CHECK(write(fd, buf, i < PAGES ? PAGE : TAIL) > 0);
	}
	for (int i = 0; i < 50; i++) {
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (!is_resident(fd)) {
			close(fd);
			return true;
		}
		pause_ms(20);
	}
	close(fd);
	return false;
}

static long major_faults(void)
{
	struct rusage r;

	CHECK(syscall(SYS_getrusage, RUSAGE_THREAD, &r) == 0);
	return r.ru_majflt;
}

/* Writes down that a fault is to come at a place. */
static void fault_at(const char *name, const char *map, long offset, long page, long flags)
{
	long pos = offset + page * PAGE;

	fact_note("fault", 0, 4, 0, pos, (long)(map + page * PAGE), flags, 0, 0,
		  pos / PAGE == PAGES ? TAIL : PAGE);
	is_file(name);
	is_pos(pos);
	is_flags(flags);
}

static void touch(const char *name, char *map, long offset, long page, bool write)
{
	long before = major_faults();

	fault_at(name, map, offset, page, 0);
	if (write)
		*(volatile char *)(map + page * PAGE) = 'x';
	else
		CHECK(*(volatile char *)(map + page * PAGE) == 'a' + (page + offset / PAGE) % 26);
	CHECK(major_faults() == before + 1);
	*(volatile char *)(map + page * PAGE); /* it is there now */
	CHECK(major_faults() == before + 1);
}

static char *map_cold(const char *name, long offset, long prot, long flags)
{
	long fd = MUST(openat, AT_FDCWD, dir(name), O_RDWR);
	char *p = (char *)MUST(mmap, 0, (PAGES + 1) * PAGE - offset, prot, flags, fd, offset);

	is_file(name);
	is_pos(offset);
	MUST(close, fd);
	MUST(madvise, p, (PAGES + 1) * PAGE - offset, MADV_RANDOM); /* nothing is read ahead */
	return p;
}

/* So many mappings that the kernel's tree of them has several levels. */
static void scatter(void)
{
	for (int i = 0; i < 1000; i++)
		CHECK(mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0) != MAP_FAILED);
}

static int child_touches(void *map)
{
	touch("b", map, 0, 99, false);
	return 0;
}

static int run_mapped(void)
{
	static const int read_at[] = {5, 1, 100, 37, PAGES};
	struct rusage r;
	char *a, *b;
	long fd;

	if (!make_cold("a") || !make_cold("b")) {
		skip_reason = "the file system keeps what it has in memory";
		return 77;
	}
	MUST(getrusage, RUSAGE_THREAD, &r);
	a = map_cold("a", 0, PROT_READ | PROT_WRITE, MAP_SHARED);
	for (size_t i = 0; i < sizeof(read_at) / sizeof(read_at[0]); i++)
		touch("a", a, 0, read_at[i], false);
	scatter();
	touch("a", a, 0, 69, false);
	touch("a", a, 0, 70, true);
	touch("a", a, 0, 71, true);
	MUST(msync, a + 70 * PAGE, 2 * PAGE, MS_SYNC);
	is_file("a");
	is_pos(70 * PAGE);
	MUST(msync, a + 71 * PAGE, PAGE, MS_ASYNC);
	is_file("a");
	is_pos(71 * PAGE);
	FAILS(ENOMEM, msync, PAGE, PAGE, MS_SYNC); /* nothing is mapped there */
	b = map_cold("b", 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	touch("b", b, 16 * PAGE, 3, false);
	touch("b", b, 16 * PAGE, 4, true); /* and copied */
	/* The kernel reads it for a call. */
	fd = MUST(openat, AT_FDCWD, dir("out"), O_WRONLY | O_CREAT, 0644);
	MUST(write, fd, a + 90 * PAGE, 10);
	is_file("out");
	fault_at("a", a, 0, 90, 1);
	MUST(close, fd);
	b = map_cold("b", 0, PROT_READ, MAP_PRIVATE);
	child_join(child(child_touches, b));
	MUST(unlink, dir("b"));
	fact_note("fault", 0, 4, 0, 110 * PAGE, (long)(b + 110 * PAGE), 0, 0, 0, PAGE);
	is_pos(110 * PAGE);
	CHECK(b[110 * PAGE] == 'a' + 110 % 26);
	MUST(munmap, b, (PAGES + 1) * PAGE);
	is_any("majflt", major_faults());
	return 0;
}

#define TOUCHERS 3

static char *busy_map;
static _Atomic int touching;

/* Maps and unmaps, so that the tree of mappings changes all the time. */
static void *mapper(void *unused)
{
	char *p[64];

	while (touching) {
		for (int i = 0; i < 64; i++)
			p[i] = mmap(NULL, (i % 3 + 1) * PAGE, PROT_READ | (i % 2 ? PROT_WRITE : 0),
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 64; i++)
			munmap(p[i], (i % 3 + 1) * PAGE);
	}
	return NULL;
}

/* Every third page, in an order of its own. */
static void *toucher(void *number)
{
	long from = (long)number, count = PAGES / TOUCHERS, before = major_faults();

	for (long i = 0; i < count; i++)
		touch("busy", busy_map, 0, from + TOUCHERS * (i * 5 % count), false);
	CHECK(major_faults() - before == count);
	MUST(gettid);
	is_any("majflt", major_faults());
	touching--;
	return NULL;
}

static int run_mapped_busy(void)
{
	pthread_t threads[TOUCHERS + 1];
	struct rusage r;

	if (!make_cold("busy")) {
		skip_reason = "the file system keeps what it has in memory";
		return 77;
	}
	MUST(getrusage, RUSAGE_THREAD, &r);
	busy_map = map_cold("busy", 0, PROT_READ, MAP_SHARED);
	touching = TOUCHERS;
	pthread_create(&threads[TOUCHERS], NULL, mapper, NULL);
	for (long i = 0; i < TOUCHERS; i++)
		pthread_create(&threads[i], NULL, toucher, (void *)i);
	for (int i = 0; i <= TOUCHERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

const struct work_case mapped_cases[] = {
	{"mapped", run_mapped, "major faults of mapped files, msync"},
	{"mapped_busy", run_mapped_busy,
	 "major faults of threads while another one maps and unmaps"},
	{0},
};
