// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/habit/habit_session.h"

#include <errno.h>

#define HABIT_TOO_MANY (HABIT_STEPS_MAX + 1)

void habit_sessions_init(struct habit_sessions *s)
{
	s->recent = 0x0001020304050607; /* free slots are used before occupied ones */
	for (size_t i = 0; i < HABIT_SESSIONS; i++)
		s->files[i] = FEATURE_NONE;
}

void habit_parking_free(struct habit_parking *p)
{
	map_free(&p->of);
	free(p->places);
}

/* ---- parking ---- */

static uint64_t parking_key(const struct habit_owner *o, uint32_t file)
{
	return (uint64_t)o->task << 32 | file;
}

static int parking_put(const struct habit_owner *o, const struct habit_session *s)
{
	struct habit_parking *p = o->parking;
	uint64_t key = parking_key(o, s->file);
	struct habit_parked *place;
	int r;

	if (!p->places) {
		p->places = calloc(HABIT_PARKED_MAX, sizeof(*p->places));
		if (!p->places)
			return -ENOMEM;
	}
	place = &p->places[p->hand];
	if (place->taken) {
		map_del(&p->of, place->key);
		place->taken = false;
		o->table->cut = true;
	}
	r = map_set(&p->of, key, p->hand);
	if (r < 0)
		return r;
	*place = (struct habit_parked){.key = key, .taken = true, .session = *s};
	p->hand = (p->hand + 1) % HABIT_PARKED_MAX;
	return 0;
}

static bool parking_take(const struct habit_owner *o, uint32_t file, struct habit_session *ret)
{
	struct habit_parking *p = o->parking;
	uint64_t place;

	if (!p->of.count || !map_get(&p->of, parking_key(o, file), &place))
		return false;
	assert(p->places[place].taken && p->places[place].session.file == file);
	*ret = p->places[place].session;
	p->places[place].taken = false;
	map_del(&p->of, parking_key(o, file));
	return true;
}

/* ---- a session ---- */

/* Ends a session: counts it if it was seen completely. 0 or -ENOMEM. */
static int session_end(struct habit_session *s, const struct habit_owner *o)
{
	struct habit_cycle c = {
		.task = o->task, .process = o->process, .one_file = 1, .count = s->count};

	if (!s->whole || s->depth || s->count < 2 || s->count == HABIT_TOO_MANY)
		return 0;
	for (unsigned int i = 0; i < s->count; i++)
		c.ops[i] = s->ops[i];
	return habit_table_add(o->table, &c, &s->sums, o->thread_id, &s->file, 1);
}

/* The array of calls is not cleared: `count` is its valid length. */
static void session_clear(struct habit_session *s, uint32_t file)
{
	s->file = file;
	s->depth = 0;
	s->count = 0;
	s->whole = false;
	s->sums = (struct habit_sums){0};
}

static void session_take(struct habit_session *s, const struct habit_call *c)
{
	struct habit_sums *sums = &s->sums;

	if (s->count && s->count <= HABIT_STEPS_MAX && s->ops[s->count - 1] == c->op) {
		sums->more |= (uint16_t)(1u << (s->count - 1));
	} else if (s->count < HABIT_STEPS_MAX) {
		if (!s->count)
			sums->start = c->start;
		s->ops[s->count++] = c->op;
	} else {
		s->count = HABIT_TOO_MANY;
	}
	sums->stop = c->stop;
	sums->calls++;
	sums->errors += c->failed;
	sums->bytes += c->bytes;
	sums->time += c->time;
	if (c->waits)
		sums->wait += c->time;
}

/* 0 or -ENOMEM. */
static int session_call(struct habit_session *s, const struct habit_owner *o,
			const struct habit_call *c)
{
	bool opens = c->opens || (c->connects && !s->whole);
	int r = 0;

	if (opens && !s->depth) {
		r = session_end(s, o);
		if (s->whole || s->count > HABIT_PREFIX_MAX)
			session_clear(s, c->file);
		s->whole = true;
	}
	s->depth += opens;
	session_take(s, c);
	if (c->closes && s->depth)
		s->depth--;
	/* it belongs to the previous open */
	else if (c->closes && !s->whole)
		session_clear(s, c->file);
	return r;
}

/* ---- the sessions of a thread ---- */

static int sessions_empty(struct habit_sessions *s, const struct habit_owner *o, size_t place)
{
	struct habit_session *at = &s->at[place];

	if (s->files[place] == FEATURE_NONE)
		return 0;
	s->files[place] = FEATURE_NONE;
	return at->whole && at->depth ? parking_put(o, at) : session_end(at, o);
}

static uint32_t sessions_find(const struct habit_sessions *s, uint32_t file)
{
	for (uint32_t i = 0; i < HABIT_SESSIONS; i++) {
		if (s->files[i] == file)
			return i;
	}
	return HABIT_SESSIONS;
}

/* Makes the slot the most recently used one. */
static void sessions_touch(struct habit_sessions *s, uint32_t place)
{
	uint64_t at = 0, before;

	while ((uint8_t)(s->recent >> at) != place)
		at += 8;
	before = s->recent & ((1ull << at) - 1);
	s->recent = (s->recent & (~0xffull << at)) | before << 8 | place;
}

/* The slot for the file of a call; HABIT_SESSIONS: the call concerns a file opened before, or none here. 0 or -ENOMEM. */
static int sessions_place(struct habit_sessions *s, const struct habit_owner *o,
			  const struct habit_call *c, uint32_t *ret)
{
	uint32_t place = sessions_find(s, c->file);
	struct habit_session parked;
	bool found;
	int r;

	*ret = place;
	if (place < HABIT_SESSIONS)
		return 0;
	found = parking_take(o, c->file, &parked);
	if (!found && !c->opens && !c->connects && !c->by_path)
		return 0;
	*ret = place = s->recent >> 56; /* a free slot, or the least recently used one */
	r = sessions_empty(s, o, place);
	if (found)
		s->at[place] = parked;
	else
		session_clear(&s->at[place], c->file);
	s->files[place] = c->file;
	return r;
}

int habit_sessions_call(struct habit_sessions *s, const struct habit_owner *o,
			const struct habit_call *c)
{
	uint32_t place = (uint8_t)s->recent;
	struct habit_session *at;
	int r;

	assert(c->file != FEATURE_NONE);
	if (s->files[place] != c->file) {
		r = sessions_place(s, o, c, &place);
		if (r < 0 || place == HABIT_SESSIONS)
			return r;
		sessions_touch(s, place);
	}
	at = &s->at[place];
	/* in a session that is too long only the end matters */
	if (at->count == HABIT_TOO_MANY && !c->opens && !c->closes)
		return 0;
	return session_call(at, o, c);
}

int habit_sessions_leave(struct habit_sessions *s, const struct habit_owner *o)
{
	int r = 0;

	for (size_t i = 0; i < HABIT_SESSIONS && r >= 0; i++)
		r = sessions_empty(s, o, i);
	return r;
}
