// SPDX-License-Identifier: Apache-2.0
/*
 * habit.c: repeated sequences of calls of a thread, found without rules: the table `habit`.
 *
 * Calls become steps: an operation, called once or several times in a row, on any files. Calls that are irrelevant here
 * are left out: memory, signals, clocks, ids, futexes (whether a futex needs a call depends on timing), and calls in
 * progress when recording began or ended. Steps are examined in two ways:
 *
 *   file     The calls of a thread on one file from an open to its close, with what follows it until the next open (unlink,
 *            stat), whatever the thread did in between. This is scope `file`. Calls before the first open of a new file (stat)
 *            belong to it.
 *   thread   All calls of a thread in order, if at least two files, or a file and a wait, alternate, or if no file is opened:
 *            `stat` and `sleep`, `read` of one file and `write` of another. This is scope `thread`. A cycle that consists of an
 *            open, a close and other calls on one file is already covered by scope `file`.
 *
 * Cycles of threads are maximal repetitions (Main and Lorentz, "An O(n log n) algorithm for finding all repetitions in
 * a string", 1984) with periods up to HABIT_PERIOD_MAX: for each period p, the number of consecutive steps that were
 * equal to the step p before. When it reaches p, the last 2p steps are one cycle twice. Within a cycle one comparison
 * per step suffices. Steps are equal if the operation is the same, and the file was last used the same number of steps
 * before: the encoding of Baker ("A theory of parameterized pattern matching", 1993). A loop over p.1, p.2, p.3
 * therefore repeats like one over a single file.
 *
 * A cycle begins at an open if it has one, otherwise at the step at which it was first seen to begin.
 */
#include <errno.h>
#include <string.h>

#include "analysis/features/fdlife/fd_acts.h"
#include "analysis/features/file_patterns.h"
#include "analysis/features/habit/habit_session.h"
#include "analysis/features/habit/habit_table.h"

#define HABIT_PERIOD_MIN 2 /* an operation repeated alone is a single step */
#define HABIT_PERIOD_MAX 12
#define HABIT_RING	 64 /* steps stored: three periods, plus room; power of two */
/* threads followed at the same time; the one idle for longest is replaced */
#define HABIT_STREAMS_MAX 2048
#define HABIT_NO_FILE	  UINT8_MAX
/* further ones are not counted: the ring has lost the first */
#define HABIT_OTHERS_MAX (HABIT_RING + 1)

/* Four periods are compared at a time. */
typedef uint32_t habit_lanes __attribute__((vector_size(16)));
#define HABIT_LANES   (sizeof(habit_lanes) / sizeof(uint32_t))
#define HABIT_VECTORS (HABIT_PERIOD_MAX / HABIT_LANES)

static_assert(HABIT_PERIOD_MAX % HABIT_LANES == 0, "vectors have no lane to spare");
static_assert(HABIT_RING > 4 * HABIT_PERIOD_MAX, "runs that begin a cycle lie before two others");
static_assert(HABIT_PERIOD_MAX <= HABIT_STEPS_MAX, "a cycle is a sequence");

struct habit_step {
	uint32_t file; /* the last one, if it is on several */
	uint16_t op;
	uint8_t back;	    /* steps since the file was used; 0: too many, HABIT_NO_FILE: no file */
	bool opens, closes; /* it creates, closes a descriptor */
	/* number of files that it was on before `file`; they are in the stream, from `first_other` on */
	uint16_t others;
	uint64_t first_other;
	uint32_t calls, errors;
	int64_t start, stop;
	uint64_t bytes, time, wait;
};

/* State of one thread. */
struct habit_stream {
	uint32_t task, process;
	int64_t thread_id;
	bool used;	  /* since the clock hand passed */
	uint64_t count;	  /* number of steps; the last one may still be extended */
	uint64_t claimed; /* steps before this one are counted */
	uint64_t begin;	  /* the step at which the next run of the cycle begins */
	uint32_t period;  /* 0: not in a cycle */
	bool silent;	  /* the cycle is not counted: its calls are on one file */
	struct habit_cycle cycle;
	/* by period, longest first: consecutive steps equal to the step that many before */
	habit_lanes same[HABIT_VECTORS];
	/* encoded op and back of a step, for comparison; stored twice, so that the last ones are always contiguous */
	uint32_t words[2 * HABIT_RING];
	uint32_t files[2 * HABIT_RING]; /* its file, likewise */
	uint32_t others[HABIT_RING];	/* for steps on several files: all but the last */
	uint64_t other_count;
	struct habit_step steps[HABIT_RING];
	struct habit_sessions sessions;
};

