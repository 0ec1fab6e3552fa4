/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/shell.h"
#include "enrich/secret.h"
#include "privilege/privilege.h"
#include "record/filesystems.h"
#include "record/internal.h"
#include "record/tracers.h"
#include "schema/vocab.h"

/* Timeout of one read: bounds the delay of every stop condition. */
#define READ_MS ((int)(RECORD_TICK_MIN_NS / NSEC_PER_MSEC))
#define DRAIN_NS \
	(10 *    \
	 NSEC_PER_SEC) /* a source that does not end by then is broken: reported, not waited for */

#define SIGNAL_WAIT_NS \
	(20 * NSEC_PER_MSEC) /* by then, a signal to the whole group has also reached the command */

#define LOOK_NS (1 * NSEC_PER_SEC) /* interval at which the trace's file is checked */

#define FILES_KEPT 4096 /* rows of files that accumulate before they are forgotten */

struct session {
	struct source *source;
	const struct record_options *opt;
	struct enrich *enrich, *own_enrich;
	struct record_child *child; /* NULL: none */
	struct batch_set in, rows;
	struct query_rows *where; /* NULL: none */
	struct query_cursor *cursor;
	bool forget_files; /* only the filter needs their names, and each only once */
	struct record_totals totals;
	int64_t begin, end, next_tick, next_look; /* monotonic; end is 0 while it runs */
	uint64_t came,
		handed; /* rows of op from the source after exec; those passed on or dropped */
	int64_t tick_ns;
	struct rotating rotating;
	struct filesystems filesystems; /* those written to */
	int64_t cpu_at_start;
	int signals_seen;
	int64_t signal_at; /* monotonic: arrival of a signal that is not handled yet; 0: none */
	int64_t let_go;	   /* when the child was released to exec, ns since the epoch */
	bool source_ended;
	bool before_exec; /* no call of the command itself has been seen yet */
};

static void session_free(struct session *s)
{
	filesystems_free(&s->filesystems);
	query_cursor_free(s->cursor);
	query_rows_free(s->where);
	enrich_free(s->own_enrich);
	batch_set_free(&s->in);
	batch_set_free(&s->rows);
}

/* ---- processing rows ---- */

static uint64_t call_hash(const struct batch *b, size_t row, unsigned int thread,
			  unsigned int start)
{
	const int64_t call[] = {batch_get(b, thread, row, -1), batch_get(b, start, row, INT64_MIN)};

	return hash_bytes(call, sizeof(call));
}

/* Drops the rows of a table that belong to calls in `all` but not in `kept`, by thread and start of the call. */
static int drop_of_calls(struct batch_set *set, enum table_id table, unsigned int thread,
			 unsigned int start, const struct batch *all, const struct batch *kept)
{
	_cleanup_(batch_freep) struct batch *rest = NULL;
	_cleanup_(map_free) struct map gone = {0};
	struct batch *chunk = set->tables[table];
	size_t from = 0;
	int r;

	if (!chunk || !chunk->rows || all->rows == kept->rows)
		return 0;
	r = batch_new(&rest, table);
	for (size_t i = 0; i < all->rows && r >= 0; i++)
		r = map_set(&gone, call_hash(all, i, OP_THREAD_ID, OP_START), 1);
	for (size_t i = 0; i < kept->rows; i++)
		map_del(&gone, call_hash(kept, i, OP_THREAD_ID, OP_START));
	for (size_t i = 0; i < chunk->rows && r >= 0; i++) {
		if (!map_get(&gone, call_hash(chunk, i, thread, start), NULL))
			continue;
		r = batch_append(rest, chunk, from, i);
		from = i + 1;
	}
	if (r >= 0)
		r = batch_append(rest, chunk, from, chunk->rows);
	if (r < 0)
		return r;
	set->tables[table] = TAKE_PTR(rest);
	batch_free(chunk);
	return 0;
}

/* Drops the calls' content and details. Content of a large call may have been passed on before. */
static int drop_content(struct batch_set *set, const struct batch *all, const struct batch *kept)
{
	int r = drop_of_calls(set, TABLE_CHUNK, CHUNK_THREAD_ID, CHUNK_START, all, kept);

	return r < 0 ? r
		     : drop_of_calls(set, TABLE_DETAIL, DETAIL_THREAD_ID, DETAIL_START, all, kept);
}

