// SPDX-License-Identifier: Apache-2.0
/* stall_waits.c: decides which waits block work. The evidence is listed in stall.h. */
#include <errno.h>

#include "analysis/features/stall/stall.h"

#define FUTEX_CMD 0x7f /* the other bits are flags */
enum futex_cmd { WAIT = 0, LOCK_PI = 6, WAIT_BITSET = 9, WAIT_REQUEUE_PI = 11, LOCK_PI2 = 13 };
#define FUTEX_HAS_WAITERS 2 /* value of a lock with waiters */

struct stall_verdict {
	bool work;
	uint32_t file; /* what it was for; FEATURE_NONE: unknown, or several */
	int64_t file_id, peer_id;
	enum stall_kind kind;
	uint32_t object;
};

/* ---- one descriptor ---- */

static bool stall_awaits_answer(const struct stall_file *f, const struct stall_wait *w)
{
	if (f->connecting || f->unanswered || (f->connected && !f->received))
		return true;
	return f->received && !w->sample.timed_out && w->sample.time <= STALL_PART_NS;
}

/* It is work, attributed to the peer of the socket if it has one. */
static int stall_work_on(struct stall *s, const struct stall_task *t, uint32_t file,
			 int64_t file_id, struct stall_verdict *v)
{
	int r;

	*v = (struct stall_verdict){.work = true, .file = file, .file_id = file_id, .peer_id = -1};
	r = stall_peer(s, file_id, t->given_to == file ? t->given : -1, &v->object, &v->peer_id);
	if (r < 0)
		return r;
	v->kind = v->peer_id >= 0 ? STALL_PEER : STALL_FILE;
	if (v->peer_id < 0)
		v->object = file;
	return 0;
}

static int stall_judge_input(struct stall *s, const struct stall_task *t,
			     const struct stall_wait *w, uint32_t file, int64_t file_id,
			     struct stall_verdict *v)
{
	struct stall_file *f = stall_file(s, file, file_id);
	bool work = false;

	if (f->type == FILE_TYPE_SOCKET + 1)
		work = stall_role(s, f, file_id) == ROLE_CLIENT && stall_awaits_answer(f, w);
	else if (f->type == FILE_TYPE_PIPE + 1)
		work = (t->pipe_role == ROLE_CLIENT && t->pipe_sent &&
			f->writer != w->sample.process + 1) ||
		       stall_has_request(s, t);
	return work ? stall_work_on(s, t, file, file_id, v) : 0;
}

/* Judges a socket that accepts no more bytes. */
static int stall_judge_output(struct stall *s, const struct stall_task *t,
			      const struct stall_wait *w, struct stall_verdict *v)
{
	struct stall_file *f = stall_file(s, w->file, w->sample.file_id);
	int64_t id = w->sample.file_id;

	if (f->type != FILE_TYPE_SOCKET + 1)
		return 0;
	if (stall_role(s, f, id) != ROLE_SERVER)
		return stall_work_on(s, t, w->file, id, v);
	v->work = true; /* there are many short-lived clients: one row for all */
	v->file = w->file;
	v->file_id = id;
	return 0;
}

/* ---- several descriptors ---- */

void stall_take_ready(struct stall *s, const struct batch *b, const uint32_t *files, size_t from,
		      size_t to)
{
	for (size_t i = from; i < to; i++)
		s->ready[s->ready_count++ % STALL_READY] =
			(struct stall_ready){.thread_id = batch_get(b, POLL_THREAD_ID, i, -1),
					     .start = batch_get(b, POLL_START, i, FEATURE_NULL),
					     .file_id = batch_get(b, POLL_FILE_ID, i, -1),
					     .file = files[i]};
}

/* No response can be expected from a file that no call has used so far. */
static bool stall_is_awaited(const struct stall *s, uint32_t file)
{
	uint8_t type = file < s->file_count ? s->files[file].type : 0;

	return type && type != FILE_TYPE_REGULAR + 1 && type != FILE_TYPE_DIRECTORY + 1;
}

/* Collects the rows of `poll` for the call. */
static void stall_find_ready(const struct stall *s, const struct feature_call *c,
			     struct stall_wait *w)
{
	for (size_t k = 0; k < STALL_READY && w->ready_count < STALL_READY_MAX; k++) {
		const struct stall_ready *at = &s->ready[k];

		if (at->start == 0 || at->thread_id != c->thread_id || at->start != c->start)
			continue;
		w->recorded = true;
		if (!stall_is_awaited(s, at->file))
			continue;
		w->ready[w->ready_count] = at->file;
		w->ready_ids[w->ready_count++] = at->file_id;
	}
}

static int stall_judge_ready(struct stall *s, const struct stall_task *t,
			     const struct stall_wait *w, struct stall_verdict *v)
{
	int r = 0;

	for (size_t i = 0; i < w->ready_count && r >= 0 && !v->work; i++)
		r = stall_judge_input(s, t, w, w->ready[i], w->ready_ids[i], v);
	return r;
}