struct habit {
	const struct feature_world *world;
	struct fd_acts acts;
	uint8_t skipped[OP_CODE_MAX]; /* bool */
	struct file_patterns patterns;
	struct habit_table table;
	struct habit_parking parking;
	struct habit_stream **streams; /* [HABIT_STREAMS_MAX] */
	size_t stream_count, hand;
	uint32_t *stream_of; /* [task]: stream + 1; 0: none */
	size_t stream_of_cap;
};

static struct habit_step *habit_step(struct habit_stream *s, uint64_t i)
{
	return &s->steps[i % HABIT_RING];
}

/* ---- a cycle of a thread ---- */

/* The files of a run, in order of first use. */
struct habit_files {
	uint32_t at[HABIT_PERIOD_MAX + HABIT_RING];
	size_t count;
	bool cut; /* incomplete */
};

/* Adds the files that the i-th step of a run is the first to use. */
static void habit_step_files(const struct habit_stream *s, const struct habit_step *step,
			     uint32_t i, struct habit_files *f)
{
	uint32_t others = step->others;

	if (!others && step->back > 0 && step->back <= i)
		return;
	if (others && s->other_count - step->first_other > HABIT_RING) {
		f->cut = true;
		others = 0;
	}
	for (uint32_t k = 0; k < others; k++) {
		uint32_t file = s->others[(step->first_other + k) % HABIT_RING];

		if (file != FEATURE_NONE)
			f->at[f->count++] = file;
	}
	if (step->file != FEATURE_NONE)
		f->at[f->count++] = step->file;
}

/* Counts one run of the cycle, steps [begin, begin + period). 0 or -ENOMEM. */
static int habit_run(struct habit *h, struct habit_stream *s)
{
	struct habit_sums sums = {.start = habit_step(s, s->begin)->start};
	struct habit_files files;

	files.count = 0;
	files.cut = false;
	for (uint32_t i = 0; i < s->period; i++) {
		const struct habit_step *step = habit_step(s, s->begin + i);

		sums.calls += step->calls;
		sums.errors += step->errors;
		sums.bytes += step->bytes;
		sums.time += step->time;
		sums.wait += step->wait;
		sums.more |= (uint16_t)((step->calls > 1) << i);
		sums.stop = step->stop;
		habit_step_files(s, step, i, &files);
	}
	sums.files_cut = files.cut;
	s->begin += s->period;
	s->claimed = s->begin;
	if (s->silent)
		return 0;
	return habit_table_add(&h->table, &s->cycle, &sums, s->thread_id, files.at, files.count);
}

/* True if scope `file` already covers it: an open, a close and other calls, all on one file. */
static bool habit_is_of_file(struct habit_stream *s, uint64_t from, uint32_t period)
{
	uint32_t file = habit_step(s, from)->file;
	bool opens = false, closes = false;

	for (uint32_t i = 0; i < period; i++) {
		const struct habit_step *step = habit_step(s, from + i);

		if (step->file != file || file == FEATURE_NONE || step->others)
			return false;
		opens |= step->opens;
		closes |= step->closes;
	}
	return opens && closes;
}

/*
 * True if none of these steps uses a file last used before the cycle: the file of each step is determined by other
 * steps of the cycle.
 */
static bool habit_is_closed(struct habit_stream *s, uint64_t from, uint32_t period)
{
	for (uint32_t i = 0; i < period; i++) {
		uint8_t back = habit_step(s, from + i)->back;

		if (back != HABIT_NO_FILE && back > period)
			return false;
	}
	return true;
}