/* Removes the calls that the child made before it was released: they belong to the recorder, not to the command. */
static int drop_before_exec(struct session *s)
{
	_cleanup_(batch_freep) struct batch *kept = NULL;
	struct batch *op = s->in.tables[TABLE_OP];
	size_t from = 0;
	int r;

	if (!s->before_exec || !op || !op->rows)
		return 0;
	r = batch_new(&kept, TABLE_OP);
	for (size_t i = 0; i < op->rows && r >= 0 && s->before_exec; i++) {
		if (batch_get(op, OP_TID, i, -1) != s->totals.command_pid)
			continue;
		if (batch_get(op, OP_START, i, INT64_MIN) >= s->let_go) {
			s->before_exec = false;
			break;
		}
		r = batch_append(kept, op, from, i);
		from = i + 1;
	}
	if (r >= 0)
		r = batch_append(kept, op, from, op->rows);
	if (r >= 0)
		r = drop_content(&s->in, op, kept);
	if (r < 0)
		return r;
	s->in.tables[TABLE_OP] = TAKE_PTR(kept);
	batch_free(op);
	return 0;
}

static uint64_t op_rows(const struct batch_set *set)
{
	return set->tables[TABLE_OP] ? set->tables[TABLE_OP]->rows : 0;
}

static int hand_out(struct session *s, struct error *err)
{
	const struct record_options *opt = s->opt;
	int r;

	if (!batch_set_count(&s->rows))
		return 0;
	for (size_t i = 0; i < opt->sink_count; i++) {
		r = opt->sinks[i].take(opt->sinks[i].arg, &s->rows, enrich_dims(s->enrich), err);
		if (r < 0)
			return r;
	}
	if (opt->store) {
		struct error full = {0};

		s->handed += op_rows(&s->rows);
		r = store_append_set(opt->store, &s->rows, &full);
		if (r == -ENOSPC || r == -EDQUOT)
			s->totals.disk_full =
				true; /* the store counts rejected rows and keeps trying */
		else if (r < 0)
			return error_set(err, r, "%s", full.message);
	}
	batch_set_clear(&s->rows);
	return 0;
}

/* After the rows that they refer to. */
static int note_events(struct session *s, struct error *err)
{
	const struct event_count *cpus;
	size_t count = s->opt->store ? source_events(s->source, &cpus) : 0;
	int r = count ? store_note_events(s->opt->store, cpus, count) : 0;

	if (s->opt->store)
		store_note_until(s->opt->store, source_until(s->source));
	return r < 0 ? error_errno(err, r, "noting the numbers of events") : 0;
}

/* The filter remembers its result for each name; files' names are then no longer needed, and there may be millions. */
static int learn_names(struct session *s, struct error *err)
{
	int r = s->where ? query_rows_names(s->where, enrich_dims(s->enrich), err) : 0;

	if (r >= 0 && s->forget_files &&
	    dims_rows(enrich_dims(s->enrich), TABLE_FILE) >= FILES_KEPT)
		enrich_forget(s->enrich, TABLE_FILE);
	return r;
}

/* Drops the rows about what the dropped calls waited on. */
static int drop_waited_on(struct session *s, const struct batch *op)
{
	_cleanup_(batch_freep) struct batch *kept = NULL;
	_cleanup_(map_free) struct map calls = {0};
	struct batch *poll = s->rows.tables[TABLE_POLL];
	int r;

	if (!poll || !poll->rows)
		return 0;
	r = batch_new(&kept, TABLE_POLL);
	for (size_t i = 0; i < op->rows && r >= 0; i++)
		r = map_set(&calls, call_hash(op, i, OP_THREAD_ID, OP_START), 1);
	for (size_t i = 0; i < poll->rows && r >= 0; i++) {
		if (map_get(&calls, call_hash(poll, i, POLL_THREAD_ID, POLL_START), NULL))
			r = batch_append(kept, poll, i, i + 1);
	}
	if (r < 0)
		return r;
	s->rows.tables[TABLE_POLL] = TAKE_PTR(kept);
	batch_free(poll);
	return 0;
}

