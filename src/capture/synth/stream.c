/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: the actors, files and processes of a synthetic stream, and its source. */
#include "capture/synth/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SYNTH_BATCH_ROWS 16384 /* rows per source_read() */
#define SYNTH_HOST_KEY	 1

void stream_fail(struct stream *s, int error)
{
	if (!s->error && error < 0)
		s->error = error;
}

static void rng_seed(struct rng *r, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->s); i++) {
		r->s[i] = hash_u64(seed);
		seed += 0x9e3779b97f4a7c15ull;
	}
}

/* ---- dimension rows ---- */

static void stream_text(struct batch_row *row, unsigned int column, const char *text)
{
	if (text)
		row_set_str(row, column, text);
}

int64_t stream_file(struct stream *s, const struct synth_file *f)
{
	int64_t key = s->next_key++;
	struct batch_row row = batch_set_row(s->out, TABLE_FILE);

	row_set(&row, FILE_ID, key);
	row_set(&row, FILE_INODE, key);
	row_set(&row, FILE_TYPE, f->type);
	row_set(&row, FILE_SINCE, s->last_end);
	if (f->name_only) {
		row_set(&row, FILE_NAME_ONLY, 1);
	} else {
		row_set(&row, FILE_DEV, f->type == FILE_TYPE_SOCKET ? 8 : 0x10300001);
		row_set(&row, FILE_INO, (int64_t)(f->ino ? f->ino : s->next_ino++));
		row_set(&row, FILE_GENERATION, (int64_t)f->generation);
	}
	stream_text(&row, FILE_FS, f->fs);
	if (f->path && f->path_len)
		row_set_bytes(&row, FILE_PATH, f->path, f->path_len);
	else
		stream_text(&row, FILE_PATH, f->path);
	if (f->family) {
		row_set(&row, FILE_FAMILY, f->family);
		row_set(&row, FILE_PROTO, 1 << 16);
	}
	stream_text(&row, FILE_LOCAL, f->local);
	stream_text(&row, FILE_PEER, f->peer);
	stream_fail(s, row.r);
	return key;
}

int64_t stream_rename(struct stream *s, int64_t inode, const char *path)
{
	int64_t key = s->next_key++;
	struct batch_row row = batch_set_row(s->out, TABLE_FILE);

	row_set(&row, FILE_ID, key);
	row_set(&row, FILE_INODE, inode);
	row_set(&row, FILE_TYPE, FILE_TYPE_REGULAR);
	row_set(&row, FILE_SINCE, s->last_end);
	row_set_str(&row, FILE_FS, "ext4");
	row_set_str(&row, FILE_PATH, path);
	stream_fail(s, row.r);
	return key;
}

static void thread_row(struct stream *s, const struct actor *a, const char *comm)
{
	struct batch_row row = batch_set_row(s->out, TABLE_THREAD);

	row_set(&row, THREAD_ID, a->thread);
	row_set(&row, THREAD_TASK, a->thread);
	row_set(&row, THREAD_TID, a->tid);
	row_set(&row, THREAD_TID_NS, a->tid);
	row_set(&row, THREAD_PROCESS_ID, a->process);
	row_set_str(&row, THREAD_COMM, comm);
	row_set(&row, THREAD_UID, 1000);
	row_set(&row, THREAD_PID_NS, 4026531836);
	row_set(&row, THREAD_SINCE, s->origin);
	stream_fail(s, row.r);
}

static struct actor *stream_actor(struct stream *s, void (*step)(struct stream *s, struct actor *a))
{
	struct actor *a;

	assert(s->actor_count < SYNTH_ACTORS_MAX);
	a = calloc(1, sizeof(*a));
	if (!a) {
		stream_fail(s, -ENOMEM);
		return NULL;
	}
	rng_seed(&a->rng, hash_u64(s->opt.seed) + s->actor_count);
	a->step = step;
	a->thread = s->next_key++;
	a->tid = s->next_pid++;
	a->cpu = (int64_t)(s->actor_count % 2);
	/* Threads do not start at the same time. */
	a->now = s->origin + (int64_t)rng_below(&a->rng, 50000);
	s->actors[s->actor_count++] = a;
	return a;
}

