/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "privilege/privilege.h"

#define GUARD_MS 250 /* the guardian looks this often whether a hold has lasted too long */

struct hold {
	int64_t from, to; /* to: INT64_MAX while it lasts */
};

struct freezer {
	int fd; /* cgroup.freeze or freezer.state */
	bool v1;
	int guard; /* our end of the guardian's socket: a byte 'F' or 'T'; its end of file means thaw */
	pid_t guardian;
	pthread_mutex_t lock;
	struct hold *holds;
	size_t count, cap;
	bool held, limited;
	int64_t since, limit_ns;
	uint64_t held_ns, limits;
};

static int freeze_write(int fd, bool v1, bool on)
{
	const char *word = v1 ? (on ? "FROZEN" : "THAWED") : (on ? "1" : "0");
	size_t len = v1 ? 6 : 1;

	return pwrite(fd, word, len, 0) == (ssize_t)len ? 0 : -errno;
}

/* Async-signal-safe only: the fork has the memory of a process that may have threads. */
static void __attribute__((noreturn)) guardian_main(int socket, int fd, bool v1, int64_t limit_ns)
{
	int64_t since = 0;
	bool held = false;

	setsid();
	prctl(PR_SET_NAME, "weir-guardian");
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_IGN);
	/* Nothing else stays open: not the pipe that somebody waits for, not the rings. */
	dup2(socket, 0);
	dup2(fd, 1);
	syscall(SYS_close_range, 2, ~0u, 0);
	privilege_drop_thread(PRIVILEGE_NONE); /* what it writes to is open */
	for (;;) {
		struct pollfd p = {.fd = 0, .events = POLLIN};
		char word;
		int n = poll(&p, 1, held ? GUARD_MS : -1);

		if (n > 0) {
			if (read(0, &word, 1) != 1)
				break; /* the recorder is gone */
			held = word == 'F';
			since = clock_monotonic_ns();
		}
		if (held && clock_monotonic_ns() - since > limit_ns) {
			freeze_write(1, v1, false);
			held = false;
		}
	}
	freeze_write(1, v1, false);
	_exit(0);
}

static int guardian_start(struct freezer *f, struct error *err)
{
	int pair[2];
	sigset_t all, was;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return error_errno(err, -errno, "cannot make the guardian's socket");
	/* A signal that ends the recorder must not reach the guardian before it ignores it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	f->guardian = fork();
	if (!f->guardian) {
		close(pair[0]);
		guardian_main(pair[1], f->fd, f->v1, f->limit_ns);
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	close(pair[1]);
	f->guard = pair[0];
	return f->guardian < 0 ? error_errno(err, -errno, "cannot start the guardian of --lossless")
			       : 0;
}

int freezer_new(struct freezer **ret, int cgroup_fd, int64_t limit_ns, struct error *err)
{
	_cleanup_(freezer_freep) struct freezer *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	f->guard = -1;
	f->limit_ns = limit_ns;
	pthread_mutex_init(&f->lock, NULL);
	f->fd = openat(cgroup_fd, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
	if (f->fd < 0) {
		f->v1 = true;
		f->fd = openat(cgroup_fd, "freezer.state", O_WRONLY | O_CLOEXEC);
	}
	if (f->fd < 0)
		return error_errno(err, -errno,
				   "the control group of the command cannot be frozen");
	r = guardian_start(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

static void tell(struct freezer *f, char word)
{
	(void)!send(f->guard, &word, 1, MSG_NOSIGNAL);
}

void freezer_hold(struct freezer *f)
{
	pthread_mutex_lock(&f->lock);
	if (!f->held && !f->limited &&
	    grow((void **)&f->holds, &f->cap, f->count + 1, sizeof(*f->holds)) == 0) {
		tell(f,
		     'F'); /* first: if we die right after the write, the guardian knows already */
		f->since = clock_monotonic_ns();
		if (freeze_write(f->fd, f->v1, true) == 0) {
			f->held = true;
			f->holds[f->count++] = (struct hold){f->since, INT64_MAX};
		} else {
			tell(f, 'T');
		}
	}
	pthread_mutex_unlock(&f->lock);
}

static void release(struct freezer *f)
{
	int64_t now;

	freeze_write(f->fd, f->v1, false);
	tell(f, 'T');
	now = clock_monotonic_ns();
	f->held = false;
	f->holds[f->count - 1].to = now;
	f->held_ns += now - f->since;
}

void freezer_release(struct freezer *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->held)
		release(f);
	f->limited = false;
	pthread_mutex_unlock(&f->lock);
}

void freezer_tick(struct freezer *f)
{
	pthread_mutex_lock(&f->lock);
	if (f->held && clock_monotonic_ns() - f->since >= f->limit_ns) {
		release(f);
		f->limited = true;
		f->limits++;
	}
	pthread_mutex_unlock(&f->lock);
}

bool freezer_held(struct freezer *f)
{
	bool held;

	pthread_mutex_lock(&f->lock);
	held = f->held;
	pthread_mutex_unlock(&f->lock);
	return held;
}

int64_t freezer_overlap(struct freezer *f, int64_t from, int64_t to)
{
	int64_t sum = 0;

	pthread_mutex_lock(&f->lock);
	/* The last ones first: calls come in the order of their ends. */
	for (size_t i = f->count; i-- > 0 && f->holds[i].to > from;) {
		int64_t a = MAX(f->holds[i].from, from), b = MIN(f->holds[i].to, to);

		if (b > a)
			sum += b - a;
	}
	pthread_mutex_unlock(&f->lock);
	return sum;
}

void freezer_totals(struct freezer *f, uint64_t *ret_held_ns, uint64_t *ret_limits)
{
	pthread_mutex_lock(&f->lock);
	*ret_held_ns = f->held_ns + (f->held ? (uint64_t)(clock_monotonic_ns() - f->since) : 0);
	*ret_limits = f->limits;
	pthread_mutex_unlock(&f->lock);
}

void freezer_free(struct freezer *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		freezer_release(f);
	if (f->guard >= 0)
		close(f->guard);
	if (f->guardian > 0)
		while (waitpid(f->guardian, NULL, 0) < 0 && errno == EINTR)
			;
	if (f->fd >= 0)
		close(f->fd);
	pthread_mutex_destroy(&f->lock);
	free(f->holds);
	free(f);
}