/* Drops calls for which the filter is not true; keeps their threads and files. */
static int drop_unwanted(struct session *s, struct error *err)
{
	_cleanup_(batch_freep) struct batch *kept = NULL;
	struct batch *op = s->rows.tables[TABLE_OP];
	const uint32_t *rows;
	ssize_t count;
	int r;

	if (!s->where || !op || !op->rows)
		return 0;
	count = query_cursor_rows(s->cursor, op, &rows, err);
	if (count < 0 || (size_t)count == op->rows)
		return (int)MIN(count, 0);
	s->totals.left_out += op->rows - (size_t)count;
	s->handed += op->rows - (size_t)count;
	r = batch_new(&kept, TABLE_OP);
	if (r >= 0)
		r = batch_append_rows(kept, op, rows, (size_t)count);
	if (r >= 0)
		r = drop_waited_on(s, kept);
	if (r >= 0)
		r = drop_content(&s->rows, op, kept);
	if (r < 0)
		return error_errno(err, r, "filtering rows");
	s->rows.tables[TABLE_OP] = TAKE_PTR(kept);
	batch_free(op);
	return 0;
}

static int session_take_rows(struct session *s, struct error *err)
{
	int r = drop_before_exec(s);

	s->came += op_rows(&s->in);
	if (r < 0)
		return error_errno(err, r, "sorting out the first rows");
	r = enrich_apply(s->enrich, &s->in, &s->rows, err);
	batch_set_clear(&s->in);
	if (r >= 0)
		r = learn_names(s, err);
	if (r >= 0)
		r = drop_unwanted(s, err);
	if (r >= 0 && filesystems_take(&s->filesystems, &s->rows) < 0)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	r = hand_out(s, err);
	return r < 0 ? r : note_events(s, err);
}

/* ---- marks ---- */

static int session_mark(struct session *s, const char *name, const void *text, size_t len)
{
	return batch_set_add_mark(&s->rows, clock_realtime_ns(), name, text, len);
}

/* The command line in shell syntax; only those arguments that may be recorded. */
static int mark_command(struct session *s)
{
	_cleanup_buf_ struct buf words = {0}, masked = {0}, line = {0};
	char *const *argv = s->child ? s->child->command->argv : NULL;
	const struct buf *known = &words;
	ssize_t r = 0;

	if (!argv)
		return 0;
	for (size_t i = 0; argv[i] && (!i || !s->opt->no_argv) && r >= 0; i++) {
		if (i)
			buf_append(&words, "", 1);
		r = buf_append(&words, argv[i], strlen(argv[i]));
	}
	if (r >= 0 && !s->opt->keep_secrets)
		r = secret_mask(buf_bytes(&words), &masked, NULL);
	if (r > 0)
		known = &masked;
	if (r >= 0)
		r = shell_words(&line, known->data, known->len);
	if (r >= 0 && argv[1] && s->opt->no_argv)
		r = buf_append(&line, " ...", 4);
	return r < 0 ? (int)r : session_mark(s, "weir.command", line.data, line.len);
}

static int mark_tracer(void *arg, int32_t pid, const char *name)
{
	char text[320];
	int n = snprintf(text, sizeof(text), "%d %s", pid, name);

	return session_mark(arg, "weir.tracer", text, (size_t)n);
}

static int first_marks(struct session *s, struct error *err)
{
	int r = session_mark(s, "weir.version", WEIR_VERSION, sizeof(WEIR_VERSION) - 1);

	if (r >= 0)
		r = mark_command(s);
	for (size_t i = 0; i < s->opt->mark_count && r >= 0; i++)
		r = session_mark(s, s->opt->marks[i].name, s->opt->marks[i].text,
				 strlen(s->opt->marks[i].text));
	if (r >= 0)
		r = tracers_each(mark_tracer, s);
	return r < 0 ? error_errno(err, r, "writing marks") : hand_out(s, err);
}

bool record_gap_free(const struct record_totals *t)
{
	return t->source.sequence_proved && !t->source.lost && !t->disk_full &&
	       !t->store.lost_rows && !t->store.changed;
}

static void refresh_totals(struct session *s)
{
	source_stats(s->source, &s->totals.source);
	if (s->opt->store)
		store_writer_stats(s->opt->store, &s->totals.store);
	s->totals.masked = enrich_masked(s->enrich);
	s->totals.now = clock_realtime_ns();
	s->totals.ran_ns = (s->end ? s->end : clock_monotonic_ns()) - s->begin;
	s->totals.cpu_ns = clock_cpu_ns() - s->cpu_at_start;
}