/* Arguments are separated by NUL in a trace, by spaces in the profiles. */
static void argv_set(struct batch_row *row, const char *argv)
{
	char text[128];
	size_t len = strlen(argv);

	assert(len < sizeof(text));
	for (size_t i = 0; i < len; i++)
		text[i] = argv[i] == ' ' ? '\0' : argv[i];
	row_set_bytes(row, PROCESS_ARGV, text, len);
}

struct actor *stream_process(struct stream *s, const char *comm, const char *argv,
			     void (*step)(struct stream *s, struct actor *a))
{
	struct actor *a = stream_actor(s, step);
	struct batch_row row;

	if (!a)
		return NULL;
	a->process = s->next_key++;
	a->pid = a->tid;
	thread_row(s, a, comm);
	row = batch_set_row(s->out, TABLE_PROCESS);
	row_set(&row, PROCESS_ID, a->process);
	row_set(&row, PROCESS_PID, a->pid);
	row_set(&row, PROCESS_PID_NS, a->pid);
	row_set(&row, PROCESS_PPID, 1);
	argv_set(&row, argv);
	row_set(&row, PROCESS_STARTED, s->origin - NSEC_PER_SEC);
	row_set(&row, PROCESS_HOST_ID, SYNTH_HOST_KEY);
	stream_fail(s, row.r);
	return s->error ? NULL : a;
}

struct actor *stream_thread(struct stream *s, const struct actor *leader, const char *comm,
			    void (*step)(struct stream *s, struct actor *a))
{
	struct actor *a = stream_actor(s, step);

	if (!a)
		return NULL;
	a->process = leader->process;
	a->pid = leader->pid;
	thread_row(s, a, comm);
	return s->error ? NULL : a;
}

static void host_row(struct stream *s)
{
	struct batch_row row = batch_set_row(s->out, TABLE_HOST);

	row_set(&row, HOST_ID, SYNTH_HOST_KEY);
	row_set_str(&row, HOST_NAME, s->opt.host ?: "synth");
	row_set_str(&row, HOST_KERNEL, "synthetic");
	row_set_str(&row, HOST_MACHINE, "x86_64");
	row_set(&row, HOST_CPUS, 2);
	stream_fail(s, row.r);
}

/* ---- calls ---- */

void act_begin(struct actor *a, enum call call, enum op_class class, int64_t think_ns)
{
	a->set = 0;
	act_set(a, OP_START, a->now + think_ns);
	act_set(a, OP_THREAD_ID, a->thread);
	act_set(a, OP_TID, a->tid);
	act_set(a, OP_KIND, KIND_SYSCALL);
	act_set(a, OP_OP, call);
	act_set(a, OP_CLASS, class);
	act_set(a, OP_BYTES, 0);
}

void act_end(struct actor *a, int64_t dur_ns, int64_t ret)
{
	/* Threads occasionally move to another CPU. */
	if (rng_below(&a->rng, 4096) == 0)
		a->cpu ^= 1;
	act_set(a, OP_CPU, a->cpu);
	act_set(a, OP_DUR, dur_ns);
	act_set(a, OP_RET, ret);
	if (ret < 0 && ret >= -4095)
		act_set(a, OP_ERR, -ret);
	a->end = a->v[OP_START] + dur_ns;
	a->now = a->end;
}

static struct actor *stream_next(const struct stream *s)
{
	struct actor *first = s->actors[0];

	for (size_t i = 1; i < s->actor_count; i++) {
		if (s->actors[i]->end < first->end)
			first = s->actors[i];
	}
	return first;
}

/* ---- the source ---- */

static int synth_start(struct source *source, struct error *err)
{
	struct stream *s = (struct stream *)source;

	assert(!s->started);
	s->started = true;
	return 0;
}

