/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.c: what the process did, kept in memory of each thread and printed as JSON at the end, so that keeping it makes no call
 * of the kinds that it lists.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "objstore.h"

#define MORE 4096 /* rows that a thread adds room for at once */

struct fact {
	const char *what, *call;
	uint64_t object;
	int64_t pos, bytes, ret, span, sender;
};

struct noted {
	struct blkin_trace_info info;
	const char *name;
};

struct got {
	uint64_t object;
	unsigned int node;
	int status;
	bool same;
};

/* Of one thread. */
struct book {
	long tid;
	struct fact *facts;
	struct noted *spans;
	struct got *gots;
	size_t fact_count, span_count, got_count;
	struct book *next;
};

static __thread struct book *mine;
static struct book *books;
static pthread_mutex_t books_lock = PTHREAD_MUTEX_INITIALIZER;

static struct book *book_of_thread(void)
{
	if (mine)
		return mine;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		die("truth");
	mine->tid = syscall(SYS_gettid);
	pthread_mutex_lock(&books_lock);
	mine->next = books;
	books = mine;
	pthread_mutex_unlock(&books_lock);
	return mine;
}

/* Room for one more. */
static void *book_grow(void *rows, size_t count, size_t size)
{
	if (count % MORE)
		return rows;
	rows = realloc(rows, (count + MORE) * size);
	if (!rows)
		die("truth");
	return rows;
}

void truth_call(const struct doing *d, const char *call, int64_t pos, int64_t bytes, int64_t ret)
{
	struct book *b;

	if (!config.truth)
		return;
	b = book_of_thread();
	b->facts = book_grow(b->facts, b->fact_count, sizeof(*b->facts));
	b->facts[b->fact_count++] = (struct fact){.what = d->what,
						  .call = call,
						  .object = d->object,
						  .pos = pos,
						  .bytes = bytes,
						  .ret = ret < 0 ? -errno : ret,
						  .span = d->span ? d->span->info.span_id : 0};
}

void truth_sender(const struct blkin_trace_info *sender)
{
	if (config.truth)
		mine->facts[mine->fact_count - 1].sender = sender->span_id;
}

void truth_span(const struct blkin_trace *t)
{
	struct book *b;

	if (!config.truth)
		return;
	b = book_of_thread();
	b->spans = book_grow(b->spans, b->span_count, sizeof(*b->spans));
	b->spans[b->span_count++] = (struct noted){t->info, t->name};
}

void truth_got(uint64_t object, unsigned int node, int status, bool same)
{
	struct book *b;

	if (!config.truth)
		return;
	b = book_of_thread();
	b->gots = book_grow(b->gots, b->got_count, sizeof(*b->gots));
	b->gots[b->got_count++] = (struct got){object, node, status, same};
}

/* An id, or null where it is 0. */
static void print_id(FILE *f, const char *key, int64_t id)
{
	if (id)
		fprintf(f, "\"%s\":\"%016" PRIx64 "\"", key, (uint64_t)id);
	else
		fprintf(f, "\"%s\":null", key);
}

static void print_book(FILE *f, const struct book *b)
{
	fprintf(f, "{\"tid\":%ld,\"calls\":[", b->tid);
	for (size_t i = 0; i < b->fact_count; i++) {
		const struct fact *c = &b->facts[i];

		fprintf(f,
			"%s\n{\"what\":\"%s\",\"call\":\"%s\",\"object\":%" PRIu64
			",\"pos\":%" PRId64 ",\"bytes\":%" PRId64 ",\"ret\":%" PRId64 ",",
			i ? "," : "", c->what, c->call, c->object, c->pos, c->bytes, c->ret);
		print_id(f, "span", c->span);
		fputc(',', f);
		print_id(f, "sender", c->sender);
		fputc('}', f);
	}
	fprintf(f, "],\"spans\":[");
	for (size_t i = 0; i < b->span_count; i++) {
		const struct blkin_trace_info *n = &b->spans[i].info;

		fputs(i ? ",\n{" : "\n{", f);
		print_id(f, "trace", n->trace_id);
		fputc(',', f);
		print_id(f, "span", n->span_id);
		fputc(',', f);
		print_id(f, "parent", n->parent_span_id);
		fprintf(f, ",\"name\":\"%s\"}", b->spans[i].name);
	}
	fprintf(f, "],\"gots\":[");
	for (size_t i = 0; i < b->got_count; i++) {
		const struct got *g = &b->gots[i];

		fprintf(f, "%s\n{\"object\":%" PRIu64 ",\"node\":%u,\"status\":%d,\"same\":%s}",
			i ? "," : "", g->object, g->node, g->status, g->same ? "true" : "false");
	}
	fprintf(f, "]}");
}

void truth_write(const char *role, uint64_t done, double seconds)
{
	FILE *f;

	if (!config.truth)
		return;
	f = fopen(config.truth, "we");
	if (!f)
		die(config.truth);
	fprintf(f,
		"{\"role\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"done\":%" PRIu64
		",\"seconds\":%.6f,\"threads\":[",
		role, config.name, getpid(), done, seconds);
	for (const struct book *b = books; b; b = b->next) {
		print_book(f, b);
		fputs(b->next ? ",\n" : "", f);
	}
	fprintf(f, "]}\n");
	if (fclose(f))
		die(config.truth);
}

void span_first(struct blkin_trace *t, const struct blkin_trace_info *parent, const char *name,
		const char *event)
{
	if (parent)
		blkin_init_child_info(t, parent, &config.endpoint, name);
	else
		blkin_init_new_trace(t, name, &config.endpoint);
	truth_span(t);
	BLKIN_TIMESTAMP(t, &config.endpoint, event);
}

void span_last(const struct blkin_trace *t, const char *event)
{
	BLKIN_TIMESTAMP(t, &config.endpoint, event);
}