/* Records why the trace is incomplete; `why` NULL: recording succeeded. */
static int mark_failure(struct session *s, const struct error *why)
{
	const struct store_stats *store = &s->totals.store;
	char text[ERROR_MESSAGE_MAX + 64];
	int r = 0, n;

	if (why) {
		n = snprintf(text, sizeof(text), "after %.3f s: %s",
			     (double)s->totals.ran_ns / NSEC_PER_SEC, why->message);
		r = session_mark(s, "weir.failed", text, MIN((size_t)n, sizeof(text) - 1));
	}
	if (r >= 0 && store->changed) {
		n = snprintf(text, sizeof(text),
			     "another program truncated this file to %llu bytes, or wrote into it",
			     (unsigned long long)store->changed_size);
		r = session_mark(s, "weir.failed", text, (size_t)n);
	}
	return r;
}

static int last_marks(struct session *s, const struct error *failed, struct error *err)
{
	const char *why = s->totals.why_stopped ? s->totals.why_stopped : "failed";
	char cost[192];
	int n, r;

	refresh_totals(s);
	n = snprintf(cost, sizeof(cost),
		     "cpu_ns=%lld held_ns=%llu raised_ns=%lld ring_bytes=%llu left_out=%llu "
		     "masked=%llu",
		     (long long)s->totals.cpu_ns, (unsigned long long)s->totals.source.held_ns,
		     (long long)s->totals.source.raised_ns,
		     (unsigned long long)s->totals.source.ring_bytes,
		     (unsigned long long)(s->totals.source.filtered + s->totals.left_out),
		     (unsigned long long)s->totals.masked);
	r = mark_failure(s, failed);
	if (r >= 0)
		r = filesystems_mark(&s->filesystems, clock_realtime_ns(), &s->rows);
	if (r >= 0)
		r = session_mark(s, "weir.stopped", why, strlen(why));
	if (r >= 0)
		r = session_mark(s, "weir.cost", cost, (size_t)n);
	/* Permits readers to state that nothing was lost, as the numbers of the records prove. */
	if (r >= 0 && record_gap_free(&s->totals) && !failed)
		r = session_mark(s, "weir.sequence", "gap-free", strlen("gap-free"));
	return r < 0 ? error_errno(err, r, "writing marks") : hand_out(s, err);
}

/* ---- stop conditions ---- */

/* Records the end of the command; true once it has ended. */
static bool command_ended(struct session *s)
{
	int status;

	if (!s->child)
		return false;
	if (!s->totals.command_ended && waitpid(s->child->pid, &status, WNOHANG) == s->child->pid) {
		s->totals.command_ended = true;
		s->totals.command_status = status;
	}
	return s->totals.command_ended;
}

static void pass_on(pid_t command, int number)
{
	_privileged_(PRIVILEGE_SIGNAL);

	kill(command, number);
}

/* Forwards the first signal unless the command received it itself; a second one ends the recording. */
static const char *signalled(struct session *s, int64_t now)
{
	const struct record_options *opt = s->opt;
	const struct record_signals *sig = opt->signals;
	int count = sig ? sig->count : 0;

	if (count == s->signals_seen)
		return NULL;
	if (!s->child || count > 1)
		return "interrupted";
	if (!s->signal_at)
		s->signal_at = now;
	if (now - s->signal_at < SIGNAL_WAIT_NS)
		return NULL;
	s->signals_seen = count;
	if (!sig->by_kernel && !(opt->shared_signal && opt->shared_signal(s->source, sig->number)))
		pass_on(s->child->pid, sig->number);
	return NULL;
}

/* The reason to stop now, or NULL. */
static const char *reason_to_stop(struct session *s, int64_t now)
{
	const struct record_options *opt = s->opt;
	const char *why = signalled(s, now);

	if (why)
		return why;
	if (command_ended(s))
		return "the command ended";
	if (opt->duration_ns && now - s->begin >= opt->duration_ns)
		return "duration";
	if (opt->stop_with_targets && opt->targets_gone && opt->targets_gone(s->source))
		return "targets ended";
	return NULL;
}

