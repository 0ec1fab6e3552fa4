// SPDX-License-Identifier: Apache-2.0
/* plain.c: the slow and obvious way to answer. */
#include "plain.h"

#include <errno.h>
#include <math.h>

#include "hist/hist.h"

/* ---- rows and values ---- */

struct plain_row *plain_rows(size_t count)
{
	struct plain_row *rows = calloc(count, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < count; i++) {
		struct plain_row *r = &rows[i];

		r->o = fixture_op(i);
		r->tid = 100 + r->o.thread_id;
		r->pid = 100 + r->o.thread_id / 3 * 3;
		snprintf(r->comm_room, sizeof(r->comm_room),
			 r->o.thread_id == 5 ? "bad\xff" : "worker-%lld",
			 (long long)(9 - r->o.thread_id));
		r->comm = (struct bytes){(uint8_t *)r->comm_room, strlen(r->comm_room)};
		if (!r->o.no_file && r->o.file_id != 12)
			r->path = fixture_path((size_t)r->o.file_id, r->path_room);
	}
	return rows;
}

struct cell plain_int(int64_t v)
{
	return (struct cell){.kind = CELL_INT, .i = v};
}

static struct cell null_cell(void)
{
	return (struct cell){.kind = CELL_NULL};
}

static struct cell float_cell(double v)
{
	return (struct cell){.kind = CELL_FLOAT, .f = v};
}

struct cell plain_text(struct bytes text)
{
	_cleanup_buf_ struct buf escaped = {0};
	struct cell c = {.kind = CELL_TEXT};

	if (!text.data)
		return null_cell();
	assert_int_equal(engine_escape(text.data, text.len, &escaped), 0);
	assert_true(escaped.len < sizeof(c.text));
	memcpy(c.text, buf_str(&escaped), escaped.len + 1);
	return c;
}

static struct cell word(const char *text)
{
	return plain_text((struct bytes){(const uint8_t *)text, strlen(text)});
}

