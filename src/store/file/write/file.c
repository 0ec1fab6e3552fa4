/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: the file of a trace that is being written: its place, its limits, its syncs. */
#include "store/file/write/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"

#define SYNCER_STACK (64u << 10) /* enough: it only calls fdatasync() */

bool file_beyond_limit(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       size > limit.rlim_cur;
}

/* ---- its place ---- */

static bool file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True for the name under which NFS keeps a deleted file until the last process closes it. */
static bool is_nfs_rest(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strncmp(name, "/.nfs", 5);
}

void store_fd_place(int fd, const char *path, struct store_place *ret)
{
	struct stat mine, there;
	bool named = stat(path, &there) == 0;
	int why = named ? 0 : errno;
	char link[64];
	ssize_t n;

	*ret = (struct store_place){.fate = STORE_KEPT};
	/* a name that cannot be examined may well exist; so may that of a file for which no descriptor was available */
	if (fstat(fd, &mine) < 0 || (named && file_is_same(&mine, &there)) ||
	    (!named && why != ENOENT && why != ENOTDIR && mine.st_nlink))
		return;
	ret->replaced = named;
	ret->fate = STORE_DELETED;
	if (!mine.st_nlink)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret->now, sizeof(ret->now) - 1);
	ret->now[MAX(n, 0)] = '\0';
	if (is_nfs_rest(ret->now))
		return;
	ret->fate = stat(ret->now, &there) == 0 && file_is_same(&mine, &there) ? STORE_MOVED
									       : STORE_HIDDEN;
}

/* ---- syncs ---- */

struct file_syncer {
	int fd, dir_fd;
	int64_t every_ns;
	void (*first)(void);
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* `stop` was set */
	bool stop;
	atomic_bool dirty;
	atomic_int error;
};

/* Once is enough. Some file systems cannot sync a folder; the name is then as durable as they make it. */
static void syncer_sync_folder(struct file_syncer *s)
{
	if (s->dir_fd < 0)
		return;
	if (fsync(s->dir_fd) < 0 && errno == EIO)
		atomic_store(&s->error, -EIO);
	close(TAKE_FD(s->dir_fd));
}

static void syncer_once(struct file_syncer *s)
{
	if (!atomic_exchange(&s->dirty, false))
		return;
	if (fdatasync(s->fd) < 0)
		atomic_store(&s->error, -errno);
	syncer_sync_folder(s);
}

static void *syncer_main(void *arg)
{
	struct file_syncer *s = arg;
	int64_t next = clock_monotonic_ns() + s->every_ns;
	bool stop = false;

	if (s->first)
		s->first();
	while (!stop) {
		struct timespec at = {next / NSEC_PER_SEC, next % NSEC_PER_SEC};

		pthread_mutex_lock(&s->lock);
		while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &at) != ETIMEDOUT)
			;
		stop = s->stop;
		pthread_mutex_unlock(&s->lock);
		if (!stop)
			syncer_once(s);
		next = clock_next(next, clock_monotonic_ns(), s->every_ns);
	}
	return NULL;
}

/* Blocks all signals in the new thread: existing threads handle them. */
static int start_thread(struct file_syncer *s)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int e = pthread_attr_init(&attr);

	if (e)
		return -e;
	pthread_attr_setstacksize(&attr, SYNCER_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = pthread_create(&s->thread, &attr, syncer_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -e;
}

/* Opens the folder of a path; -1 on failure. */
static int file_open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	return folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int file_syncer_new(struct file_syncer **ret, int fd, const char *path,
		    const struct store_options *opt)
{
	_cleanup_close_ int dir = file_open_folder(path);
	_cleanup_free_ struct file_syncer *s = calloc(1, sizeof(*s));
	pthread_condattr_t clock;
	int r;

	assert(opt->sync_ns > 0 && fd >= 0);
	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->dir_fd = dir;
	s->every_ns = opt->sync_ns;
	s->first = opt->sync_thread;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &clock);
	pthread_condattr_destroy(&clock);
	r = start_thread(s);
	if (r < 0)
		return r;
	(void)TAKE_FD(dir);
	*ret = TAKE_PTR(s);
	return 0;
}

void file_syncer_note(struct file_syncer *s)
{
	atomic_store_explicit(&s->dirty, true, memory_order_relaxed);
}

int file_syncer_error(struct file_syncer *s)
{
	return atomic_exchange(&s->error, 0);
}

void file_syncer_free(struct file_syncer *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	assert(!s->stop);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	syncer_sync_folder(s);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