static void look_at_file(struct session *s, int64_t now)
{
	_privileged_(privilege_files());

	if (!s->opt->store || now < s->next_look)
		return;
	s->next_look = now + LOOK_NS;
	store_writer_place(s->opt->store, &s->totals.place);
}

/* Commits blocks and passes the totals to the caller. */
static int session_tick(struct session *s, int64_t now, const char **why, struct error *err)
{
	const struct record_options *opt = s->opt;
	struct error full = {0};
	int r;

	if (now < s->next_tick)
		return 0;
	s->next_tick = clock_next(s->next_tick, now, s->tick_ns);
	if (opt->store) {
		r = store_flush(opt->store, false, &full);
		if (r == -ENOSPC || r == -EDQUOT)
			s->totals.disk_full = true;
		else if (r < 0)
			return error_set(err, r, "%s", full.message);
	}
	refresh_totals(s);
	look_at_file(s, now);
	if (opt->store && opt->size_max && s->totals.store.bytes >= opt->size_max)
		*why = "size";
	if (opt->tick && opt->tick(opt->tick_arg, &s->totals) != 0)
		*why = "asked to";
	return 0;
}

/* Each file contains its own marks about the recording. */
static int go_on_in_next(struct session *s, int64_t now, struct error *err)
{
	const struct record_options *opt = s->opt;
	struct error why = {0};
	bool full = false;
	int r;

	if (!opt->rotation || !opt->store)
		return 0;
	r = rotate_when_due(&s->rotating, opt->rotation, opt->store, now, &full, &why);
	s->totals.disk_full |= full;
	if (r < 0)
		return error_set(err, r, "%s", why.message);
	return r ? first_marks(s, err) : 0;
}

/* ---- the session ---- */

/* The longest tick that divides `every_ns`. */
static int64_t tick_length(int64_t every_ns)
{
	int64_t ticks = (every_ns + RECORD_TICK_NS - 1) / RECORD_TICK_NS;

	return ticks ? every_ns / ticks : RECORD_TICK_NS;
}