/* Describes the cycle of the steps from `from` on, rotated by `turn`. */
static void habit_describe(struct habit_stream *s, uint64_t from, uint32_t period, uint32_t turn)
{
	struct habit_cycle *c = &s->cycle;

	*c = (struct habit_cycle){.task = s->task, .process = s->process, .count = (uint8_t)period};
	for (uint32_t i = 0; i < period; i++) {
		c->ops[i] = habit_step(s, from + (turn + i) % period)->op;
	}
}

/* True if the cycle may begin there: at an open that follows another call, or anywhere if it opens nothing. */
static bool habit_may_begin(struct habit_stream *s, uint64_t from, uint32_t period, uint32_t turn,
			    bool opens)
{
	uint32_t before = (turn + period - 1) % period;

	return !opens ||
	       (habit_step(s, from + turn)->opens && !habit_step(s, from + before)->opens);
}

/*
 * The step at which the cycle begins, relative to `from`: the one at which it began before, so that each cycle has a
 * single row; otherwise the first possible one, from `first` on. Describes the cycle.
 */
static uint32_t habit_turn(struct habit *h, struct habit_stream *s, uint64_t from, uint32_t period,
			   uint32_t first)
{
	uint32_t chosen = FEATURE_NONE;
	bool opens = false;

	for (uint32_t i = 0; i < period; i++)
		opens |= habit_may_begin(s, from, period, i, true);
	for (uint32_t i = 0; i < period; i++) {
		uint32_t turn = (first + i) % period;

		if (!habit_may_begin(s, from, period, turn, opens))
			continue;
		habit_describe(s, from, period, turn);
		if (habit_table_has(&h->table, &s->cycle))
			return turn;
		chosen = MIN(chosen, i);
	}
	assert(chosen < period);
	chosen = (first + chosen) % period;
	habit_describe(s, from, period, chosen);
	return chosen;
}

/* True if an early step may belong to a run, even if its file was used elsewhere before. */
static bool habit_step_fits(const struct habit_step *early, const struct habit_step *late,
			    uint32_t period)
{
	return early->op == late->op && (early->file == late->file || early->back == late->back ||
					 (early->back == 0 && late->back > period));
}

/* Counts the runs that are complete with step `last`. 0 or -ENOMEM. */
static int habit_runs(struct habit *h, struct habit_stream *s, uint64_t last)
{
	int r = 0;

	while (s->begin + s->period <= last + 1 && r >= 0)
		r = habit_run(h, s);
	return r;
}

/* Called when the last 2 * period steps were one cycle twice. 0 or -ENOMEM. */
static int habit_enter(struct habit *h, struct habit_stream *s, uint64_t last, uint32_t period)
{
	uint64_t run = last + 1 - period, from = MAX(run - period, s->claimed), least;
	uint32_t turn;

	/* the first runs may have been earlier: the distances to their files did not match yet */
	least = MAX(s->claimed, last > HABIT_RING - 2 ? last - (HABIT_RING - 2) : 0);
	while (from > least &&
	       habit_step_fits(habit_step(s, from - 1), habit_step(s, from - 1 + period), period))
		from--;
	s->period = period;
	s->silent = habit_is_of_file(s, run, period);
	/* `from` is a number of periods before a step of the last run, which is at (from - run) modulo the period */
	turn = habit_turn(h, s, run, period, (uint32_t)((from + 4ull * period - run) % period));
	s->begin = run + turn;
	while (s->begin >= from + period)
		s->begin -= period;
	return habit_runs(h, s, last);
}

static void habit_remember(uint32_t *ring, uint64_t i, uint32_t value)
{
	ring[i % HABIT_RING] = ring[i % HABIT_RING + HABIT_RING] = value;
}

/* The HABIT_PERIOD_MAX values before the i-th, the nearest last. */
static const uint32_t *habit_before(const uint32_t *ring, uint64_t i)
{
	return ring + i % HABIT_RING + HABIT_RING - HABIT_PERIOD_MAX;
}

