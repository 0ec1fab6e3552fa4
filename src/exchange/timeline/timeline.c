// SPDX-License-Identifier: Apache-2.0
/* timeline.c: the pass over calls, block requests and spans that fills a timeline. */
#include "exchange/timeline/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "engine/ask.h"
#include "names/names.h"
#include "schema/ops.h"

#define FLUSH_BYTES    (256u << 10)
#define COUNTER_NS     100000000ll /* interval of counters */
#define PIDS_OF_KERNEL (1ll << 22) /* PID_MAX_LIMIT: added to pids once for each further machine */

/* Tables drawn, in the order in which equal ends are merged. */
enum drawn { DRAWN_OP, DRAWN_BLOCK, DRAWN_SPAN, DRAWN_COUNT };

struct timeline_process {
	struct timeline_track track, counter;
	int64_t window; /* start of the current interval; INT64_MIN: none yet */
	uint64_t bytes; /* in the interval */
	bool shown;	/* the last value written is not 0 */
};

struct timeline_task {
	struct timeline_process *process;
	struct timeline_track track;
	struct timeline_lanes calls, requests, spans;
};

struct timeline_disk {
	struct timeline_track track;
	char name[64];
	struct timeline_lanes requests;
};

struct timeline {
	struct store *store;
	const struct timeline_options *opt;
	struct timeline_sink *sink;
	struct timeline_stats *stats;
	struct map processes, tasks, machines; /* id + 1 -> pointer; number of dims_machine() */
	struct intern disk_names;
	struct timeline_disk **disks; /* [disk_count], by index in disk_names */
	size_t disk_count;
	int64_t first, last; /* of the trace */
	uint64_t tracks;
	struct buf text, flags;
	/* from table edge, by op; NULL if not drawn */
	struct timeline_arrow *out, *in;
	size_t arrow_count, out_cap, in_cap;
	struct map drawn; /* arrows with one end drawn */
};

/* ---- tracks ---- */

static int timeline_put_track(struct timeline *t, struct timeline_track *track)
{
	track->id = ++t->tracks;
	t->stats->tracks++;
	return t->sink->ops->track(t->sink, track);
}

/* The offset added to pids of a process's machine, so that pids of machines differ; 0 for the first machine. */
static int timeline_raise(struct timeline *t, int64_t id, int64_t *ret)
{
	uint64_t key = (uint64_t)dims_machine(store_dims(t->store), id), n = t->machines.count;

	*ret = 0;
	if (!map_get(&t->machines, key, &n) && map_set(&t->machines, key, n) < 0)
		return -ENOMEM;
	*ret = (int64_t)n * PIDS_OF_KERNEL;
	return 0;
}

/* "redis-server"; "web1: redis-server" in a trace of several machines. */
static int timeline_name_process(struct timeline *t, int64_t id, const struct dims_process *p,
				 bool first_machine)
{
	const struct dims *d = store_dims(t->store);
	const struct dims_host *h = p && !first_machine ? dims_host(d, p->host_id) : NULL;
	struct bytes program = names_program(d, id);

	buf_clear(&t->text);
	if (h)
		buf_append(&t->text, h->name.data, h->name.len);
	if (h)
		buf_append(&t->text, ": ", 2);
	return program.len ? buf_append(&t->text, program.data, program.len)
			   : buf_printf(&t->text, "unknown process");
}

static int timeline_new_process(struct timeline *t, int64_t id, int64_t thread_id,
				struct timeline_process *to)
{
	const struct dims_process *p = dims_process(store_dims(t->store), id);
	int64_t raise;
	int r = timeline_raise(t, thread_id, &raise);

	to->window = INT64_MIN;
	if (r >= 0)
		r = timeline_name_process(t, id, p, !raise);
	if (r < 0)
		return r;
	to->track = (struct timeline_track){.kind = TIMELINE_PROCESS,
					    .pid = raise + (p && p->pid > 0 ? p->pid : 0),
					    .name = {t->text.data, t->text.len},
					    .argv = p ? p->argv : (struct bytes){NULL, 0}};
	r = timeline_put_track(t, &to->track);
	if (r < 0)
		return r;
	to->counter = (struct timeline_track){.kind = TIMELINE_COUNTER,
					      .parent = to->track.id,
					      .pid = to->track.pid,
					      .name = bytes_of("I/O bytes/s")};
	return timeline_put_track(t, &to->counter);
}