static void stream_populate(struct stream *s)
{
	static void (*const parts[])(struct stream *s) = {
		[SYNTH_REDIS] = profile_redis,	   [SYNTH_ROCKSDB] = profile_rocksdb,
		[SYNTH_FIO] = profile_fio,	   [SYNTH_NETWORK] = profile_network,
		[SYNTH_HOSTILE] = profile_hostile,
	};

	host_row(s);
	if (s->opt.profile == SYNTH_MIXED) {
		for (int p = SYNTH_REDIS; p <= SYNTH_NETWORK && !s->error; p++)
			parts[p](s);
		if (!s->error)
			profile_walk(s);
	} else {
		parts[s->opt.profile](s);
	}
	for (size_t i = 0; i < s->actor_count && !s->error; i++)
		s->actors[i]->step(s, s->actors[i]);
}

/* The columns of a batch being filled in place. */
struct filler {
	int64_t *val[OP_COLUMNS];
	uint64_t *nulls[OP_COLUMNS];
};

static int filler_open(struct filler *f, struct batch *b, size_t rows)
{
	batch_resize(b, rows);
	for (unsigned int c = 0; c < OP_COLUMNS; c++) {
		int r = batch_make_column(b, c, true);

		if (r < 0)
			return r;
		f->val[c] = b->columns[c].val;
		f->nulls[c] = b->columns[c].nulls;
	}
	return 0;
}

static void filler_put(struct filler *f, size_t row, const struct actor *a)
{
	for (uint64_t left = a->set; left; left &= left - 1) {
		unsigned int c = (unsigned int)__builtin_ctzll(left);

		f->val[c][row] = a->v[c];
		f->nulls[c][row / 64] &= ~(1ull << (row % 64));
	}
}

/* Columns without a value become absent, those without a null lose their bitmap. */
static void filler_close(struct batch *b)
{
	for (unsigned int c = 0; c < OP_COLUMNS; c++) {
		struct column *col = &b->columns[c];
		size_t nulls = 0;

		for (size_t i = 0; i < b->rows; i += 64) {
			uint64_t word = col->nulls[i / 64];

			if (b->rows - i < 64)
				word &= (1ull << (b->rows - i)) - 1;
			nulls += (size_t)__builtin_popcountll(word);
		}
		if (nulls == b->rows) {
			free(col->val);
			free(col->nulls);
			*col = (struct column){0};
		} else if (nulls == 0) {
			free(col->nulls);
			col->nulls = NULL;
		}
	}
}

/* The calls running when the stream ends: that of each actor that has begun by then. */
static size_t stream_running(struct stream *s, struct filler *f, size_t row, size_t rows)
{
	for (size_t i = 0; i < s->actor_count && row < rows; i++) {
		struct actor *a = s->actors[i];
		int64_t so_far = s->last_end - a->v[OP_START];

		if (so_far < 0) {
			act_set(a, OP_START, s->last_end);
			so_far = 0;
		}
		act_set(a, OP_DUR, so_far);
		act_set(a, OP_BYTES, 0);
		act_set(a, OP_STATUS, STATUS_UNFINISHED);
		a->set &= ~(1ull << OP_RET | 1ull << OP_ERR | 1ull << OP_CPU);
		filler_put(f, row++, a);
	}
	return row;
}

static int stream_fill(struct stream *s, struct batch *b, size_t rows)
{
	uint64_t left = s->opt.rows - s->given;
	/* The last rows are calls without an end. */
	uint64_t finished = left > s->actor_count ? left - s->actor_count : 0;
	struct filler f;
	size_t row = 0;
	int r = filler_open(&f, b, rows);

	if (r < 0)
		return r;
	for (; row < rows && row < finished && !s->error; row++) {
		struct actor *a = stream_next(s);

		filler_put(&f, row, a);
		s->last_end = MAX(s->last_end, a->end);
		a->step(s, a);
	}
	if (row < rows && !s->error)
		row = stream_running(s, &f, row, rows);
	if (s->error)
		return s->error;
	assert(row == rows);
	filler_close(b);
	s->given += rows;
	return 0;
}

