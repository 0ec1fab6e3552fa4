// SPDX-License-Identifier: Apache-2.0
/*
 * answer_loss.c: the report of missing data in every answer. Damage is found while blocks are read, and files change
 * while they are served, so both are checked for each answer, not only when the trace is opened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/internal.h"
#include "server/http/js.h"
#include "store/file/read/verify.h"

static struct known_loss known_now(const struct server *s)
{
	struct store_file_changes files;
	struct store_damage d;

	store_damage(s->store, &d);
	store_file_changes(s->store, &files);
	return (struct known_loss){.generation = s->generation,
				   .blocks = d.blocks,
				   .rows = d.rows,
				   .calls = d.calls,
				   .bytes = d.bytes,
				   .files = files.what,
				   .changed = files.traces};
}

static bool answer_loss_is_same(const struct known_loss *a, const struct known_loss *b)
{
	return a->generation == b->generation && a->blocks == b->blocks && a->rows == b->rows &&
	       a->bytes == b->bytes && a->files == b->files && a->changed == b->changed;
}

/* With loss_lock: rebuilds s->loss if more is known than it contains. */
static int update(struct server *s, struct error *err)
{
	struct known_loss now = known_now(s);
	int r;

	if (s->loss.len && answer_loss_is_same(&now, &s->known))
		return 0;
	buf_clear(&s->loss);
	r = s->opt.loss_json(&s->loss, s->store, err);
	if (r < 0) {
		buf_clear(&s->loss);
		return r;
	}
	s->known = now;
	s->loss_version++;
	return 0;
}

int loss_take(struct question *q)
{
	struct server *s = q->server;
	int r;

	pthread_mutex_lock(&s->loss_lock);
	r = update(s, &q->err);
	buf_clear(&q->loss);
	if (r >= 0)
		r = buf_append(&q->loss, s->loss.data, s->loss.len);
	q->known = s->known;
	q->version = s->loss_version;
	pthread_mutex_unlock(&s->loss_lock);
	return r;
}

bool loss_is_current(const struct question *q)
{
	struct known_loss now = known_now(q->server);

	return answer_loss_is_same(&now, &q->known);
}

void loss_put(const struct question *q, struct js *j)
{
	js_key(j, "loss");
	js_raw(j, q->loss.data, q->loss.len);
}

int loss_version(struct server *s, uint64_t *ret, struct error *err)
{
	int r;

	pthread_mutex_lock(&s->loss_lock);
	r = update(s, err);
	*ret = s->loss_version;
	pthread_mutex_unlock(&s->loss_lock);
	return r;
}

void loss_header(void *arg, struct http_request *r)
{
	struct server *s = arg;
	struct known_loss known;
	char text[256];
	uint64_t unverified;
	const char *before = "; files=", *word;
	unsigned int what;
	int n;

	if (strncmp(http_path(r), "/api", 4) != 0) /* the static pages do not depend on the trace */
		return;
	pthread_rwlock_rdlock(&s->lock);
	known = known_now(s);
	unverified = store_unverified(s->store);
	pthread_rwlock_unlock(&s->lock);
	n = snprintf(text, sizeof(text),
		     "blocks=%" PRIu64 "; rows=%" PRIu64 "; calls=%" PRIu64 "; unverified=%" PRIu64,
		     known.blocks, known.rows, known.calls, unverified);
	for (size_t i = 0; (word = store_file_change_word(i, &what)); i++) {
		if (!(known.files & what))
			continue;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", before, word);
		before = ",";
	}
	http_add_header(r, "Weir-Damage", text);
}