/* Updates the counters of all periods; true if one has just been completed twice. */
static bool habit_compare(struct habit_stream *s, uint64_t i, uint32_t word)
{
	const uint32_t *before = habit_before(s->words, i);
	habit_lanes found = {0}, all = {word, word, word, word};

	for (uint32_t v = 0; v < HABIT_VECTORS; v++) {
		uint32_t p = HABIT_PERIOD_MAX - v * (uint32_t)HABIT_LANES;
		habit_lanes had, periods = {p, p - 1, p - 2, p - 3};

		memcpy(&had, before + v * HABIT_LANES, sizeof(had));
		s->same[v] = (s->same[v] + 1) & (habit_lanes)(had == all);
		found |= (habit_lanes)(s->same[v] >= periods);
	}
	return found[0] | found[1] | found[2] | found[3];
}

static bool habit_repeats(const struct habit_stream *s, uint32_t period)
{
	uint32_t lane = HABIT_PERIOD_MAX - period;

	return s->same[lane / HABIT_LANES][lane % HABIT_LANES] >= period;
}

/* The shortest period of the operations alone that divides `period`. */
static uint32_t habit_root(struct habit_stream *s, uint64_t from, uint32_t period)
{
	for (uint32_t q = 1; q < period; q++) {
		uint32_t i = q;

		if (period % q)
			continue;
		while (i < period && habit_step(s, from + i)->op == habit_step(s, from + i - q)->op)
			i++;
		if (i == period)
			return q;
	}
	return period;
}

/* The shortest period of which the last steps are two runs; 0: none. */
static uint32_t habit_period(struct habit_stream *s, uint64_t i)
{
	for (uint32_t p = HABIT_PERIOD_MIN; p <= HABIT_PERIOD_MAX; p++) {
		uint32_t root;

		if (!habit_repeats(s, p) || !habit_is_closed(s, i + 1 - p, p))
			continue;
		/* files that recur after several runs do not make these different */
		root = habit_root(s, i + 1 - p, p);
		return root >= HABIT_PERIOD_MIN && habit_repeats(s, root) ? root : p;
	}
	return 0;
}

/* The step is complete. 0 or -ENOMEM. */
static int habit_step_done(struct habit *h, struct habit_stream *s, uint64_t i)
{
	uint32_t word = s->words[i % HABIT_RING], period;

	if (s->period) {
		if (s->words[(i - s->period) % HABIT_RING] == word)
			return habit_runs(h, s, i);
		s->period = 0;
		memset(s->same, 0, sizeof(s->same));
	}
	if (!habit_compare(s, i, word))
		return 0;
	period = habit_period(s, i);
	return period ? habit_enter(h, s, i, period) : 0;
}

/* ---- a call of a thread ---- */

/* Number of steps since the file was used. */
static uint8_t habit_back(const struct habit_stream *s, uint32_t file)
{
	const uint32_t *before;

	if (file == FEATURE_NONE)
		return HABIT_NO_FILE;
	before = habit_before(s->files, s->count);
	for (uint32_t d = 1; d <= HABIT_PERIOD_MAX; d++) {
		if (before[HABIT_PERIOD_MAX - d] == file)
			return (uint8_t)d;
	}
	return 0;
}

static void habit_step_add(struct habit_stream *s, struct habit_step *step,
			   const struct habit_call *c)
{
	if (unlikely(step->file != c->file)) {
		if (!step->others)
			step->first_other = s->other_count;
		step->others = (uint16_t)MIN(step->others + 1, HABIT_OTHERS_MAX);
		s->others[s->other_count++ % HABIT_RING] = step->file;
		step->file = c->file;
	}
	habit_remember(s->files, s->count - 1, c->file);
	step->calls++;
	step->errors += c->failed;
	step->opens |= c->opens;
	step->closes |= c->closes;
	step->stop = c->stop;
	step->bytes += c->bytes;
	step->time += c->time;
	if (c->waits)
		step->wait += c->time;
}

