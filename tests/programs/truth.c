/* SPDX-License-Identifier: Apache-2.0 */
/* truth.c: the facts of a workload, kept in shared memory until they are printed. See truth.h. */
#include "truth.h"

#include <stdatomic.h>
#include <time.h>

#define FACTS_MAX 65536
#define TEXT_MAX  (8u << 20)
#define MORE_MAX  12

enum { HAS_POS = 1, HAS_POS2 = 2, HAS_SIZE = 4, HAS_FLAGS = 8, HAS_INODE = 16, NO_RET = 32 };

struct fact {
	char op[24];
	int32_t tid, argc, has, nr;
	int64_t args[6], ret, pos, pos2, size, flags;
	uint64_t dev, ino;
	uint32_t path, path2, peer, local, remote; /* places in text, 0: none */
	struct {
		char key[16];
		int64_t value;
	} more[MORE_MAX];
};

struct facts {
	_Atomic uint32_t count, text_len;
	char dir[3072];
	struct fact fact[FACTS_MAX];
	char text[TEXT_MAX];
};

static struct facts *facts;
static __thread struct fact *last;
static __thread int my_tid;
char work_dir[3072];
const char *skip_reason;

void facts_open(void)
{
	if (fcntl(FACTS_FD, F_GETFD) < 0) {
		int fd = memfd_create("facts", 0);

		if (fd < 0 || ftruncate(fd, sizeof(struct facts)) || dup2(fd, FACTS_FD) < 0) {
			perror("facts");
			exit(1);
		}
		close(fd);
	}
	facts = mmap(NULL, sizeof(struct facts), PROT_READ | PROT_WRITE, MAP_SHARED, FACTS_FD, 0);
	if (facts == MAP_FAILED) {
		perror("facts");
		exit(1);
	}
	if (!atomic_load(&facts->text_len)) {
		atomic_store(&facts->text_len, 1);
		memcpy(facts->dir, work_dir, sizeof(work_dir));
	} else {
		memcpy(work_dir, facts->dir, sizeof(work_dir));
	}
}

void facts_tid(int tid)
{
	my_tid = tid;
}

static struct fact *fact_new(const char *name, long nr, int argc, const long args[6])
{
	uint32_t i = atomic_fetch_add(&facts->count, 1);

	if (i >= FACTS_MAX) {
		fprintf(stderr, "too many facts\n");
		exit(1);
	}
	/* gettid(2) is a call too (the checker lets it pass): a thread asks once. */
	if (!my_tid)
		my_tid = gettid();
	last = &facts->fact[i];
	snprintf(last->op, sizeof(last->op), "%s", name);
	last->tid = my_tid;
	last->argc = argc;
	last->nr = nr;
	for (int a = 0; a < 6; a++)
		last->args[a] = args[a];
	return last;
}

long fact_call(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
	       long a5)
{
	struct fact *f = fact_new(name, nr, argc, (const long[6]){a0, a1, a2, a3, a4, a5});
	long ret = syscall(nr, a0, a1, a2, a3, a4, a5);

	if (ret == 0 && (nr == SYS_fork || nr == SYS_clone)) {
		/* In the child: the fact is the parent's, and this is another thread. */
		my_tid = 0;
		return 0;
	}
	last = f;
	return f->ret = ret == -1 ? -errno : ret;
}

void fact_before(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
		 long a5)
{
	fact_new(name, nr, argc, (const long[6]){a0, a1, a2, a3, a4, a5})->has |= NO_RET;
}

void fact_note(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
	       long a5, long ret)
{
	fact_new(name, nr, argc, (const long[6]){a0, a1, a2, a3, a4, a5})->ret = ret;
}

long must(long ret, const char *file, int line)
{
	if (ret < 0) {
		fprintf(stderr, "%s:%d: %s\n", file, line, strerror((int)-ret));
		exit(1);
	}
	return ret;
}

void must_fail(long ret, int error, const char *file, int line)
{
	if (ret != -error) {
		fprintf(stderr, "%s:%d: %ld instead of %d (%s)\n", file, line, ret, -error,
			strerror(error));
		exit(1);
	}
}

static uint32_t text_add(const char *text)
{
	size_t len = strlen(text) + 1;
	uint32_t at = atomic_fetch_add(&facts->text_len, (uint32_t)len);

	if (at + len > TEXT_MAX) {
		fprintf(stderr, "too much text in facts\n");
		exit(1);
	}
	memcpy(facts->text + at, text, len);
	return at;
}