static int timeline_process(struct timeline *t, int64_t thread_id, struct timeline_process **ret)
{
	int64_t id = names_process_of(store_dims(t->store), thread_id);
	uint64_t known;
	int r;

	if (map_get(&t->processes, (uint64_t)id + 1, &known)) {
		*ret = (struct timeline_process *)known;
		return 0;
	}
	*ret = calloc(1, sizeof(**ret));
	if (!*ret || map_set(&t->processes, (uint64_t)id + 1, (uint64_t)*ret) < 0) {
		free(*ret);
		return -ENOMEM;
	}
	r = timeline_new_process(t, id, thread_id, *ret);
	return r;
}

static int timeline_new_task(struct timeline *t, int64_t task, int64_t thread_id,
			     struct timeline_task *to)
{
	const struct dims *d = store_dims(t->store);
	const struct dims_thread *th = dims_thread(d, dims_latest_thread(d, task));
	int64_t raise;
	int r = timeline_process(t, thread_id, &to->process);

	if (r >= 0)
		r = timeline_raise(t, thread_id, &raise);
	if (r < 0)
		return r;
	to->track = (struct timeline_track){.kind = TIMELINE_THREAD,
					    .parent = to->process->track.id,
					    .pid = to->process->track.pid,
					    .tid = th && th->tid > 0 ? raise + th->tid : 0,
					    .name = th ? th->comm : bytes_of("unknown thread")};
	r = timeline_put_track(t, &to->track);
	return r < 0 ? r : timeline_lanes_add(&to->calls, &to->track);
}

static int timeline_task(struct timeline *t, int64_t thread_id, struct timeline_task **ret)
{
	int64_t task = names_task(store_dims(t->store), thread_id);
	uint64_t known;

	if (map_get(&t->tasks, (uint64_t)task + 1, &known)) {
		*ret = (struct timeline_task *)known;
		return 0;
	}
	*ret = calloc(1, sizeof(**ret));
	if (!*ret || map_set(&t->tasks, (uint64_t)task + 1, (uint64_t)*ret) < 0) {
		free(*ret);
		return -ENOMEM;
	}
	return timeline_new_task(t, task, thread_id, *ret);
}

static int timeline_disk(struct timeline *t, struct bytes name, struct timeline_disk **ret)
{
	struct timeline_disk **disks;
	uint32_t id;
	int r = intern_add(&t->disk_names, name.data, name.len, &id);

	if (r < 0)
		return r;
	if (id < t->disk_count) {
		*ret = t->disks[id];
		return 0;
	}
	disks = reallocarray(t->disks, t->disk_count + 1, sizeof(*disks));
	if (!disks)
		return -ENOMEM;
	t->disks = disks;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	disks[t->disk_count++] = *ret;
	snprintf((*ret)->name, sizeof((*ret)->name), "disk %.*s",
		 (int)MIN(name.len, sizeof((*ret)->name)), (const char *)name.data);
	/* Viewers need a process for every track; a negative pid is never a real process's. */
	(*ret)->track = (struct timeline_track){.kind = TIMELINE_DISK,
						.pid = -1 - (int64_t)id,
						.tid = -1 - (int64_t)id,
						.name = bytes_of((*ret)->name)};
	r = timeline_put_track(t, &(*ret)->track);
	return r < 0 ? r : timeline_lanes_add(&(*ret)->requests, &(*ret)->track);
}

/* ---- slices ---- */

static void timeline_arg(struct timeline_slice *l, const char *name, int64_t number)
{
	assert(l->count < TIMELINE_ARGS_MAX);
	l->args[l->count++] = (struct timeline_arg){.name = name, .number = number, .text_id = -1};
}

/* `id` is unique to a text, for texts that are repeated; -1: none. Texts must stay valid until the slice is written. */
static void timeline_arg_text(struct timeline_slice *l, const char *name, struct bytes text,
			      int64_t id)
{
	assert(l->count < TIMELINE_ARGS_MAX);
	if (text.data)
		l->args[l->count++] =
			(struct timeline_arg){.name = name, .text = text, .text_id = id};
}

