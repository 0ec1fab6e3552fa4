// SPDX-License-Identifier: Apache-2.0
/*
 * route_sql.c: /sql: runs a user's SQL in a separate process (sql_child.h), which is killed when the client goes
 * away.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/engine.h"
#include "server/http/sql_child.h"
#include "server/internal.h"
#include "server/http/pool.h"

/* address space in addition to the engine's memory: threads, libraries */
#define MEMORY_AS   (6ull << 30)
#define CPU_S	    (8 * QUESTION_NS / NSEC_PER_SEC) /* over all its threads */
#define ARGS_MAX    64
#define POLL_MS	    50
#define MESSAGE_MAX 2048
#define SPILL_MIN \
	(64ull << 20) /* bytes; with less, it is better to let the statement fail on a full disk */

/* The exchange with the statement's process. */
struct talk {
	struct child child;
	size_t written;	 /* bytes of the statement written so far */
	struct buf said; /* standard error */
};

static void feed(struct talk *c, const struct buf *statement)
{
	ssize_t n = write(c->child.in, statement->data + c->written, statement->len - c->written);

	if (n > 0)
		c->written += (size_t)n;
	if ((n < 0 && errno != EAGAIN) || c->written == statement->len)
		child_shut(&c->child.in);
}

static int route_sql_drain(int *fd, struct buf *to, size_t max)
{
	char piece[65536];
	ssize_t n = read(*fd, piece, sizeof(piece));

	if (n <= 0) {
		child_shut(fd);
		return 0;
	}
	if (to->len + (size_t)n > max)
		return -E2BIG;
	return buf_append(to, piece, (size_t)n);
}

static int too_much(struct question *q, uint64_t spill)
{
	return question_error(q, -E2BIG,
			      "the statement needs more than %llu MiB of temporary files: use a "
			      "filter or fewer rows",
			      (unsigned long long)spill >> 20);
}

/* Writes and reads until the child has closed its ends. */
static int talk(struct question *q, struct talk *t)
{
	const struct buf *statement = http_body(q->request);
	struct child *c = &t->child;
	int64_t look = 0;
	int r = 0;

	while ((c->out >= 0 || c->err >= 0) && r >= 0) {
		struct pollfd p[3] = {
			{c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->err, POLLIN, 0}};

		if (question_stopped(q))
			return -EINTR;
		if (clock_monotonic_ns() >= look) {
			look = clock_monotonic_ns() + POLL_MS * NSEC_PER_MSEC;
			if (child_over(c))
				return too_much(q, c->spill_max);
		}
		if (poll(p, 3, POLL_MS) < 0 && errno != EINTR)
			return -errno;
		if (c->in >= 0 && p[0].revents)
			feed(t, statement);
		if (c->out >= 0 && p[1].revents)
			r = route_sql_drain(&c->out, &q->out, ANSWER_MAX);
		if (r == -E2BIG)
			return question_error(q, r, "the result is larger than %u MiB: use LIMIT",
					      ANSWER_MAX >> 20);
		if (r >= 0 && c->err >= 0 && p[2].revents)
			route_sql_drain(&c->err, &t->said, MESSAGE_MAX);
	}
	return r;
}