static int stall_judge_multi(struct stall *s, const struct stall_task *t,
			     const struct stall_wait *w, uint32_t file, int64_t file_id,
			     struct stall_verdict *v)
{
	if (w->file != FEATURE_NONE)
		return stall_judge_input(s, t, w, w->file, w->sample.file_id, v);
	if (w->recorded)
		return stall_judge_ready(s, t, w, v);
	if (!w->sample.timed_out)
		return file == FEATURE_NONE ? 0 : stall_judge_input(s, t, w, file, file_id, v);
	if (w->sent == FEATURE_NONE || !(w->one || w->confirmed))
		return 0;
	return stall_judge_input(s, t, w, w->sent, w->sent_id, v);
}

/* ---- the verdict ---- */

static int stall_verdict(struct stall *s, const struct stall_task *t, const struct stall_wait *w,
			 uint32_t file, int64_t file_id, struct stall_verdict *v)
{
	bool has_file = w->file != FEATURE_NONE;

	switch ((enum stall_act)w->act) {
	case ACT_MULTI:
		return stall_judge_multi(s, t, w, file, file_id, v);
	case ACT_READ:
	case ACT_RECV:
		return has_file ? stall_judge_input(s, t, w, w->file, w->sample.file_id, v) : 0;
	case ACT_WRITE:
	case ACT_SEND:
		return has_file ? stall_judge_output(s, t, w, v) : 0;
	case ACT_CONNECT:
	case ACT_FLOCK:
	case ACT_FCNTL:
		v->work = true;
		return has_file ? stall_work_on(s, t, w->file, w->sample.file_id, v) : 0;
	case ACT_FUTEX:
		v->work = w->lock || stall_has_request(s, t);
		v->kind = w->lock ? STALL_FUTEX : STALL_NOTHING;
		v->object = w->futex;
		return 0;
	case ACT_SLEEP:
		if (has_file)
			return stall_work_on(s, t, w->file, w->sample.file_id, v);
		__attribute__((fallthrough));
	case ACT_CHILD:
	case ACT_WAIT:
		v->work = stall_has_request(s, t);
		return 0;
	default:
		return 0;
	}
}

/* The thread waits for its next job: another one handles what it received. */
static bool stall_ends_request(const struct stall_wait *w)
{
	return w->act == ACT_MULTI || w->act == ACT_ACCEPT || w->act == ACT_RECV ||
	       w->act == ACT_READ;
}

int stall_judge(struct stall *s, struct stall_task *t, uint32_t file, int64_t file_id)
{
	struct stall_wait *w = &t->wait;
	struct stall_verdict v = {
		.file = w->sample.file, .file_id = w->sample.file_id, .peer_id = -1};
	struct stall_key key;
	int r;

	if (w->act == ACT_NONE)
		return 0;
	r = stall_verdict(s, t, w, file, file_id, &v);
	if (r < 0)
		return r;
	if (!v.work && stall_ends_request(w))
		t->request = FEATURE_NONE;
	key = (struct stall_key){.task = t->task,
				 .object = v.object,
				 .op = w->op,
				 .what = v.work ? STALL_WORK : STALL_IDLE,
				 .kind = (uint16_t)v.kind};
	w->sample.file = v.file;
	w->sample.file_id = v.file_id;
	w->sample.peer_id = v.peer_id;
	w->act = ACT_NONE;
	return stall_rows_add(s->rows, &key, &w->sample);
}

/* ---- a wait ends ---- */

static int64_t stall_futex_cmd(const struct feature_call *c)
{
	return c->rest->a1 == FEATURE_NULL ? -1 : c->rest->a1 & FUTEX_CMD;
}

static bool stall_futex_is_lock(const struct feature_call *c)
{
	int64_t cmd = stall_futex_cmd(c);

	return cmd == LOCK_PI || cmd == LOCK_PI2 ||
	       (cmd == WAIT && (c->rest->a2 & UINT32_MAX) == FUTEX_HAS_WAITERS);
}

/* True if it writes to a peer, which may be slow; the time of a file is that of the device. */
static bool stall_writes_to_peer(struct stall *s, const struct feature_call *c)
{
	uint8_t type = c->file == FEATURE_NONE ? 0 : stall_file(s, c->file, c->file_id)->type;

	return type == FILE_TYPE_SOCKET + 1 || type == FILE_TYPE_PIPE + 1 ||
	       type == FILE_TYPE_CHAR + 1;
}

bool stall_is_wait(struct stall *s, const struct feature_call *c, enum stall_act act)
{
	const uint32_t asleep = STATUS_SLEPT | STATUS_UNFINISHED | STATUS_NO_START;
	int64_t cmd;

	if (!(c->status & asleep) && !(c->class == CLASS_WAIT && c->dur >= STALL_FLOOR_NS))
		return false;
	switch (act) {
	case ACT_FUTEX:
		cmd = stall_futex_cmd(c);
		return cmd == WAIT || cmd == WAIT_BITSET || cmd == LOCK_PI || cmd == LOCK_PI2 ||
		       cmd == WAIT_REQUEUE_PI;
	case ACT_READ:
		return c->class == CLASS_WAIT;
	case ACT_WRITE:
		return stall_writes_to_peer(s, c);
	case ACT_ASK:
	case ACT_OPEN:
	case ACT_CHANGE:
	case ACT_TOUCH:
	case ACT_CLOSE:
	case ACT_LISTEN:
	case ACT_NONE:
	case ACT_EXIT:
		return false;
	default:
		return true;
	}
}

