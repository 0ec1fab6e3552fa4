// SPDX-License-Identifier: Apache-2.0
/*
 * stall_asks.c: retry and poll. A request is a call on one file, or a connect to one address. Repeated with the same
 * result and no progress in between, it is a retry. Progress is: bytes from or to sockets and pipes, bytes of files
 * that were not read before, a changed name, a wait ended by an event; for `poll` also bytes written to files, except
 * to descriptors 0 to 2 (a program that prints that it is still waiting).
 */
#include <errno.h>

#include "analysis/features/stall/stall.h"
#include "base/saturate.h"

/* True for errors after which programs repeat the call. */
static bool stall_is_retried(enum stall_act act, uint16_t err)
{
	switch (err) {
	case EAGAIN:
		return act != ACT_FUTEX;
	case EEXIST: /* a lock: a file created with O_EXCL, a folder, a symlink */
		return act == ACT_OPEN || act == ACT_CHANGE;
	case ENOENT: /* of a unix socket */
		return act == ACT_CONNECT;
	case EACCES:
		return act == ACT_FCNTL;
	case ECONNREFUSED:
	case ECONNRESET:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
		return act == ACT_CONNECT || act == ACT_SEND || act == ACT_RECV;
	case EADDRINUSE:
	case ENOBUFS:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EBUSY:
	case ETXTBSY:
	case ENOSPC:
	case EDQUOT:
	case EIO:
		return true;
	default:
		return false;
	}
}

enum stall_what stall_asks(struct stall *s, const struct feature_call *c, enum stall_act act)
{
	if (c->err) {
		if ((act == ACT_ASK || act == ACT_OPEN) && (c->err == ENOENT || c->err == ENOTDIR))
			return STALL_POLL;
		return stall_is_retried(act, c->err) ? STALL_RETRY : STALL_IDLE;
	}
	switch (act) {
	case ACT_ASK:
		return STALL_POLL;
	case ACT_OPEN:
		return stall_opens_to_write(c, act) ? STALL_IDLE : STALL_POLL;
	case ACT_READ:
		if ((c->ret != 0 && c->pos != 0) || c->file == FEATURE_NONE)
			return STALL_IDLE;
		return stall_file(s, c->file, c->file_id)->type == FILE_TYPE_REGULAR + 1
			       ? STALL_POLL
			       : STALL_IDLE;
	case ACT_MULTI:
	case ACT_CHILD:
		return c->ret == 0 ? STALL_POLL : STALL_IDLE;
	default:
		return STALL_IDLE;
	}
}

/* Computes the request's key; never 0. */
static int stall_question(struct stall *s, const struct feature_call *c, struct stall_key *key,
			  int64_t *peer, uint64_t *ret)
{
	int r = 0;

	*peer = -1;
	key->kind = c->file == FEATURE_NONE ? STALL_NOTHING : STALL_FILE;
	key->object = c->file == FEATURE_NONE ? 0 : c->file;
	if (s->acts[c->op] == ACT_CONNECT) {
		r = stall_peer(s, c->file_id, c->rest->peer_id, &key->object, peer);
		key->kind = *peer >= 0 ? STALL_PEER : key->kind;
	}
	*ret = hash_u64((uint64_t)key->object << 32 | (uint64_t)c->op << 16 |
			(uint64_t)key->kind << 1 | (c->ret == 0)) |
	       1;
	return r;
}

/* The content of a read is not recorded: the same number of bytes from the same position is taken to be the same data. */
static int64_t stall_answer(const struct stall *s, const struct feature_call *c)
{
	if (c->err)
		return -(int64_t)c->err;
	return s->acts[c->op] == ACT_READ ? c->ret : 0;
}

/* ---- runs of equal results ---- */

/* A run ended before it had a row: the wait held as its pause becomes an ordinary wait. */
static int stall_ask_release(struct stall *s, const struct stall_task *t, struct stall_ask *a)
{
	const struct stall_key key = {
		.task = t->task, .op = a->held_op, .what = a->held_work ? STALL_WORK : STALL_IDLE};

	if (!a->held_op)
		return 0;
	a->held_op = 0;
	return stall_rows_add(s->rows, &key, &a->held);
}

int stall_asks_end(struct stall *s, struct stall_task *t)
{
	int r = 0;

	for (size_t i = 0; i < STALL_ASKS && r >= 0; i++)
		r = stall_ask_release(s, t, &t->asks[i]);
	return r;
}

/* The request's slot; a new request takes the oldest. */
static int stall_ask_find(struct stall *s, struct stall_task *t, uint64_t key,
			  struct stall_ask **ret)
{
	int r;