/* 0 or -ENOMEM. */
static int habit_stream_call(struct habit *h, struct habit_stream *s, const struct habit_call *c)
{
	struct habit_step *last = s->count ? habit_step(s, s->count - 1) : NULL;
	int r = 0;

	if (!last || last->op != c->op) {
		uint8_t back = habit_back(s, c->file);

		if (last)
			r = habit_step_done(h, s, s->count - 1);
		habit_remember(s->words, s->count, (uint32_t)back << 16 | c->op);
		last = habit_step(s, s->count++);
		*last = (struct habit_step){
			.file = c->file, .op = c->op, .back = back, .start = c->start};
	}
	habit_step_add(s, last, c);
	return r;
}

/* ---- the threads ---- */

static struct habit_owner habit_owner(struct habit *h, const struct habit_stream *s)
{
	return (struct habit_owner){&h->table, &h->parking, s->task, s->process, s->thread_id};
}

/* Ends the stream of its thread, so that another can use it. 0 or -ENOMEM. */
static int habit_stream_leave(struct habit *h, struct habit_stream *s)
{
	struct habit_owner owner = habit_owner(h, s);
	int r = 0;

	if (s->task == FEATURE_NONE)
		return 0;
	if (s->count)
		r = habit_step_done(h, s, s->count - 1);
	if (r >= 0)
		r = habit_sessions_leave(&s->sessions, &owner);
	h->stream_of[s->task] = 0;
	s->task = FEATURE_NONE;
	return r;
}

/* Finds room for another thread. 0 or -ENOMEM. */
static int habit_stream_place(struct habit *h, size_t *ret)
{
	if (h->stream_count < HABIT_STREAMS_MAX) {
		struct habit_stream *s = malloc(sizeof(*s));

		if (!s)
			return -ENOMEM;
		s->task = FEATURE_NONE;
		h->streams[h->stream_count] = s;
		*ret = h->stream_count++;
		return 0;
	}
	while (h->streams[h->hand]->used && h->streams[h->hand]->task != FEATURE_NONE) {
		h->streams[h->hand]->used = false;
		h->hand = (h->hand + 1) % HABIT_STREAMS_MAX;
	}
	*ret = h->hand;
	h->hand = (h->hand + 1) % HABIT_STREAMS_MAX;
	return habit_stream_leave(h, h->streams[*ret]);
}

/* The stream of a task. 0 or -ENOMEM. */
static int habit_stream_of(struct habit *h, uint32_t task, uint32_t process,
			   struct habit_stream **ret)
{
	size_t place;
	struct habit_stream *s;
	int r;

	if (task < h->stream_of_cap && h->stream_of[task]) {
		*ret = h->streams[h->stream_of[task] - 1];
		return 0;
	}
	r = feature_grow((void **)&h->stream_of, &h->stream_of_cap, (size_t)task + 1,
			 sizeof(*h->stream_of));
	if (r >= 0)
		r = habit_stream_place(h, &place);
	if (r < 0)
		return r;
	s = *ret = h->streams[place];
	s->task = task;
	s->process = process;
	s->count = s->claimed = s->other_count = 0;
	s->period = 0;
	memset(s->words, 0xff, sizeof(s->words)); /* no steps, no files */
	memset(s->files, 0xff, sizeof(s->files));
	memset(s->same, 0, sizeof(s->same));
	habit_sessions_init(&s->sessions);
	h->stream_of[task] = (uint32_t)place + 1;
	return 0;
}

/* ---- the feature ---- */

/* False for a call that is irrelevant to habits. */
static bool habit_take(const struct habit *h, const struct feature_call *call,
		       struct habit_call *ret)
{
	uint16_t op = call->op;
	uint8_t act = h->acts.of[op % OP_CODE_MAX];

	if (call->task == FEATURE_NONE || op >= OP_CODE_NOT_A_CALL || h->skipped[op] ||
	    (call->status & (STATUS_UNFINISHED | STATUS_NO_START)) || call->start == FEATURE_NULL)
		return false;
	if (call->class == CLASS_OTHER && call->file == FEATURE_NONE)
		return false;
	*ret = (struct habit_call){
		.file = act == FD_ACCEPT && call->file2 != FEATURE_NONE ? call->file2 : call->file,
		.op = op,
		.failed = call->err != 0,
		.opens = (act == FD_OPEN || act == FD_ACCEPT || act == FD_PAIR || act == FD_DUP) &&
			 !call->err,
		.closes = act == FD_CLOSE,
		.connects = act == FD_CONNECT,
		.by_path = fd_act_by_path(act),
		.waits = call->class == CLASS_WAIT,
		.start = call->start,
		.stop = call->stop,
		.bytes = (uint64_t)call->bytes,
		.time = (uint64_t)call->dur,
	};
	return true;
}

