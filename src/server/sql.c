// SPDX-License-Identifier: Apache-2.0
/*
 * sql.c: /sql: somebody's SQL, in a process of its own: weir itself, started again, with bounded
 * memory and time and an engine that reads nothing but the trace. It is killed when the client goes
 * away.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "server/internal.h"
#include "server/pool.h"

#define SELF  "/proc/self/exe"
#define CPU_S (8 * QUESTION_NS / NSEC_PER_SEC) /* of all its threads together */
#define MEMORY_AS \
	(6ull << 30) /* address space beside what the engine may take: threads, libraries */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define ADDRESS_SPACE_IS_FREE /* the shadow of a sanitizer takes terabytes of it */
#endif
#define ARGS_MAX    64
#define POLL_MS	    50
#define MESSAGE_MAX 2048

struct child {
	pid_t pid;
	int in, out, err; /* our ends */
	size_t written;	  /* of the statement */
	struct buf said;  /* on standard error */
};

static void limit(int what, rlim_t value)
{
	const struct rlimit l = {value, value};

	setrlimit((__rlimit_resource_t)what, &l);
}

/* In the child, between fork and exec: nothing but system calls. */
static void become(const int fds[3], char *const args[], rlim_t memory)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#ifdef ADDRESS_SPACE_IS_FREE
	(void)memory;
#else
	limit(RLIMIT_AS, memory);
#endif
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_CORE, 0);
	for (int i = 0; i < 3; i++) {
		if (dup2(fds[i], i) < 0)
			_exit(127);
	}
	close_range(3, ~0u, 0);
	execv(SELF, args);
	_exit(127);
}