static void timeline_arg_file(struct timeline *t, struct timeline_slice *l, const char *name,
			      int64_t file_id)
{
	if (file_id >= 0)
		timeline_arg_text(l, name, dims_file_version_name(store_dims(t->store), file_id),
				  file_id);
}

/* Adds a numeric column under its own name unless it is null. */
static void timeline_arg_column(struct timeline_slice *l, const char *name, const struct batch *b,
				unsigned int column, size_t row)
{
	if (!batch_is_null(b, column, row))
		timeline_arg(l, name, batch_get(b, column, row, 0));
}

/* Puts the slice on one of `lanes`; a new one is created like `model` if necessary. */
static int timeline_put(struct timeline *t, struct timeline_lanes *lanes,
			const struct timeline_track *model, struct timeline_slice *l)
{
	size_t i = timeline_lanes_find(lanes, l->start);
	struct timeline_track track = *model;
	int r = 0;

	if (i == lanes->count) {
		r = timeline_put_track(t, &track);
		if (r >= 0)
			r = timeline_lanes_add(lanes, &track);
	}
	if (r >= 0)
		r = timeline_lanes_take(lanes, i, l->start, l->stop);
	if (r < 0)
		return r;
	l->track = &lanes->all[i].track;
	t->stats->slices++;
	return t->sink->ops->slice(t->sink, l);
}

/* The start of a row that ended at `end`. If it is unknown, the row is drawn from the earliest time known. */
static int64_t timeline_start(struct timeline *t, const struct batch *b, unsigned int start,
			      unsigned int dur, size_t row, int64_t end)
{
	int64_t began = batch_get(b, start, row, INT64_MIN);

	if (began == INT64_MIN) {
		t->stats->early++;
		began = end - MAX(batch_get(b, dur, row, 0), 0ll);
	}
	began = MIN(began, end);
	return MAX(began, 0ll);
}

/* ---- arrows ---- */

static int arrow_compare(const void *a, const void *b)
{
	const struct timeline_arrow *x = a, *y = b;

	return ORDER(x->op, y->op) ?: ORDER(x->number, y->number);
}

static int arrow_add(struct timeline *t, const struct batch *b, size_t row)
{
	int64_t from = batch_get(b, EDGE_FROM, row, -1), to = batch_get(b, EDGE_TO, row, -1);
	size_t n = t->arrow_count;

	if (from < 0 || to < 0)
		return 0;
	if (grow((void **)&t->out, &t->out_cap, n + 1, sizeof(*t->out)) < 0 ||
	    grow((void **)&t->in, &t->in_cap, n + 1, sizeof(*t->in)) < 0)
		return -ENOMEM;
	t->out[n] = (struct timeline_arrow){from, n + 1};
	t->in[n] = (struct timeline_arrow){to, n + 1};
	t->arrow_count++;
	return 0;
}

static int timeline_arrows(struct timeline *t, struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct scan_request q = {.table = TABLE_EDGE,
				       .columns = 1ull << EDGE_FROM | 1ull << EDGE_TO,
				       .from = INT64_MIN,
				       .to = INT64_MAX};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = t->sink->ops->arrows ? engine_scan_new(&scan, t->store, &q, err) : 0;

	while (r >= 0 && scan && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = arrow_add(t, b, rows[i]);
	}
	if (r >= 0 && n < 0)
		return (int)n;
	if (t->arrow_count) {
		array_sort(t->out, t->arrow_count, arrow_compare);
		array_sort(t->in, t->arrow_count, arrow_compare);
	}
	return r;
}

/* The arrows of one call. */
static const struct timeline_arrow *arrows_of(const struct timeline_arrow *all, size_t count,
					      int64_t op, size_t *ret_count)
{
	size_t low = array_first(i, 0, count, all[i].op >= op), end;

	for (end = low; end < count && all[end].op == op; end++)
		;
	*ret_count = end - low;
	return all + low;
}