/* Extracts the message of an uncaught C++ exception; the library's is JSON. */
static void uncaught(const char *said, char *ret, size_t size)
{
	const char *what = strstr(said, "what():"), *from = what ? strchr(what, '{') : NULL;
	json_t *doc = from ? json_loads(from, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	const char *message = json_string_value(json_object_get(doc, "exception_message"));

	if (message)
		snprintf(ret, size, "%s", message);
	else if (what)
		snprintf(ret, size, "%.*s", (int)strcspn(what + 7, "\n"), what + 7);
	else
		snprintf(ret, size, "it reports no reason");
	json_decref(doc);
}

/* Reports a signal without guessing its cause: memory is only one of the possible ones. */
static int ended(struct question *q, int sig, const char *said)
{
	char why[512];

	switch (sig) {
	case SIGXCPU:
		return question_error(q, -ETIMEDOUT, "the statement took longer than allowed");
	case SIGABRT:
		if (strstr(said, "bad_alloc"))
			return question_error(q, -ENOMEM, "the statement ran out of memory");
		uncaught(said, why, sizeof(why));
		return question_error(q, -EINVAL, "DuckDB aborted this statement: %s", why);
	case SIGSYS:
		return question_error(q, -EINVAL,
				      "the statement made a system call that is not allowed here "
				      "and was terminated");
	case SIGKILL:
		return question_error(
			q, -EIO,
			"the statement's process was killed from outside, possibly by the kernel "
			"because the machine or the control group ran out of memory");
	}
	return question_error(q, -EIO, "the statement's process crashed: %s", strsignal(sig));
}

/* The first line of the child's error, without command-name prefixes. */
static int refused(struct question *q, uint64_t spill, char *said)
{
	char *end = strchr(said, '\n');

	if (end)
		*end = '\0';
	if (strncmp(said, "weir: ", 6) == 0)
		said += 6;
	/* DuckDB's message for a full folder; with all of the memory it may need less disk */
	if (q->wide && strstr(said, "offload data block"))
		return too_much(q, spill);
	if (strstr(said, "raise --memory")) /* engine/duckdb/library/message.c */
		return question_error(q, -ENOMEM, "%s", said);
	if (strstr(said, "DuckDB's library"))
		q->status = 503;
	return question_error(q, -EINVAL, "%s", *said ? said : "the statement failed");
}

/* Half of the free space at most, so that others can still write. */
static uint64_t spill_max(void)
{
	struct statvfs st;
	uint64_t half;

	if (statvfs(temporary_folder(), &st) < 0)
		return ENGINE_SPILL_DEFAULT;
	half = (uint64_t)st.f_bavail * st.f_frsize / 2;
	half = MAX(half, SPILL_MIN);
	return MIN(half, ENGINE_SPILL_DEFAULT);
}

struct words {
	char memory[32], rows[32], spill[32];
};

/* The statement may use the question's share of the memory budget. */
static int add_args(struct question *q, uint64_t spill, const char **args, struct words *w)
{
	const struct server_options *o = &q->server->opt;
	size_t n = 0;

	args[n++] = "weir";
	args[n++] = "sql";
	args[n++] = "--json";
	args[n++] = "--confined";
	snprintf(w->rows, sizeof(w->rows), "--rows=%u", ROWS_DEFAULT);
	args[n++] = w->rows;
	snprintf(w->memory, sizeof(w->memory), "--memory=%llu", (unsigned long long)q->room);
	args[n++] = w->memory;
	snprintf(w->spill, sizeof(w->spill), "--spill=%llu", (unsigned long long)spill);
	args[n++] = w->spill;
	if (o->library) {
		args[n++] = "--duckdb";
		args[n++] = o->library;
	}
	for (size_t i = 0; i < o->path_count; i++) {
		if (n + 3 > ARGS_MAX)
			return question_error(
				q, -E2BIG,
				"too many traces are named for SQL: name their folder instead");
		args[n++] = "-i";
		args[n++] = o->paths[i];
	}
	args[n] = NULL;
	return 0;
}

static int route_sql_run(struct question *q)
{
	struct child_limits max = {
		.address_space = MEMORY_AS + 4 * q->room, .cpu_s = CPU_S, .spill = spill_max()};
	const char *args[ARGS_MAX + 1];
	struct talk t = {0};
	struct words words;
	int sig, r = add_args(q, max.spill, args, &words);

	if (r < 0)
		return r;
	r = child_start(&t.child, (char *const *)args, &max, &q->err);
	if (r >= 0)
		r = talk(q, &t);
	sig = child_end(&t.child, r < 0);
	if (r >= 0 && sig > 0)
		r = ended(q, sig, buf_str(&t.said));
	else if (r >= 0 && sig < 0)
		r = refused(q, max.spill, (char *)buf_str(&t.said));
	buf_free(&t.said);
	return r;
}

/* The process opens the traces by name: they must still be the files that the pages show. */
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
			      "SQL opens the trace by name, but %.200s was %s since weir serve "
			      "opened it: put the file back, or restart weir serve",
			      c.path,
			      c.path_what & STORE_FILE_REPLACED	 ? "replaced by another file"
			      : c.path_what & STORE_FILE_DELETED ? "deleted"
								 : "moved");
}

/* Runs with half of the memory, so that two statements run at once; if that is not enough, again with all of it. */
int sql_answer(struct question *q)
{
	int r;

	if (!http_body(q->request)->len)
		return question_error(q, -EINVAL,
				      "the body is empty: it must contain the statement");
	r = check_files(q);
	if (r < 0)
		return r;
	do {
		r = memory_budget_take(q, q->wide ? q->server->memory_budget.all
						  : q->server->memory_budget.all / 2);
		if (r >= 0)
			r = route_sql_run(q);
		memory_budget_give(q);
	} while (pool_again(q, r));
	/* the error may be that of a file that was deleted meanwhile */
	if (r != -EINTR && check_files(q) < 0)
		r = -ESTALE;
	return r;
}