static int make_pipes(int ours[3], int theirs[3])
{
	for (int i = 0; i < 3; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC) < 0)
			return -errno;
		ours[i] = p[i == 0];
		theirs[i] = p[i != 0];
	}
	return fcntl(ours[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int start(struct question *q, char *const args[], struct child *c)
{
	int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1};
	int r = make_pipes(ours, theirs);

	if (r >= 0) {
		c->pid = fork();
		if (c->pid == 0)
			become(theirs, args, MEMORY_AS + 4 * q->room);
		r = c->pid < 0 ? -errno : 0;
	}
	close_all(theirs);
	if (r < 0) {
		close_all(ours);
		return question_error(q, r, "cannot start a process for the statement: %s",
				      strerror(-r));
	}
	c->in = ours[0];
	c->out = ours[1];
	c->err = ours[2];
	return 0;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void feed(struct child *c, const struct buf *statement)
{
	ssize_t n = write(c->in, statement->data + c->written, statement->len - c->written);

	if (n > 0)
		c->written += (size_t)n;
	if ((n < 0 && errno != EAGAIN) || c->written == statement->len)
		shut(&c->in);
}

static int drain(int *fd, struct buf *to, size_t max)
{
	char piece[65536];
	ssize_t n = read(*fd, piece, sizeof(piece));

	if (n <= 0) {
		shut(fd);
		return 0;
	}
	if (to->len + (size_t)n > max)
		return -E2BIG;
	return buf_append(to, piece, (size_t)n);
}

/* Until the child has closed its ends. */
static int talk(struct question *q, struct child *c)
{
	const struct buf *statement = http_body(q->request);
	int r = 0;

	while ((c->out >= 0 || c->err >= 0) && r >= 0) {
		struct pollfd p[3] = {
			{c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->err, POLLIN, 0}};

		if (question_stopped(q))
			return -EINTR;
		if (poll(p, 3, POLL_MS) < 0 && errno != EINTR)
			return -errno;
		if (c->in >= 0 && p[0].revents)
			feed(c, statement);
		if (c->out >= 0 && p[1].revents)
			r = drain(&c->out, &q->out, ANSWER_MAX);
		if (r == -E2BIG)
			return question_error(q, r, "the answer is larger than %u MiB: use LIMIT",
					      ANSWER_MAX >> 20);
		if (r >= 0 && c->err >= 0 && p[2].revents)
			drain(&c->err, &c->said, MESSAGE_MAX);
	}
	return r;
}

/* The first line of what the child said, without the names of commands before it. */
static int refused(struct question *q, struct child *c, int status)
{
	char *said = (char *)buf_str(&c->said), *end = strchr(said, '\n');

	if (end)
		*end = '\0';
	if (strncmp(said, "weir: ", 6) == 0)
		said += 6;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return question_error(q, -ETIMEDOUT, "the statement took too long");
	if (WIFSIGNALED(status))
		return question_error(q, -ENOMEM,
				      "the statement's process ended by signal %d; it may "
				      "have wanted more memory than it is given",
				      WTERMSIG(status));
	if (strstr(said, "raise --memory")) /* engine/duckdb/message.c */
		return question_error(q, -ENOMEM, "%s", said);
	if (strstr(said, "DuckDB's library"))
		q->status = 503;
	return question_error(q, -EINVAL, "%s", *said ? said : "the statement failed");
}

/* What the statement may take is the question's part of the room. */
static int add_args(struct question *q, const char **args, char memory[32], char rows[32])
{
	const struct server_options *o = &q->server->opt;
	size_t n = 0;

	args[n++] = "weir";
	args[n++] = "sql";
	args[n++] = "--json";
	args[n++] = "--confined";
	snprintf(rows, 32, "--rows=%u", ROWS_DEFAULT);
	args[n++] = rows;
	snprintf(memory, 32, "--memory=%llu", (unsigned long long)q->room);
	args[n++] = memory;
	if (o->library) {
		args[n++] = "--duckdb";
		args[n++] = o->library;
	}
	for (size_t i = 0; i < o->path_count; i++) {
		if (n + 3 > ARGS_MAX)
			return question_error(q, -E2BIG,
					      "SQL over so many named traces: name their folder");
		args[n++] = "-i";
		args[n++] = o->paths[i];
	}
	args[n] = NULL;
	return 0;
}

static int run(struct question *q)
{
	struct child c = {.in = -1, .out = -1, .err = -1};
	const char *args[ARGS_MAX + 1];
	char memory[32], rows[32];
	int status = 0, r = add_args(q, args, memory, rows);

	if (r >= 0)
		r = start(q, (char *const *)args, &c);
	if (r < 0)
		return r;
	r = talk(q, &c);
	if (r < 0)
		kill(c.pid, SIGKILL);
	shut(&c.in);
	shut(&c.out);
	shut(&c.err);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r >= 0 && status)
		r = refused(q, &c, status);
	buf_free(&c.said);
	return r;
}

/* The process opens the traces by their names: what it finds there must be what the pages show. */
static int check_files(struct question *q)
{
	struct store_file_changes c;

	pthread_rwlock_rdlock(&q->server->lock);
	store_file_changes(q->server->store, &c);
	pthread_rwlock_unlock(&q->server->lock);
	if (!(c.what & ~STORE_FILE_CUT))
		return 0;
	q->err = (struct error){0};
	q->status = 409;
	return question_error(q, -ESTALE,
			      "SQL opens the trace by its name, and %.200s was %s since weir serve "
			      "opened it: put the file back, or start weir serve again",
			      c.path,
			      c.what & STORE_FILE_REPLACED  ? "replaced by another file"
			      : c.what & STORE_FILE_DELETED ? "deleted"
							    : "moved");
}

/* With half of the room, so that two run at once; what cannot be done with that has all of it. */
static int sql_answer(struct question *q)
{
	int r;

	if (!http_body(q->request)->len)
		return question_error(q, -EINVAL, "the body is empty: it is the statement");
	r = check_files(q);
	if (r < 0)
		return r;
	do {
		r = room_take(q, q->wide ? q->server->room.all : q->server->room.all / 2);
		if (r >= 0)
			r = run(q);
		room_give(q);
	} while (pool_again(q, r));
	/* an error may be that of a file that went away meanwhile */
	if (r != -EINTR && check_files(q) < 0)
		r = -ESTALE;
	return r;
}

void sql_post(void *arg, struct http_request *r)
{
	question_apart(arg, r, sql_answer);
}