/* With as many digits as it takes to read the same number back. */
static void put_float(double v, struct buf *out)
{
	char text[64];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	assert_int_equal(buf_printf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0"), 0);
}

void plain_put(const struct cell *c, struct buf *out)
{
	switch (c->kind) {
	case CELL_NULL:
		assert_int_equal(buf_printf(out, "NULL"), 0);
		return;
	case CELL_INT:
		assert_int_equal(buf_printf(out, "%lld", (long long)c->i), 0);
		return;
	case CELL_FLOAT:
		put_float(c->f, out);
		return;
	case CELL_BOOL:
		assert_int_equal(buf_printf(out, "%s", c->i ? "true" : "false"), 0);
		return;
	case CELL_TEXT:
		assert_int_equal(buf_printf(out, "%s", c->text), 0);
		return;
	}
}

static int compare_cells(const struct cell *a, const struct cell *b)
{
	if (a->kind == CELL_NULL || b->kind == CELL_NULL) /* nulls last */
		return (a->kind == CELL_NULL) - (b->kind == CELL_NULL);
	assert_int_equal(a->kind, b->kind);
	if (a->kind == CELL_TEXT)
		return strcmp(a->text, b->text);
	if (a->kind == CELL_FLOAT)
		return (a->f > b->f) - (a->f < b->f);
	return (a->i > b->i) - (a->i < b->i);
}

/* ---- conditions ---- */

#define CONDITION(name, test)                             \
	static int name(const struct plain_row *r)        \
	{                                                 \
		return (test) ? PLAIN_TRUE : PLAIN_FALSE; \
	}
/* Unknown where `null`. */
#define CONDITION_OF(name, null, test)                                             \
	static int name(const struct plain_row *r)                                 \
	{                                                                          \
		return (null) ? PLAIN_UNKNOWN : (test) ? PLAIN_TRUE : PLAIN_FALSE; \
	}

static bool is_op(const struct plain_row *r, const char *name)
{
	return r->o.op == op_find(name);
}

static int order_of(struct bytes a, const char *b)
{
	int order = memcmp(a.data, b, MIN(a.len, strlen(b)));

	return order ? order : (a.len > strlen(b)) - (a.len < strlen(b));
}

static bool begins(struct bytes a, const char *b)
{
	return a.len >= strlen(b) && !memcmp(a.data, b, strlen(b));
}

static bool is_worker(const struct plain_row *r)
{
	return r->o.thread_id >= 2 && r->o.thread_id <= 4; /* worker-7, -6, -5 */
}

CONDITION(dur_long, r->o.dur > 50000)
CONDITION(dur_between, r->o.dur >= 10000 && r->o.dur <= 20000)
CONDITION(dur_short, r->o.dur <= 99999)
CONDITION(op_in, is_op(r, "write") || is_op(r, "fsync"))
CONDITION(op_not, !is_op(r, "openat"))
CONDITION(no_error, !r->o.failed)
CONDITION_OF(is_enoent, !r->o.failed, r->o.err == ENOENT)
CONDITION_OF(path_like, !r->path.data, begins(r->path, "/data/"))
CONDITION_OF(path_is, !r->path.data, !order_of(r->path, "/data/1/file-13.sst"))
CONDITION_OF(path_after, !r->path.data, order_of(r->path, "/data/1") > 0)
CONDITION(comm_matches, is_worker(r))
CONDITION(bytes_rest, r->o.bytes % 7 == 3)
CONDITION(bytes_half, (double)r->o.bytes / 2 > 2000)
CONDITION_OF(file_in, r->o.no_file,
	     r->o.file_id == 3 || r->o.file_id == 5 || r->o.file_id == 17 || r->o.file_id == 40)
CONDITION(pid_is, r->pid == 100)
CONDITION(tid_next, r->tid - r->pid == 1)
CONDITION(has_pos, !r->o.no_file)
CONDITION_OF(ret_negative, r->o.running, r->o.ret < 0)
CONDITION(comm_long, r->comm.len == 8)
CONDITION(error_or_again, !r->o.failed || r->o.err == EAGAIN)

const struct condition plain_conditions[] = {
	{"dur > 50us", "dur > 50000", dur_long},
	{"dur in 10us..20us", "dur BETWEEN 10000 AND 20000", dur_between},
	{"dur <= 99999ns", "dur <= 99999", dur_short},
	{"op in (write, fsync)", "op IN ('write', 'fsync')", op_in},
	{"op != openat", "op <> 'openat'", op_not},
	{"err is null", "err IS NULL", no_error},
	{"err == ENOENT", "err = 'ENOENT'", is_enoent},
	{"path like \"/data/%\"", "path LIKE '/data/%'", path_like},
	{"path == \"/data/1/file-13.sst\"", "path = '/data/1/file-13.sst'", path_is},
	{"path > \"/data/1\"", "path > '/data/1'", path_after},
	{"comm =~ \"^worker-[5-7]$\"", "regexp_matches(comm, '^worker-[5-7]$')", comm_matches},
	{"bytes % 7 == 3", "bytes % 7 = 3", bytes_rest},
	{"bytes / 2 > 2000", "bytes / 2 > 2000", bytes_half},
	{"file_id in (3, 5, 17, 40)", "file_id IN (3, 5, 17, 40)", file_in},
	{"pid == 100", "pid = 100", pid_is},
	{"tid - pid == 1", "tid - pid = 1", tid_next},
	{"pos is not null", "pos IS NOT NULL", has_pos},
	{"ret < 0", "ret < 0", ret_negative},
	{"len(comm) == 8", "strlen(comm) = 8", comm_long},
	{"coalesce(err, EAGAIN) == EAGAIN", "coalesce(err, 'EAGAIN') = 'EAGAIN'", error_or_again},
};
const size_t plain_condition_count = ARRAY_SIZE(plain_conditions);

static int both(int a, int b)
{
	if (a == PLAIN_FALSE || b == PLAIN_FALSE)
		return PLAIN_FALSE;
	return a == PLAIN_TRUE && b == PLAIN_TRUE ? PLAIN_TRUE : PLAIN_UNKNOWN;
}

static int either(int a, int b)
{
	if (a == PLAIN_TRUE || b == PLAIN_TRUE)
		return PLAIN_TRUE;
	return a == PLAIN_FALSE && b == PLAIN_FALSE ? PLAIN_FALSE : PLAIN_UNKNOWN;
}

static bool passes(const struct plain_question *q, const struct plain_row *r)
{
	int some = PLAIN_FALSE, all = PLAIN_TRUE;

	for (size_t i = 0; i < q->condition_count; i++) {
		int is = q->conditions[i].is(r);

		if (q->conditions[i].negated && is != PLAIN_UNKNOWN)
			is = is == PLAIN_TRUE ? PLAIN_FALSE : PLAIN_TRUE;
		if (i && q->conditions[i].either) {
			some = either(some, all);
			all = PLAIN_TRUE;
		}
		all = both(all, is);
	}
	return either(some, all) == PLAIN_TRUE;
}

/* ---- keys ---- */

static struct cell key_op(const struct plain_row *r)
{
	char room[64];

	return word(op_name((uint32_t)r->o.op, room));
}

static struct cell key_err(const struct plain_row *r)
{
	return r->o.failed ? word(r->o.err == ENOENT ? "ENOENT" : "EAGAIN") : null_cell();
}

static struct cell key_comm(const struct plain_row *r)
{
	return plain_text(r->comm);
}

static struct cell key_tid(const struct plain_row *r)
{
	return plain_int(r->tid);
}

static struct cell key_pid(const struct plain_row *r)
{
	return plain_int(r->pid);
}

static struct cell key_path(const struct plain_row *r)
{
	return plain_text(r->path);
}

static struct cell key_file(const struct plain_row *r)
{
	return r->o.no_file ? null_cell() : plain_int(r->o.file_id);
}

static struct cell key_dur(const struct plain_row *r)
{
	return plain_int(r->o.dur - r->o.dur % 10000);
}

static struct cell key_bytes(const struct plain_row *r)
{
	return plain_int(r->o.bytes % 5);
}

static struct cell key_no_error(const struct plain_row *r)
{
	return (struct cell){.kind = CELL_BOOL, .i = !r->o.failed};
}

const struct key plain_keys[] = {
	{"op", "op", key_op},
	{"err", "err", key_err},
	{"comm", "comm", key_comm},
	{"tid", "tid", key_tid},
	{"pid", "pid", key_pid},
	{"path", "path", key_path},
	{"file_id", "file_id", key_file},
	{"bucket(dur, 10us)", "dur - dur % 10000", key_dur},
	{"bytes % 5", "bytes % 5", key_bytes},
	{"err is null", "err IS NULL", key_no_error},
};
const size_t plain_key_count = ARRAY_SIZE(plain_keys);

/* ---- aggregates ---- */

typedef bool plain_number(const struct plain_row *r, int64_t *ret);

static bool of_dur(const struct plain_row *r, int64_t *ret)
{
	*ret = r->o.dur;
	return true;
}

static bool of_bytes(const struct plain_row *r, int64_t *ret)
{
	*ret = r->o.bytes;
	return true;
}

static bool of_ret(const struct plain_row *r, int64_t *ret)
{
	*ret = r->o.ret;
	return !r->o.running;
}

static bool of_pos(const struct plain_row *r, int64_t *ret)
{
	*ret = r->o.pos;
	return !r->o.no_file;
}

static bool of_tid(const struct plain_row *r, int64_t *ret)
{
	*ret = r->tid;
	return true;
}

static bool of_file(const struct plain_row *r, int64_t *ret)
{
	*ret = r->o.file_id;
	return !r->o.no_file;
}

static struct cell count_rows(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return plain_int((int64_t)n);
}

static struct cell count_if(const struct plain_row *rows, const uint32_t *in, size_t n,
			    plain_condition *is)
{
	int64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += is(&rows[in[i]]) == PLAIN_TRUE;
	return plain_int(count);
}

CONDITION(dur_longer, r->o.dur > 70000)
CONDITION(has_error, r->o.failed)

static struct cell count_err(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return count_if(rows, in, n, has_error);
}

static struct cell countif_dur(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return count_if(rows, in, n, dur_longer);
}

static struct cell countif_enoent(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return count_if(rows, in, n, is_enoent);
}

/* Of the values that are known: how many, sum, least, largest. */
struct figures {
	int64_t count, sum, min, max;
};

static struct figures figures_of(const struct plain_row *rows, const uint32_t *in, size_t n,
				 plain_number *of)
{
	struct figures f = {.min = INT64_MAX, .max = INT64_MIN};

	for (size_t i = 0; i < n; i++) {
		int64_t v;

		if (!of(&rows[in[i]], &v))
			continue;
		f.count++;
		f.sum += v;
		f.min = MIN(f.min, v);
		f.max = MAX(f.max, v);
	}
	return f;
}

#define AGGREGATE(name, of, value)                                                          \
	static struct cell name(const struct plain_row *rows, const uint32_t *in, size_t n) \
	{                                                                                   \
		struct figures f = figures_of(rows, in, n, of);                             \
                                                                                            \
		return f.count ? (value) : null_cell();                                     \
	}

AGGREGATE(sum_bytes, of_bytes, plain_int(f.sum))
AGGREGATE(sum_dur, of_dur, plain_int(f.sum))
AGGREGATE(sum_ret, of_ret, plain_int(f.sum))
AGGREGATE(min_dur, of_dur, plain_int(f.min))
AGGREGATE(max_dur, of_dur, plain_int(f.max))
AGGREGATE(max_pos, of_pos, plain_int(f.max))
AGGREGATE(avg_dur, of_dur, plain_int((int64_t)round((double)f.sum / (double)f.count)))
AGGREGATE(avg_tid, of_tid, float_cell((double)f.sum / (double)f.count))

static int compare_ints(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The known values in order; how many. */
static size_t sorted(const struct plain_row *rows, const uint32_t *in, size_t n, plain_number *of,
		     int64_t **ret)
{
	size_t count = 0;

	*ret = calloc(n + 1, sizeof(**ret));
	assert_non_null(*ret);
	for (size_t i = 0; i < n; i++)
		count += of(&rows[in[i]], &(*ret)[count]);
	qsort(*ret, count, sizeof(**ret), compare_ints);
	return count;
}

/* The value at that rank, as exactly as the histogram keeps it, and none above the largest. */
static struct cell quantile(const struct plain_row *rows, const uint32_t *in, size_t n,
			    plain_number *of, size_t thousandths)
{
	_cleanup_free_ int64_t *values = NULL;
	size_t count = sorted(rows, in, n, of, &values);

	if (!count)
		return null_cell();
	return plain_int(MIN((int64_t)hist_middle(hist_bucket(
				     (uint64_t)values[(count * thousandths + 999) / 1000 - 1])),
			     values[count - 1]));
}

static struct cell p50_dur(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return quantile(rows, in, n, of_dur, 500);
}

static struct cell p99_dur(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return quantile(rows, in, n, of_dur, 990);
}

static struct cell p999_bytes(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	return quantile(rows, in, n, of_bytes, 999);
}

static struct cell distinct_files(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	_cleanup_free_ int64_t *values = NULL;
	size_t count = sorted(rows, in, n, of_file, &values), different = 0;

	for (size_t i = 0; i < count; i++)
		different += !i || values[i] != values[i - 1];
	return plain_int((int64_t)different);
}

/* Every file but the socket has a path of its own. */
static struct cell distinct_paths(const struct plain_row *rows, const uint32_t *in, size_t n)
{
	bool seen[FIXTURE_FILES] = {false};
	int64_t different = 0;

	for (size_t i = 0; i < n; i++) {
		const struct plain_row *r = &rows[in[i]];

		different += r->path.data && !seen[r->o.file_id];
		seen[r->o.file_id] |= r->path.data != NULL;
	}
	return plain_int(different);
}

const struct aggregate plain_aggregates[] = {
	{"count()", "count(*)", count_rows},
	{"count(err)", "count(err)", count_err},
	{"countif(dur > 70us)", "count(*) FILTER (WHERE dur > 70000)", countif_dur},
	{"countif(err == ENOENT)", "count(*) FILTER (WHERE err = 'ENOENT')", countif_enoent},
	{"sum(bytes)", "sum(bytes)", sum_bytes},
	{"sum(dur)", "sum(dur)", sum_dur},
	{"sum(ret)", "sum(ret)", sum_ret},
	{"min(dur)", "min(dur)", min_dur},
	{"max(dur)", "max(dur)", max_dur},
	{"max(pos)", "max(pos)", max_pos},
	{"avg(dur)", "round(avg(dur))::BIGINT", avg_dur},
	{"avg(tid)", "avg(tid)", avg_tid},
	{"p50(dur)", "least(p50(hist(dur)), max(dur))", p50_dur},
	{"p99(dur)", "least(p99(hist(dur)), max(dur))", p99_dur},
	{"p999(bytes)", "least(p999(hist(bytes)), max(bytes))", p999_bytes},
	{"distinct(file_id)", "count(DISTINCT file_id)", distinct_files},
	{"distinct(path)", "count(DISTINCT path)", distinct_paths},
};
const size_t plain_aggregate_count = ARRAY_SIZE(plain_aggregates);

/* ---- groups ---- */

struct group {
	struct cell keys[PLAIN_KEYS], values[PLAIN_AGGREGATES];
	uint32_t *rows;
	size_t count, cap;
};

struct groups {
	struct intern names; /* the keys as text -> the group */
	struct group *groups;
	size_t cap;
};

static void group_add(struct groups *g, const struct plain_question *q,
		      const struct plain_row *rows, size_t at)
{
	_cleanup_buf_ struct buf name = {0};
	struct cell keys[PLAIN_KEYS];
	size_t before = g->names.count;
	struct group *to;
	uint32_t id;

	for (size_t k = 0; k < q->key_count; k++) {
		keys[k] = q->keys[k](&rows[at]);
		assert_int_equal(buf_printf(&name, "%d ", keys[k].kind), 0);
		plain_put(&keys[k], &name);
		assert_int_equal(buf_append(&name, "", 1), 0);
	}
	assert_int_equal(intern_add(&g->names, buf_str(&name), name.len, &id), 0);
	if (id == before) {
		assert_int_equal(grow((void **)&g->groups, &g->cap, id + 1, sizeof(*g->groups)), 0);
		g->groups[id] = (struct group){0};
		for (size_t k = 0; k < q->key_count; k++)
			g->groups[id].keys[k] = keys[k];
	}
	to = &g->groups[id];
	assert_int_equal(grow((void **)&to->rows, &to->cap, to->count + 1, sizeof(*to->rows)), 0);
	to->rows[to->count++] = (uint32_t)at;
}

/* Without keys there is one group, also of no row. */
static void group_of_all(struct groups *g)
{
	uint32_t id;

	if (g->names.count)
		return;
	assert_int_equal(intern_add(&g->names, "", 0, &id), 0);
	assert_int_equal(grow((void **)&g->groups, &g->cap, 1, sizeof(*g->groups)), 0);
	g->groups[0] = (struct group){0};
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int order = compare_cells(&x->values[0], &y->values[0]);

	if (order)
		return x->values[0].kind == CELL_NULL || y->values[0].kind == CELL_NULL ? order
											: -order;
	for (size_t k = 0; k < PLAIN_KEYS && !order; k++)
		order = compare_cells(&x->keys[k], &y->keys[k]);
	return order;
}

static void put_group(const struct plain_question *q, const struct group *g, struct buf *out)
{
	for (size_t k = 0; k < q->key_count; k++) {
		plain_put(&g->keys[k], out);
		assert_int_equal(buf_append(out, "|", 1), 0);
	}
	for (size_t k = 0; k < q->aggregate_count; k++) {
		if (k)
			assert_int_equal(buf_append(out, "|", 1), 0);
		plain_put(&g->values[k], out);
	}
	assert_int_equal(buf_append(out, "\n", 1), 0);
}

void plain_answer(const struct plain_question *q, const struct plain_row *rows, size_t count,
		  struct buf *out)
{
	struct groups g = {0};
	size_t n;

	for (size_t i = 0; i < count; i++) {
		if (passes(q, &rows[i]))
			group_add(&g, q, rows, i);
	}
	if (!q->key_count)
		group_of_all(&g);
	n = g.names.count;
	for (size_t i = 0; i < n; i++) {
		struct group *one = &g.groups[i];

		for (size_t k = 0; k < q->aggregate_count; k++)
			one->values[k] = q->aggregates[k](rows, one->rows, one->count);
		free(one->rows);
	}
	if (q->head && n)
		qsort(g.groups, n, sizeof(*g.groups), compare_groups);
	for (size_t i = 0; i < (q->head ? MIN(q->head, n) : n); i++)
		put_group(q, &g.groups[i], out);
	free(g.groups);
	intern_free(&g.names);
}