void is_path(const char *path)
{
	last->path = text_add(path);
}
void is_path2(const char *path)
{
	last->path2 = text_add(path);
}
void is_file(const char *name)
{
	is_path(dir(name));
}
void is_file2(const char *name)
{
	is_path2(dir(name));
}
void is_peer(const char *address)
{
	last->peer = text_add(address);
}
void is_local(const char *address)
{
	last->local = text_add(address);
}
void is_remote(const char *address)
{
	last->remote = text_add(address);
}
void is_pos(long pos)
{
	last->pos = pos;
	last->has |= HAS_POS;
}
void is_pos2(long pos)
{
	last->pos2 = pos;
	last->has |= HAS_POS2;
}
void is_size(long size)
{
	last->size = size;
	last->has |= HAS_SIZE;
}
void is_flags(long flags)
{
	last->flags = flags;
	last->has |= HAS_FLAGS;
}

void is_inode(int fd)
{
	struct fact *f = last;
	struct stat st;

	if (DO(fstat, fd, &st) == 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->has |= HAS_INODE;
	}
	last = f;
}

long ino_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (long)st.st_ino;
}

void is_any(const char *key, long value)
{
	for (int i = 0; i < MORE_MAX; i++) {
		if (!last->more[i].key[0]) {
			snprintf(last->more[i].key, sizeof(last->more[i].key), "%s", key);
			last->more[i].value = value;
			return;
		}
	}
	fprintf(stderr, "too many facts of one call\n");
	exit(1);
}

void is_later(const char *key, struct later *ret)
{
	int i = 0;

	is_any(key, 0);
	while (strcmp(last->more[i].key, key) != 0)
		i++;
	ret->value = &last->more[i].value;
}

void is_now(struct later of, long value)
{
	*of.value = value;
}

static void is_of_fd(const char *what, int fd, long value)
{
	char key[16];

	snprintf(key, sizeof(key), "%s_%d", what, fd);
	is_any(key, value);
}

void is_found(int fd, long revents)
{
	is_of_fd("found", fd, revents);
}

void is_waited(int fd, long events)
{
	is_of_fd("waited", fd, events);
}

void until_in(int pid, long nr)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	for (int i = 0; i < 10000; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		close(fd);
		text[n > 0 ? n : 0] = 0;
		if (n > 0 && text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == nr)
			return;
		usleep(1000);
	}
	fprintf(stderr, "process %d does not come to call %ld\n", pid, nr);
	exit(1);
}

const char *dir(const char *name)
{
	static __thread char text[16][8192];
	static __thread unsigned int next;
	char *t = text[next++ % 16];

	snprintf(t, sizeof(text[0]), "%s%s%s", work_dir, *name ? "/" : "", name);
	return t;
}

int child(int (*f)(void *), void *arg)
{
	int pid = (int)DO(fork);

	if (pid == 0) {
		_exit(f(arg));
	}
	return (int)must(pid, __FILE__, __LINE__);
}

void child_join(int pid)
{
	int status;

	MUST(wait4, pid, &status, 0, 0);
	if (status) {
		fprintf(stderr, "child %d ended with status 0x%x\n", pid, status);
		exit(1);
	}
}

void pause_ms(int ms)
{
	DO(nanosleep, &((struct timespec){ms / 1000, ms % 1000 * 1000000l}), 0);
}

static void print_text(const char *key, uint32_t at)
{
	if (!at)
		return;
	printf(" %s=", key);
	for (const unsigned char *p = (const unsigned char *)facts->text + at; *p; p++) {
		if (*p <= 0x20 || *p >= 0x7f || *p == '\\')
			printf("\\x%02x", *p);
		else
			putchar(*p);
	}
}

static void print_number(const struct fact *f, int has, const char *key, int64_t value)
{
	if (f->has & has)
		printf(" %s=%lld", key, (long long)value);
}

void facts_print(void)
{
	for (uint32_t i = 0; i < atomic_load(&facts->count); i++) {
		const struct fact *f = &facts->fact[i];

		printf("op=%s nr=%d tid=%d", f->op, f->nr, f->tid);
		for (int a = 0; a < f->argc; a++)
			printf(" a%d=%lld", a, (long long)f->args[a]);
		if (f->has & NO_RET)
			printf(" ret=?");
		else
			printf(" ret=%lld", (long long)f->ret);
		print_text("path", f->path);
		print_text("path2", f->path2);
		print_text("peer", f->peer);
		print_text("local", f->local);
		print_text("remote", f->remote);
		print_number(f, HAS_POS, "pos", f->pos);
		print_number(f, HAS_POS2, "pos2", f->pos2);
		print_number(f, HAS_SIZE, "size", f->size);
		print_number(f, HAS_FLAGS, "flags", f->flags);
		if (f->has & HAS_INODE)
			printf(" dev=%llu ino=%llu", (unsigned long long)f->dev,
			       (unsigned long long)f->ino);
		for (int m = 0; m < MORE_MAX && f->more[m].key[0]; m++)
			printf(" %s=%lld", f->more[m].key, (long long)f->more[m].value);
		putchar('\n');
	}
}