static int timeline_call_arrows(struct timeline *t, int64_t op, struct timeline_slice *l)
{
	int r = 0;

	if (!t->arrow_count || op < 0)
		return 0;
	l->out = arrows_of(t->out, t->arrow_count, op, &l->out_count);
	l->in = arrows_of(t->in, t->arrow_count, op, &l->in_count);
	for (size_t i = 0; i < l->out_count + l->in_count && r >= 0; i++) {
		uint64_t number =
			i < l->out_count ? l->out[i].number : l->in[i - l->out_count].number;

		if (map_del(&t->drawn, number))
			t->stats->arrows++;
		else
			r = map_set(&t->drawn, number, 1);
	}
	return r;
}

/* ---- calls ---- */

static int timeline_flags(struct timeline *t, const struct batch *b, size_t row,
			  struct timeline_slice *l)
{
	uint32_t op = (uint32_t)batch_get(b, OP_OP, row, 0);
	enum word_set words = op_flag_words(op);
	int r;

	if (batch_is_null(b, OP_FLAGS, row))
		return 0;
	if (words == WORDS_NONE) {
		timeline_arg(l, "flags", batch_get(b, OP_FLAGS, row, 0));
		return 0;
	}
	buf_clear(&t->flags);
	r = flags_print(&t->flags, words, (uint64_t)batch_get(b, OP_FLAGS, row, 0));
	timeline_arg_text(l, "flags", buf_bytes(&t->flags), -1);
	return r;
}

static int timeline_call_args(struct timeline *t, const struct batch *b, size_t row,
			      struct timeline_slice *l)
{
	int64_t err = batch_get(b, OP_ERR, row, 0);
	const char *word = err ? vocab_word("err", err) : NULL;
	int r;

	timeline_arg_file(t, l, "file", batch_get(b, OP_FILE_ID, row, -1));
	timeline_arg_file(t, l, "file2", batch_get(b, OP_FILE2_ID, row, -1));
	timeline_arg_file(t, l, "peer", batch_get(b, OP_PEER_ID, row, -1));
	timeline_arg_column(l, "fd", b, OP_FD, row);
	timeline_arg_column(l, "pos", b, OP_POS, row);
	timeline_arg_column(l, "size", b, OP_SIZE, row);
	r = timeline_flags(t, b, row, l);
	if (word)
		timeline_arg_text(l, "err", bytes_of(word), -1);
	else
		timeline_arg_column(l, "ret", b, OP_RET, row);
	if (batch_get(b, OP_BYTES, row, 0))
		timeline_arg_column(l, "bytes", b, OP_BYTES, row);
	timeline_arg_column(l, "runq ns", b, OP_RUNQ, row);
	timeline_arg_column(l, "io_wait ns", b, OP_IO_WAIT, row);
	timeline_arg_column(l, "sleep ns", b, OP_SLEEP, row);
	if (batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED) {
		timeline_arg_text(l, "still running", bytes_of("yes"), -1);
		t->stats->running++;
	}
	return r;
}

/* Writes the value of the finished interval, and 0 after it unless the next interval follows immediately. */
static int timeline_count_put(struct timeline *t, struct timeline_process *p, int64_t next)
{
	int r = 0;

	if (p->window != INT64_MIN && (p->bytes || p->shown)) {
		r = t->sink->ops->count(t->sink, &p->counter, p->window,
					(int64_t)(p->bytes * (1000000000u / COUNTER_NS)));
		p->shown = p->bytes != 0;
	}
	if (r >= 0 && p->shown && next > p->window + COUNTER_NS) {
		r = t->sink->ops->count(t->sink, &p->counter, p->window + COUNTER_NS, 0);
		p->shown = false;
	}
	p->window = next;
	p->bytes = 0;
	return r;
}

static int timeline_count(struct timeline *t, struct timeline_process *p, int64_t end,
			  uint64_t bytes)
{
	int64_t window = end - end % COUNTER_NS;
	int r = window > p->window ? timeline_count_put(t, p, window) : 0;

	p->bytes += bytes;
	return r;
}