	for (size_t i = 0; i < STALL_ASKS; i++) {
		*ret = &t->asks[i];
		if (t->asks[i].key == key)
			return 0;
	}
	*ret = &t->asks[t->next_ask++ % STALL_ASKS];
	r = stall_ask_release(s, t, *ret);
	(*ret)->key = key;
	(*ret)->run = 0;
	return r;
}

/* True if the wait lies between this request and the previous one; it is then no longer a wait of its own. */
static bool stall_take_pause(struct stall_task *t, const struct stall_ask *a, enum stall_act act)
{
	struct stall_wait *w = &t->wait;

	if (w->act == ACT_NONE || w->sample.start < a->last || w->hard != t->hard)
		return false;
	if (w->sent != FEATURE_NONE || (w->act == ACT_MULTI && !w->sample.timed_out))
		return false;
	/* shells check for more children than the one that they waited for */
	if (w->act == ACT_CHILD && act == ACT_CHILD)
		return false;
	assert(w->act != ACT_MULTI || act != ACT_MULTI);
	w->act = ACT_NONE;
	return true;
}

/* Holds the pause until the second one shows that it is one; the run then has a row. */
static int64_t stall_ask_hold(const struct stall *s, const struct stall_task *t,
			      struct stall_ask *a)
{
	if (!a->has_row && !a->held_op) {
		a->held = t->wait.sample;
		a->held_op = t->wait.op;
		a->held_work = stall_has_request(s, t);
	}
	return t->wait.sample.time;
}

/* The first request, or one with another result than before. */
static int stall_ask_begin(struct stall *s, struct stall_task *t, struct stall_ask *a,
			   const struct stall_sample *m, int64_t answer, bool news)
{
	/* a changed result is progress, too */
	t->hard += news || (a->run > 0 && a->answer != answer);
	a->answer = answer;
	a->start = m->start;
	a->time = a->longest = m->time;
	a->paused = 0;
	a->run = 1;
	a->has_row = false;
	return stall_ask_release(s, t, a);
}

static uint32_t stall_run_min(const struct stall_ask *a, enum stall_what what)
{
	if (a->paused > 0)
		return what == STALL_RETRY ? STALL_FAILED_MIN : STALL_PAUSED_MIN;
	return what == STALL_RETRY ? STALL_RETRIES_MIN : STALL_ASKED_MIN;
}

/* A repeated request. Once a run is long enough for a row, its earlier requests are added as well. */
static int stall_ask_again(struct stall *s, struct stall_ask *a, const struct stall_key *key,
			   struct stall_sample *m)
{
	m->longest = add_sat_signed(m->time, m->paused);
	if (a->has_row)
		return stall_rows_add(s->rows, key, m);
	a->run++;
	a->time = add_sat_signed(a->time, m->time);
	a->paused = add_sat_signed(a->paused, m->paused);
	a->longest = MAX(a->longest, m->longest);
	if (a->run < stall_run_min(a, (enum stall_what)key->what))
		return 0;
	a->has_row = true;
	a->held_op = 0;
	m->start = a->start;
	m->times = a->run;
	m->time = a->time;
	m->paused = a->paused;
	m->longest = a->longest;
	return stall_rows_add(s->rows, key, m);
}

static bool stall_is_virtual(struct stall *s, const struct feature_call *c)
{
	return c->file != FEATURE_NONE && stall_file(s, c->file, c->file_id)->virtual;
}

int stall_asked(struct stall *s, struct stall_task *t, const struct feature_call *c,
		enum stall_what what)
{
	struct stall_sample m = stall_sample(c);
	struct stall_key key = {
		.task = t->task, .op = c->op, .err = c->err, .what = (uint16_t)what};
	int64_t answer = stall_answer(s, c);
	enum stall_act act = (enum stall_act)s->acts[c->op];
	struct stall_ask *a;
	bool same;
	uint64_t question;
	int r = stall_question(s, c, &key, &m.peer_id, &question);

	if (r >= 0)
		r = stall_ask_find(s, t, question, &a);
	if (r < 0)
		return r;
	same = a->run > 0 && a->answer == answer && a->hard == t->hard &&
	       (what == STALL_RETRY || a->soft == t->soft) &&
	       !(what == STALL_POLL && stall_is_virtual(s, c)) &&
	       /* an event loop checks for more events before it waits again */
	       !(act == ACT_MULTI && t->wait.act == ACT_MULTI);
	if (!same) {
		r = stall_ask_begin(s, t, a, &m, answer, act == ACT_READ && stall_moved(c));
	} else {
		if (stall_take_pause(t, a, act))
			m.paused = stall_ask_hold(s, t, a);
		r = stall_ask_again(s, a, &key, &m);
	}
	a->last = c->stop;
	a->hard = t->hard;
	a->soft = t->soft;
	return r;
}