static bool stall_timed_out(const struct feature_call *c, enum stall_act act)
{
	if (act == ACT_MULTI || act == ACT_SLEEP)
		return c->ret == 0;
	return c->err == ETIMEDOUT || c->err == EAGAIN;
}

/* Later calls may change the verdict, by showing what it was for, or that it is a pause between retries. */
static bool stall_stays_open(const struct stall_wait *w)
{
	return w->act == ACT_MULTI || (w->act == ACT_SLEEP && w->file == FEATURE_NONE) ||
	       w->act == ACT_CHILD || (w->act == ACT_FUTEX && w->sample.timed_out);
}

/* True if it was ended by an event. */
static bool stall_is_event(const struct stall_wait *w)
{
	if (w->act == ACT_CHILD || w->act == ACT_SLEEP || w->sample.timed_out || w->lock)
		return false;
	return w->act != ACT_FUTEX || w->sample.time >= STALL_JOB_NS;
}

static int stall_lock(struct stall *s, const struct feature_call *c, struct stall_wait *w)
{
	const uint64_t name[] = {c->process, (uint64_t)c->rest->a0};

	w->lock = !w->sample.timed_out && stall_futex_is_lock(c);
	return w->lock ? stall_object(s, name, sizeof(name), &w->futex) : 0;
}

/* An epoll is a descriptor, but not the object waited for. */
static uint32_t stall_awaited(struct stall *s, const struct feature_call *c, enum stall_act act)
{
	if (c->file == FEATURE_NONE)
		return FEATURE_NONE;
	if (act == ACT_MULTI && stall_file(s, c->file, c->file_id)->type == FILE_TYPE_ANON + 1)
		return FEATURE_NONE;
	return c->file;
}

static void stall_task_waited(struct stall_task *t, const struct stall_wait *w)
{
	t->last_op = w->op;
	t->calls = 0;
	t->sent = FEATURE_NONE;
	t->hard += stall_is_event(w);
}

static bool stall_uses_descriptor(enum stall_act act)
{
	return act == ACT_READ || act == ACT_WRITE || act == ACT_RECV || act == ACT_SEND ||
	       act == ACT_ACCEPT || act == ACT_TOUCH || act == ACT_CLOSE || act == ACT_CONNECT;
}

int stall_waited(struct stall *s, struct stall_task *t, const struct feature_call *c,
		 enum stall_act act)
{
	struct stall_wait *w = &t->wait;
	int r;

	/* a repetition of the same wait: a loop */
	if (w->act == ACT_MULTI && w->sample.timed_out && t->calls == 0 && t->last_op == c->op)
		w->sent = FEATURE_NONE;
	r = stall_judge(s, t, stall_uses_descriptor(act) ? c->file : FEATURE_NONE, c->file_id);
	if (r < 0)
		return r;
	*w = (struct stall_wait){.sample = stall_sample(c),
				 .file = stall_awaited(s, c, act),
				 .sent = t->sent,
				 .sent_id = t->sent_id,
				 .op = c->op,
				 .act = (uint8_t)act};
	if (act == ACT_SLEEP && t->denied != FEATURE_NONE) {
		w->file = t->denied;
		w->sample.file_id = t->denied_id;
	}
	w->sample.timed_out = stall_timed_out(c, act);
	w->one = act == ACT_MULTI && stall_is_poll(c->op) && c->rest->a1 == 1;
	if (act == ACT_FUTEX)
		r = stall_lock(s, c, w);
	if (act == ACT_MULTI && w->file == FEATURE_NONE)
		stall_find_ready(s, c, w);
	stall_task_waited(t, w);
	w->hard = t->hard;
	return r < 0 || stall_stays_open(w) ? r : stall_judge(s, t, FEATURE_NONE, -1);
}

/* ---- calls after a wait ---- */

int stall_followed(struct stall *s, struct stall_task *t, const struct feature_call *c,
		   enum stall_act act)
{
	struct stall_wait *w = &t->wait;
	uint32_t file = c->file;
	const struct stall_file *f;

	if (file == FEATURE_NONE || !stall_uses_descriptor(act))
		return t->calls > STALL_ADJACENT && w->act == ACT_MULTI
			       ? stall_judge(s, t, FEATURE_NONE, -1)
			       : 0;
	f = stall_file(s, file, c->file_id);
	if (w->act == ACT_MULTI && w->sample.timed_out) {
		w->confirmed = file == w->sent;
		return w->confirmed || t->calls > STALL_ADJACENT
			       ? stall_judge(s, t, file, c->file_id)
			       : 0;
	}
	if (w->act == ACT_MULTI)
		return stall_judge(s, t, file, c->file_id);
	/* a pause between retries ends with any call that is not a retry */
	if (f->type == FILE_TYPE_SOCKET + 1 && stall_moved(c))
		return stall_judge(s, t, FEATURE_NONE, -1);
	return 0;
}