static int timeline_call(struct timeline *t, const struct batch *b, size_t row, int64_t end)
{
	uint32_t op = (uint32_t)batch_get(b, OP_OP, row, 0);
	int64_t kind = batch_get(b, OP_KIND, row, KIND_SYSCALL);
	bool apart = kind != KIND_SYSCALL && kind != KIND_FAULT;
	struct timeline_slice l = {.stop = end};
	struct timeline_task *task;
	struct timeline_track beside;
	char room[32];
	int r = timeline_task(t, batch_get(b, OP_THREAD_ID, row, -1), &task);

	if (r < 0)
		return r;
	l.start = timeline_start(t, b, OP_START, OP_DUR, row, end);
	l.name = bytes_of(op_name(op, room));
	l.category = vocab_word("class", batch_get(b, OP_CLASS, row, CLASS_OTHER)) ?: "other";
	r = timeline_call_args(t, b, row, &l);
	if (r >= 0)
		r = timeline_call_arrows(t, batch_row_id(b, row), &l);
	beside = (struct timeline_track){
		.parent = task->track.id,
		.kind = TIMELINE_LANE,
		.pid = task->track.pid,
		.tid = task->track.tid,
		.name = bytes_of(apart ? vocab_word("kind", kind) ?: "requests" : "calls")};
	if (r >= 0)
		r = timeline_put(t, apart ? &task->requests : &task->calls, &beside, &l);
	return r < 0 ? r
		     : timeline_count(t, task->process, end,
				      (uint64_t)batch_get(b, OP_BYTES, row, 0));
}

/* ---- block requests, spans ---- */

static int timeline_request(struct timeline *t, const struct batch *b, size_t row, int64_t end)
{
	const char *kind = vocab_word("kind", batch_get(b, REQUEST_KIND, row, -1)) ?: "request";
	int64_t thread_id = batch_get(b, REQUEST_THREAD_ID, row, -1);
	struct timeline_slice l = {.stop = end, .category = "block", .name = bytes_of(kind)};
	_cleanup_buf_ struct buf owner = {0};
	struct timeline_disk *disk;
	int r = timeline_disk(t, batch_get_bytes(b, REQUEST_DISK, row), &disk);

	if (r >= 0 && thread_id >= 0)
		r = names_thread(store_dims(t->store), thread_id, &owner);
	if (r < 0)
		return r;
	l.start = timeline_start(t, b, REQUEST_START, REQUEST_DUR, row, end);
	timeline_arg_text(&l, "owner", buf_bytes(&owner), -1);
	timeline_arg_file(t, &l, "file", batch_get(b, REQUEST_FILE_ID, row, -1));
	timeline_arg_column(&l, "sector", b, REQUEST_SECTOR, row);
	timeline_arg_column(&l, "bytes", b, REQUEST_BYTES, row);
	timeline_arg_column(&l, "in the device ns", b, REQUEST_D2C, row);
	if (batch_is_null(b, REQUEST_DUR, row))
		t->stats->running++;
	return timeline_put(t, &disk->requests, &disk->track, &l);
}

static int timeline_span(struct timeline *t, const struct batch *b, size_t row, int64_t end)
{
	struct timeline_slice l = {
		.stop = end, .category = "span", .name = batch_get_bytes(b, SPAN_NAME, row)};
	struct timeline_task *task;
	struct timeline_track lane;
	int r = timeline_task(t, batch_get(b, SPAN_THREAD_ID, row, -1), &task);

	if (r < 0)
		return r;
	l.start = timeline_start(t, b, SPAN_START, SPAN_DUR, row, end);
	timeline_arg_text(&l, "service", batch_get_bytes(b, SPAN_SERVICE, row), -1);
	timeline_arg_text(&l, "trace_id", batch_get_bytes(b, SPAN_TRACE_ID, row), -1);
	timeline_arg_text(&l, "attributes", batch_get_bytes(b, SPAN_ATTRIBUTES, row), -1);
	if (batch_is_null(b, SPAN_DUR, row))
		t->stats->running++;
	lane = (struct timeline_track){.parent = task->track.id,
				       .kind = TIMELINE_LANE,
				       .pid = task->track.pid,
				       .tid = task->track.tid,
				       .name = bytes_of("spans")};
	return timeline_put(t, &task->spans, &lane, &l);
}

/* ---- the pass ---- */

static int timeline_row(struct timeline *t, size_t which, const struct batch *b, size_t row,
			int64_t end)
{
	switch ((enum drawn)which) {
	case DRAWN_OP:
		return timeline_call(t, b, row, end);
	case DRAWN_BLOCK:
		return timeline_request(t, b, row, end);
	case DRAWN_SPAN:
		return timeline_span(t, b, row, end);
	case DRAWN_COUNT:
		break;
	}
	assert(false);
	return 0;
}

