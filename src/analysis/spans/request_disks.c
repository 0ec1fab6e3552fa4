// SPDX-License-Identifier: Apache-2.0
/*
 * request_disks.c: the disk requests of the calls of a tree (table block_part, record --with block): those that a
 * thread submitted, or waited for, during a call of the request. Later writeback does not belong to any call.
 */
#include <errno.h>

#include "analysis/spans/requests.h"
#include "base/array.h"
#include "base/saturate.h"
#include "names/names.h"
#include "schema/vocab.h"

struct tree_disks {
	struct requests *q;
	struct tree_busy {
		int64_t task, start, stop;
		uint32_t call;
	} *busy; /* of each call, sorted by task and start */
	size_t count;
	/* a tree of their stops: [width + i] is that of i, [k] the later of [2k] and [2k + 1] */
	int64_t *latest;
	size_t width; /* a power of two above count */
};

static int busy_order(const void *a, const void *b)
{
	const struct tree_busy *x = a, *y = b;

	return ORDER(x->task, y->task) ?: ORDER(x->start, y->start);
}

/* Index of the last call before `to` that ends at or after `at`; `count`: none. */
static size_t tree_last_until(const struct tree_disks *t, size_t to, int64_t at)
{
	size_t k = t->width + to;

	while (k > 1 && !(k & 1 && t->latest[k - 1] >= at))
		k >>= 1;
	if (k == 1)
		return t->count;
	for (k--; k < t->width;)
		k = 2 * k + (t->latest[2 * k + 1] >= at);
	return k - t->width;
}

/*
 * The call in which the task was at a time; of several, such as an io_uring request within the call that waits for it,
 * the one that began last. SPAN_NONE: none.
 */
static uint32_t tree_call_at(const struct tree_disks *t, int64_t task, int64_t at)
{
	const struct tree_busy *b = t->busy;
	size_t low =
		array_first(i, 0, t->count, (ORDER(b[i].task, task) ?: ORDER(b[i].start, at)) > 0);

	low = tree_last_until(t, low, at);
	return low < t->count && t->busy[low].task == task ? t->busy[low].call : SPAN_NONE;
}

static int tree_make_latest(struct tree_disks *t)
{
	t->width = 2;
	while (t->width <= t->count)
		t->width *= 2;
	t->latest = malloc(2 * t->width * sizeof(*t->latest));
	if (!t->latest)
		return -ENOMEM;
	for (size_t i = 0; i < t->width; i++)
		t->latest[t->width + i] = i < t->count ? t->busy[i].stop : INT64_MIN;
	for (size_t k = t->width; --k;)
		t->latest[k] = MAX(t->latest[2 * k], t->latest[2 * k + 1]);
	return 0;
}

static int tree_take_part(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct tree_disks *t = arg;
	struct requests_tree *tree = &t->q->tree;
	int64_t via = batch_get(b, REQUEST_PART_VIA, row, VIA_UNKNOWN),
		start = batch_get(b, REQUEST_PART_START, row, 0),
		thread = batch_get(b, REQUEST_PART_THREAD_ID, row, -1);
	struct bytes disk = batch_get_bytes(b, REQUEST_PART_DISK, row);
	struct requests_call is;
	uint32_t call;
	int r;

	if (thread < 0 || (via != VIA_CURRENT && via != VIA_WAITER))
		return 0;
	call = tree_call_at(t, names_task(t->q->dims, thread), start);
	if (call == SPAN_NONE)
		return 0;
	is = (struct requests_call){
		.start = start,
		.stop = add_sat_signed(start,
				       MAX(batch_get(b, REQUEST_PART_DUR, row, 0), (int64_t)0)),
		.bytes = batch_get(b, REQUEST_PART_BYTES, row, 0),
		.file_id = batch_get(b, REQUEST_PART_FILE_ID, row, -1),
		.thread_id = thread,
		.waker_id = -1,
		.span = tree->calls[call].span,
		.op = (uint16_t)batch_get(b, REQUEST_PART_KIND, row, 0),
		.via = tree->calls[call].via,
		.time = tree->calls[call].time,
	};
	disk = disk.len ? disk : bytes_of("disk");
	r = intern_add(&t->q->memory, disk.data, disk.len, &is.disk);
	return r < 0 ? r : array_add(tree->calls, tree->call_count, tree->call_cap, is);
}

int requests_tree_disks(struct requests *q, const struct analysis_input *in, int64_t from,
			struct error *err)
{
	struct tree_disks t = {.q = q, .count = q->tree.call_count};
	const struct scan_request request = {
		.table = TABLE_REQUEST_PART, .columns = ~0ull, .from = from, .to = INT64_MAX};
	int r;

	if (!t.count)
		return 0;
	t.busy = calloc(t.count, sizeof(*t.busy));
	if (!t.busy)
		return -ENOMEM;
	for (uint32_t i = 0; i < t.count; i++) {
		const struct requests_call *c = &q->tree.calls[i];

		t.busy[i] =
			(struct tree_busy){names_task(q->dims, c->thread_id), c->start, c->stop, i};
	}
	array_sort(t.busy, t.count, busy_order);
	r = tree_make_latest(&t);
	if (r >= 0)
		r = analysis_scan(in, &in->runs[0], &request, tree_take_part, &t, err);
	free(t.busy);
	free(t.latest);
	return r;
}