static int session_begin(struct session *s, struct error *err)
{
	const struct record_options *opt = s->opt;
	uint32_t keep;
	int r;

	s->cpu_at_start = clock_cpu_ns();
	filesystems_init(&s->filesystems);
	if (s->child) {
		assert(s->child->pid > 0 && s->child->go_fd >= 0);
		s->totals.command_pid = (int32_t)s->child->pid;
		s->before_exec = true;
	}
	s->enrich = opt->enrich;
	keep = opt->sink_count > 0 ? ENRICH_KEEP_ALL : 0;
	if (!s->enrich) {
		r = enrich_new(&s->own_enrich, err);
		if (r < 0)
			return r;
		s->enrich = s->own_enrich;
		enrich_keep_dims(s->enrich, keep);
	}
	if (opt->keep_secrets)
		enrich_keep_secrets(s->enrich);
	if (opt->where) {
		r = query_rows_new(&s->where, opt->where, err);
		if (r >= 0 && query_cursor_new(&s->cursor, s->where) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
		if (r < 0)
			return r;
		/* a filter by program does not use files */
		s->forget_files = !(keep >> TABLE_FILE & 1) && query_rows_forget_files(s->where);
		keep |= query_rows_tables(s->where);
		enrich_keep_dims(s->enrich, keep);
	}
	r = source_start(s->source, err);
	if (r < 0)
		return r;
	if (opt->begun)
		opt->begun(opt->begun_arg);
	r = first_marks(s, err);
	s->let_go = source_now(s->source);
	/* before the command goes on: it may make calls before this thread runs again */
	s->begin = clock_monotonic_ns();
	if (r >= 0 && s->child)
		r = record_child_go(s->child, err);
	s->rotating.since = s->begin;
	s->tick_ns = tick_length(opt->every_ns);
	s->next_tick = s->begin + s->tick_ns;
	return r;
}

static int session_run(struct session *s, struct error *err)
{
	const char *why = NULL;

	while (!why) {
		int64_t now;
		int r = source_read(s->source, &s->in, READ_MS, err);

		if (r < 0)
			return r;
		if (r == SOURCE_END) {
			why = "the source ended";
			s->source_ended = true;
		}
		r = session_take_rows(s, err);
		if (r < 0)
			return r;
		now = clock_monotonic_ns();
		if (!why)
			why = reason_to_stop(s, now);
		r = go_on_in_next(s, now, err);
		if (r < 0)
			return r;
		r = session_tick(s, now, &why, err);
		if (r < 0)
			return r;
	}
	s->end = clock_monotonic_ns();
	s->totals.why_stopped = why;
	return 0;
}

/* After stop(): reads the remaining rows, including calls that are still running. */
static int session_drain(struct session *s, struct error *err)
{
	int64_t until = clock_monotonic_ns() + DRAIN_NS;
	int r = source_stop(s->source, err);

	while (r >= 0 && r != SOURCE_END && !s->source_ended) {
		r = source_read(s->source, &s->in, READ_MS, err);
		if (r < 0)
			break;
		if (r == SOURCE_TIMEOUT && clock_monotonic_ns() > until)
			return error_set(err, -ETIMEDOUT,
					 "the source %s did not end: this is a bug in weir",
					 s->source->ops->name);
		if (session_take_rows(s, err) < 0)
			return err && err->code ? err->code : -EIO;
	}
	return r < 0 ? r : 0;
}

/* Stores the losses counted by the source, without threads: only enrich knows their ids. */
static int keep_loss(struct session *s)
{
	struct batch *loss = s->in.tables[TABLE_LOSS];

	if (!loss || !loss->rows)
		return 0;
	batch_drop_column(loss, LOSS_THREAD_ID);
	return store_append(s->opt->store, loss, NULL);
}

static int add_unknown_loss(struct session *s)
{
	struct batch_row row = batch_set_row(&s->rows, TABLE_LOSS);

	row_set(&row, LOSS_STOP, clock_realtime_ns());
	row_set(&row, LOSS_CAUSE, CAUSE_WRITE_FAILED);
	return row.r;
}

/*
 * Recording failed, perhaps out of memory: counts what is left in the source without storing it, so that the trace
 * shows how much is missing. Calls that a filter would have dropped here are counted too.
 */
static void count_rest(struct session *s)
{
	int64_t until = clock_monotonic_ns() + DRAIN_NS;
	int r = source_stop(s->source, NULL);

	batch_set_free(&s->in);
	batch_set_free(&s->rows);
	if (!s->opt->store)
		return;
	while (r >= 0 && r != SOURCE_END && !s->source_ended && clock_monotonic_ns() < until) {
		r = source_read(s->source, &s->in, READ_MS, NULL);
		s->came += op_rows(&s->in);
		if (r >= 0 && keep_loss(s) < 0)
			r = -ENOMEM;
		batch_set_clear(&s->in);
	}
	batch_set_free(&s->in);
	store_note_lost(s->opt->store, s->came - s->handed);
	if (r != SOURCE_END && !s->source_ended)
		(void)add_unknown_loss(s);
}

/* Commits the remaining rows; `failed`: why recording ended, NULL if it succeeded. */
static int session_finish(struct session *s, const struct error *failed, struct error *err)
{
	struct error full = {0};
	int r = 0, m;

	s->end = s->end ? s->end : clock_monotonic_ns();
	if (failed)
		count_rest(s);
	else
		r = session_drain(s, err);
	if (r < 0) {
		failed = err;
		count_rest(s);
	}
	m = last_marks(s, failed, failed ? NULL : err);
	r = r < 0 ? r : m;
	if (s->opt->store) {
		int f = store_flush(s->opt->store, true, &full);

		if (f == -ENOSPC || f == -EDQUOT)
			s->totals.disk_full = true;
		else if (f < 0 && r >= 0)
			r = error_set(err, f, "%s", full.message);
		store_writer_place(s->opt->store, &s->totals.place);
	}
	command_ended(s);
	refresh_totals(s);
	return r;
}

int record_run(struct source *source, const struct record_options *opt, struct record_totals *ret,
	       struct error *err)
{
	_cleanup_(session_free) struct session s = {
		.source = source, .opt = opt, .child = opt->child};
	struct error scratch = {0};
	int r, f;

	if (!err)
		err = &scratch;
	r = session_begin(&s, err);
	if (r < 0) {
		source_stop(source, NULL);
		return r;
	}
	r = session_run(&s, err);
	/* Also after a failure: everything recorded so far is kept. */
	f = session_finish(&s, r < 0 ? err : NULL, r < 0 ? NULL : err);
	*ret = s.totals;
	return r < 0 ? r : f;
}