static int timeline_flush(struct timeline *t, size_t least)
{
	if (t->sink->out.len <= least)
		return 0;
	return t->opt->flush(t->opt->arg, &t->sink->out);
}

/* Unfinished rows are drawn up to the end of the trace. Viewers do not support times before 1970. */
static int64_t timeline_end(const struct timeline *t, int64_t end)
{
	if (t->last != INT64_MIN)
		end = MIN(end, t->last);
	return MAX(end, 0ll);
}

static int timeline_rows(struct timeline *t, struct engine_merge *m, struct error *err)
{
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n;
	int r = 0;

	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = timeline_row(t, which, b, rows[i],
					 timeline_end(t, engine_merge_end(m, rows[i])));
		if (r >= 0)
			r = timeline_flush(t, FLUSH_BYTES);
	}
	return r;
}

static int timeline_counters_end(struct timeline *t)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && map_next(&t->processes, &pos, &key, &value))
		r = timeline_count_put(t, (struct timeline_process *)value, INT64_MAX);
	return r;
}

static int timeline_all(struct timeline *t, struct error *err)
{
	const struct scan_request q[DRAWN_COUNT] = {
		[DRAWN_OP] = {.table = TABLE_OP,
			      .columns = ~0ull,
			      .from = t->opt->from,
			      .to = t->opt->to,
			      .filter = t->opt->where},
		[DRAWN_BLOCK] = {.table = TABLE_REQUEST,
				 .columns = ~0ull,
				 .from = t->opt->from,
				 .to = t->opt->to},
		[DRAWN_SPAN] = {.table = TABLE_SPAN,
				.columns = ~0ull,
				.from = t->opt->from,
				.to = t->opt->to},
	};
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	int r = engine_merge_new(&m, t->store, NULL, q, DRAWN_COUNT, err);

	if (r < 0)
		return r;
	r = timeline_arrows(t, err);
	if (r < 0)
		return r;
	r = t->sink->ops->begin(t->sink, t->first);
	if (r < 0)
		return r;
	r = timeline_rows(t, m, err);
	if (r < 0)
		return r;
	r = timeline_counters_end(t);
	if (r < 0)
		return r;
	r = t->sink->ops->end(t->sink);
	return r < 0 ? r : timeline_flush(t, 0);
}

static void timeline_free(struct timeline *t)
{
	uint64_t key, value;

	for (size_t pos = 0; map_next(&t->processes, &pos, &key, &value);)
		free((void *)value);
	for (size_t pos = 0; map_next(&t->tasks, &pos, &key, &value);) {
		struct timeline_task *task = (struct timeline_task *)value;

		timeline_lanes_free(&task->calls);
		timeline_lanes_free(&task->requests);
		timeline_lanes_free(&task->spans);
		free(task);
	}
	for (size_t i = 0; i < t->disk_count; i++) {
		timeline_lanes_free(&t->disks[i]->requests);
		free(t->disks[i]);
	}
	free(t->disks);
	map_free(&t->processes);
	map_free(&t->tasks);
	map_free(&t->machines);
	map_free(&t->drawn);
	free(t->out);
	free(t->in);
	intern_free(&t->disk_names);
	buf_free(&t->text);
	buf_free(&t->flags);
	if (t->sink && t->sink->ops->free)
		t->sink->ops->free(t->sink);
	if (t->sink)
		buf_free(&t->sink->out);
	free(t->sink);
}

int timeline_write(struct store *s, const struct timeline_options *opt, struct timeline_stats *ret,
		   struct error *err)
{
	const struct timeline_ops *ops =
		opt->format == TIMELINE_CHROME ? &chrome_ops : &perfetto_ops;
	_cleanup_(timeline_free) struct timeline t = {.store = s, .opt = opt, .stats = ret};
	int r;

	*ret = (struct timeline_stats){0};
	t.sink = calloc(1, ops->size);
	if (!t.sink)
		return error_errno(err, -ENOMEM, "the timeline");
	t.sink->ops = ops;
	store_range(s, &t.first, &t.last);
	t.first = MAX(t.first, 0ll);
	r = timeline_all(&t, err);
	return r == -ENOMEM ? error_errno(err, r, "the timeline") : r;
}
