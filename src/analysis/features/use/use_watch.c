/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_watch.c: what a thread does after a short write, and after a write, sync or close that failed.
 *
 * A short write is continued by a write of the same thread with the remaining bytes, or fewer. Programs that queue data
 * may append to it: for a pipe, only a write of the same size as the one cut short is known to be the next message. On
 * a socket, whose buffers have one size, no further write is; there the short write must be the last one before the
 * thread closes the socket or ends, without having waited or used the socket in between: then it did not try.
 *
 * An error was ignored if the thread went on as before: it repeated the call at another position, or failed again; or
 * its next two calls were those that followed its last successful call of the kind; or it ended with status 0. The
 * calls that follow a kind of call are learned per use (for closes per thread). An error with other consequences is not
 * counted: the thread may have handled it. Only errors that mean that data is not safe are considered
 * (use_is_lasting()).
 */
#include "analysis/features/use/use.h"

#include <errno.h>

enum { WATCH_WRITE, WATCH_SYNC, WATCH_CLOSE };

#define SAME_FILE    0x8000u
#define WATCH_STEPS  2
#define WATCH_UNSEEN 0

static_assert(OP_CODE_MAX <= SAME_FILE, "an operation and a bit are 16 bits");

static bool use_is_lasting(uint16_t err)
{
	switch (err) {
	case EIO:
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EROFS:
	case ESTALE:
	case EUCLEAN:
	case ENOMEM:
	case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

/* Where the calls that follow a success are stored; NULL: unknown. */
static uint32_t *use_habit_of(struct use_task *t, struct use *u, uint8_t kind)
{
	if (kind == WATCH_CLOSE)
		return &t->after_close;
	return u->write ? &u->write->after[kind] : NULL;
}

static void use_count_ignored(struct use_state *s, struct use *u)
{
	struct use_rest *rest = use_rests(s, u);

	if (rest)
		rest->ignored++;
}

/* True if the thread's further calls cannot change the result. */
static bool use_watch_step(struct use_state *s, struct use_task *t, struct use_watch *w,
			   const struct feature_call *c)
{
	struct use *u = use_at(s, w->use);
	bool same = c->file == u->file, again = same && c->op == w->op;
	uint32_t *habit = use_habit_of(t, u, w->kind);

	if (w->failed && use_act_of(s, c) == ACT_EXIT) {
		if (c->rest->a0 == 0)
			use_count_ignored(s, u);
		return true;
	}
	if (w->failed && w->steps == 0 && again) {
		if (!use_ok(c) || c->pos != w->pos || c->size != w->size)
			use_count_ignored(s, u);
		return true;
	}
	if (w->steps == WATCH_STEPS)
		return false;
	w->followed = w->followed << 16 | c->op | (same ? SAME_FILE : 0);
	if (++w->steps < WATCH_STEPS)
		return false;
	if (!habit)
		return !w->failed;
	if (!w->failed) {
		*habit = w->followed;
		return true;
	}
	if (*habit == w->followed)
		use_count_ignored(s, u);
	return *habit != WATCH_UNSEEN;
}

void use_watch_next(struct use_state *s, struct use_task *t, const struct feature_call *c)
{
	/* memory, time, signals: evidence of neither */
	if (c->class == CLASS_OTHER && c->file == FEATURE_NONE)
		return;
	for (unsigned int i = 0; i < USE_WATCHES; i++) {
		if (t->watches[i].use != USE_NONE && use_watch_step(s, t, &t->watches[i], c)) {
			t->watches[i].use = USE_NONE;
			t->watching--;
		}
	}
}

void use_watch_begin(struct use_task *t, const struct use *u, const struct feature_call *c,
		     enum use_act act)
{
	struct use_watch *w = &t->watches[0];

	if (!u->positions || c->ret == FEATURE_NULL || (c->err && !use_is_lasting(c->err)))
		return;
	/* replaces an observed success if no slot is free */
	for (unsigned int i = 0; i < USE_WATCHES; i++) {
		struct use_watch *other = &t->watches[i];

		if (other->use == USE_NONE) {
			w = other;
			break;
		}
		if (w->failed || (!other->failed && other->steps > w->steps))
			w = other;
	}
	t->watching += w->use == USE_NONE;
	*w = (struct use_watch){
		.use = u->index,
		.op = c->op,
		.kind = act == ACT_CLOSE  ? WATCH_CLOSE
			: act == ACT_SYNC ? WATCH_SYNC
					  : WATCH_WRITE,
		.failed = c->err != 0,
		.pos = c->pos,
		.size = c->size,
	};
}

/* ---- short writes ---- */

static int use_count_short(struct use_state *s, struct use_task *t)
{
	struct use_rest *rest = use_rests(s, use_at(s, t->short_use));

	t->short_use = USE_NONE;
	if (!rest)
		return -ENOMEM;
	rest->shorts++;
	return 0;
}

static bool use_continues(const struct use_task *t, const struct feature_call *c, int64_t pos)
{
	return c->size != FEATURE_NULL && c->size <= t->short_left &&
	       (pos == FEATURE_NULL || pos == t->short_to);
}

int use_watch_short(struct use_state *s, struct use_task *t, const struct use *u,
		    const struct feature_call *c, int64_t pos)
{
	bool counts = u->type == FILE_TYPE_PIPE || u->type == FILE_TYPE_SOCKET || u->positions;
	int r = 0;

	if (use_act_of(s, c) != ACT_WRITE || !counts)
		return 0;
	if (t->short_use == u->index) {
		if (!use_continues(t, c, pos) &&
		    (u->positions || (u->type == FILE_TYPE_PIPE && c->size == t->short_size)))
			r = use_count_short(s, t);
		t->short_use = USE_NONE;
	}
	if (c->size != FEATURE_NULL && c->bytes > 0 && c->bytes < c->size) {
		/* one of another file can no longer be tracked */
		t->short_use = u->index;
		t->short_size = c->size;
		t->short_left = c->size - c->bytes;
		t->short_to = pos == FEATURE_NULL ? FEATURE_NULL : pos + c->bytes;
	}
	return r;
}

void use_watch_short_failed(const struct use_state *s, struct use_task *t, const struct use *u,
			    const struct feature_call *c)
{
	/* it was attempted */
	if (use_act_of(s, c) == ACT_WRITE && t->short_use == u->index &&
	    (u->type == FILE_TYPE_SOCKET ||
	     (c->err != EAGAIN && c->err != EINTR && use_continues(t, c, FEATURE_NULL))))
		t->short_use = USE_NONE;
}

int use_watch_short_other(struct use_state *s, struct use_task *t, const struct feature_call *c)
{
	const struct use *u = use_at(s, t->short_use);
	enum use_act act = use_act_of(s, c);

	if (u->type != FILE_TYPE_SOCKET)
		return 0;
	if (act == ACT_SHUT && c->file == u->file)
		return use_count_short(s, t);
	if (c->class == CLASS_WAIT || (act == ACT_READ && c->file == u->file))
		t->short_use = USE_NONE;
	return 0;
}

int use_watch_short_end(struct use_state *s, struct use_task *t, uint32_t use)
{
	if (t->short_use == USE_NONE || (use != USE_NONE && t->short_use != use))
		return 0;
	return use_count_short(s, t);
}
