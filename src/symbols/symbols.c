/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c: the child that looks up names, and its answers. */
#include "base/fd.h"
#include "symbols/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define TEXT_MAX (1u << 20) /* text of one stack: a longer one is a damaged answer */

/* The answer for one stack; the texts follow. */
struct answer {
	uint32_t stack, names, frames, cut, depth, pad;
};

/* ---- in the child ---- */

static void open_module(struct chain_modules *m, size_t i)
{
	if (m->modules[i].kind == SYMBOLS_FILE)
		m->files[i] = elf_module_open(&m->modules[i]);
	else
		m->lists[i] = listed_open(&m->modules[i]);
}

static int answer_one(const struct chain_modules *m, const struct symbols_request *q, size_t i,
		      struct buf *names, struct buf *frames, struct buf *out)
{
	struct symbols_names n = {0};
	struct answer a = {.stack = (uint32_t)i};
	int r;

	buf_clear(names);
	buf_clear(frames);
	r = chain_put(m, &q->stacks[i], names, frames, &n);
	a.names = (uint32_t)names->len;
	a.frames = (uint32_t)frames->len;
	a.cut = n.cut;
	a.depth = n.depth;
	r = r < 0 ? r : buf_append(out, &a, sizeof(a));
	r = r < 0 || !names->len ? r : buf_append(out, names->data, names->len);
	return r < 0 || !frames->len ? r : buf_append(out, frames->data, frames->len);
}

/* Never returns. */
static void symbols_child(const struct symbols_request *q, int to)
{
	int64_t until = clock_monotonic_ns() + q->limit_ns;
	struct chain_modules m = {.modules = q->modules, .lines = q->lines};
	struct buf names = {0}, frames = {0}, out = {0};
	int r = 0;

	m.files = calloc(q->module_count + 1, sizeof(*m.files));
	m.lists = calloc(q->module_count + 1, sizeof(*m.lists));
	if (!m.files || !m.lists)
		_exit(1);
	for (size_t i = 0; i < q->module_count && clock_monotonic_ns() < until; i++)
		open_module(&m, i);
	for (size_t i = 0; i < q->stack_count && r >= 0; i++) {
		r = answer_one(&m, q, i, &names, &frames, &out);
		if (r >= 0 && (out.len > 65536 || i + 1 == q->stack_count)) {
			r = fd_write(to, out.data, out.len);
			buf_clear(&out);
		}
	}
	_exit(r < 0);
}

/* ---- in the parent ---- */

/* Passes on the complete answers in the buffer, and removes them. */
static int take_answers(const struct symbols_request *q, struct buf *b, size_t *given,
			int (*take)(void *arg, size_t stack, const struct symbols_names *n),
			void *arg)
{
	size_t at = 0;
	int r = 0;

	while (r >= 0 && b->len - at >= sizeof(struct answer)) {
		const uint8_t *text = b->data + at + sizeof(struct answer);
		struct symbols_names n;
		struct answer a;

		memcpy(&a, b->data + at, sizeof(a));
		if (a.stack >= q->stack_count || a.names > TEXT_MAX || a.frames > TEXT_MAX)
			return -EBADMSG;
		if (b->len - at - sizeof(a) < (size_t)a.names + a.frames)
			break;
		n = (struct symbols_names){.names = {text, a.names},
					   .frames = {text + a.names, a.frames},
					   .cut = a.cut,
					   .depth = a.depth};
		r = take(arg, a.stack, &n);
		at += sizeof(a) + a.names + a.frames;
		++*given;
	}
	if (at) {
		memmove(b->data, b->data + at, b->len - at);
		b->len -= at;
	}
	return r;
}

static int read_answers(const struct symbols_request *q, int from,
			int (*take)(void *arg, size_t stack, const struct symbols_names *n),
			void *arg)
{
	int64_t until = clock_monotonic_ns() + 2 * q->limit_ns;
	_cleanup_buf_ struct buf b = {0};
	size_t given = 0;
	int r = 0;

	while (r >= 0 && given < q->stack_count) {
		int64_t left = (until - clock_monotonic_ns()) / NSEC_PER_MSEC;
		struct pollfd p = {.fd = from, .events = POLLIN};
		ssize_t n;

		if (left <= 0)
			return -ETIME;
		if (poll(&p, 1, (int)MIN(left, (int64_t)1000)) <= 0)
			continue;
		r = buf_reserve(&b, 65536);
		if (r < 0)
			break;
		n = read(from, b.data + b.len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECHILD;
		b.len += (size_t)n;
		r = take_answers(q, &b, &given, take, arg);
	}
	return r;
}

int symbols_resolve(const struct symbols_request *q,
		    int (*take)(void *arg, size_t stack, const struct symbols_names *n), void *arg)
{
	int ends[2], r;
	pid_t child;

	if (!q->stack_count)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0) {
		r = -errno;
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (!child) {
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		symbols_child(q, ends[1]);
	}
	close(ends[1]);
	r = read_answers(q, ends[0], take, arg);
	close(ends[0]);
	if (r < 0)
		kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