static void stream_mark(struct stream *s)
{
	char text[96];
	struct batch_row row = batch_set_row(s->out, TABLE_MARK);

	snprintf(text, sizeof(text), "profile %s, seed %llu, %llu rows",
		 synth_profile_name(s->opt.profile), (unsigned long long)s->opt.seed,
		 (unsigned long long)s->opt.rows);
	row_set(&row, MARK_AT, s->origin);
	row_set_str(&row, MARK_NAME, "weir.synth");
	row_set_str(&row, MARK_TEXT, text);
}

/* Rows returned at once: the unfinished calls must stay together. */
static size_t stream_batch_rows(const struct stream *s)
{
	uint64_t left = s->opt.rows - s->given;

	return left <= SYNTH_BATCH_ROWS + SYNTH_ACTORS_MAX ? (size_t)left : SYNTH_BATCH_ROWS;
}

static int synth_read(struct source *source, struct batch_set *out, int timeout_ms,
		      struct error *err)
{
	struct stream *s = (struct stream *)source;
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct batch *op;
	size_t rows = stream_batch_rows(s), first = 0;
	int r;

	assert(s->started);
	s->out = out;
	if (!s->marked) {
		s->marked = true;
		stream_mark(s);
		stream_populate(s);
	}
	if (!rows)
		return s->error ? error_errno(err, s->error, "synthetic stream") : SOURCE_END;
	r = batch_set_table(out, TABLE_OP, &op);
	if (r >= 0 && op->rows == 0) {
		batch_clear(op);
		r = stream_fill(s, op, rows);
	} else if (r >= 0) {
		first = op->rows;
		r = batch_new(&b, TABLE_OP);
		if (r >= 0)
			r = stream_fill(s, b, rows);
		if (r >= 0)
			r = batch_append(op, b, 0, rows);
	}
	s->out = NULL;
	if (r >= 0)
		r = synth_events(out, op, first);
	if (r < 0)
		return error_errno(err, r, "synthetic stream");
	return SOURCE_ROWS;
}

static int synth_stop(struct source *source, struct error *err)
{
	struct stream *s = (struct stream *)source;

	/* Only the running calls remain to be returned. */
	s->opt.rows = MIN(s->opt.rows, s->given + s->actor_count);
	return 0;
}

static void synth_stats(const struct source *source, struct source_stats *ret)
{
	const struct stream *s = (const struct stream *)source;

	*ret = (struct source_stats){.ops = s->given, .sequence_proved = true};
}

static void synth_free(struct source *source)
{
	struct stream *s = (struct stream *)source;

	for (size_t i = 0; i < s->actor_count; i++)
		free(s->actors[i]);
	free(s);
}

static const struct source_ops synth_ops = {
	.name = "synth",
	.start = synth_start,
	.read = synth_read,
	.stop = synth_stop,
	.stats = synth_stats,
	.free = synth_free,
};

static const char *const profile_names[] = {
#define SYNTH_NAME(N, n, doc) #n,
	SYNTH_PROFILES(SYNTH_NAME)
#undef SYNTH_NAME
};

const char *synth_profile_name(size_t i)
{
	return i < ARRAY_SIZE(profile_names) ? profile_names[i] : NULL;
}

int synth_profile_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(profile_names); i++) {
		if (!strcmp(profile_names[i], name))
			return (int)i;
	}
	return -1;
}

int synth_source_new(struct source **ret, const struct synth_options *opt, struct error *err)
{
	struct stream *s;

	if (opt->profile >= SYNTH_PROFILE_COUNT)
		return error_set(err, -EINVAL, "no synthetic profile %u", opt->profile);
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_errno(err, -ENOMEM, "synthetic stream");
	s->source.ops = &synth_ops;
	s->opt = *opt;
	s->origin = opt->origin_ns ? opt->origin_ns : SYNTH_ORIGIN_NS;
	s->last_end = s->origin;
	s->next_key = 100;
	s->next_ino = 262144;
	s->next_pid = 30617;
	rng_seed(&s->rng, opt->seed ^ 0x77656972);
	*ret = &s->source;
	return 0;
}