static int habit_call(struct habit *h, const struct feature_call *call)
{
	uint32_t file2 = call->file2;
	struct habit_owner owner;
	struct habit_stream *s;
	struct habit_call c;
	int r;

	if (!habit_take(h, call, &c))
		return 0;
	r = habit_stream_of(h, call->task, call->process, &s);
	if (r < 0)
		return r;
	s->used = true;
	s->thread_id = call->thread_id;
	if (h->acts.of[c.op] == FD_EXIT || h->acts.of[c.op] == FD_EXIT_GROUP)
		return habit_stream_leave(h, s);
	if (h->acts.of[c.op] == FD_ACCEPT && c.file == file2 && file2 != FEATURE_NONE) {
		r = file_patterns_accepted(&h->patterns, file2);
		if (r < 0)
			return r;
	}
	if (c.connects && c.file != FEATURE_NONE && call->rest->peer_id >= 0) {
		r = file_patterns_connected(&h->patterns, c.file, call->rest->peer_id);
		if (r < 0)
			return r;
	}
	r = habit_stream_call(h, s, &c);
	owner = habit_owner(h, s);
	if (r >= 0 && c.file != FEATURE_NONE)
		r = habit_sessions_call(&s->sessions, &owner, &c);
	if (r >= 0 && file2 != FEATURE_NONE && op_copy(c.op) != OP_COPY_NONE && file2 != c.file) {
		c.file = file2;
		r = habit_sessions_call(&s->sessions, &owner, &c);
	}
	return r;
}

static int habit_calls(void *self, const struct feature_call *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = habit_call(self, &calls[i]);
	return r;
}

static void habit_free(void *self)
{
	struct habit *h = self;

	for (size_t i = 0; i < h->stream_count; i++)
		free(h->streams[i]);
	free(h->streams);
	free(h->stream_of);
	habit_parking_free(&h->parking);
	habit_table_free(&h->table);
	file_patterns_free(&h->patterns);
	free(h);
}

DEFINE_CLEANUP(void *, habit_free)

static int habit_begin(void **ret, const struct feature_world *w)
{
	static const struct feature_ops skipped[] = {
		{true, "futex futex_wait futex_waitv sched_yield restart_syscall"},
	};
	_cleanup_(habit_freep) void *self = calloc(1, sizeof(struct habit));
	struct habit *h = self;
	int r;

	if (!h)
		return -ENOMEM;
	h->world = w;
	fd_acts_init(&h->acts);
	feature_acts(skipped, ARRAY_SIZE(skipped), h->skipped);
	r = file_patterns_init(&h->patterns, w);
	if (r >= 0)
		r = habit_table_init(&h->table, &h->patterns);
	if (r < 0)
		return r;
	h->streams = calloc(HABIT_STREAMS_MAX, sizeof(*h->streams));
	if (!h->streams)
		return -ENOMEM;
	*ret = TAKE_PTR(self);
	return 0;
}

static int habit_end(void *self, enum table_id table, struct feature_rows *out)
{
	struct habit *h = self;
	int r = 0;

	assert(table == TABLE_HABIT);
	for (size_t i = 0; i < h->stream_count && r >= 0; i++)
		r = habit_stream_leave(h, h->streams[i]);
	file_patterns_forget(&h->patterns);
	return r < 0 ? r : habit_table_put(&h->table, h->world, out);
}

const struct feature feature_habit = {
	.name = "habit",
	.tables = {TABLE_HABIT, TABLE_COUNT},
	.more = TABLE_COUNT,
	.begin = habit_begin,
	.calls = habit_calls,
	.end = habit_end,
	.free = habit_free,
};
