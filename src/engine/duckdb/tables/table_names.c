// SPDX-License-Identifier: Apache-2.0
/* table_names.c: which dimension rows hold, and the texts and numbers that hang on the ids of threads and
 * files. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/internal.h"
#include "engine/duckdb/library/enum_types.h"

static void numbers_free(struct numbers *n)
{
	for (size_t i = 0; i < n->traces; i++)
		free(n->values[i]);
	free(n->values);
	free(n->counts);
	*n = (struct numbers){0};
}

void duck_names_free(const struct duckdb_api *d, struct names *n)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		live_free(&n->live[i]);
	for (unsigned int i = 0; i < NAME_TEXTS; i++)
		words_free(d, &n->texts[i]);
	for (unsigned int i = 0; i < NAME_COUNT; i++)
		numbers_free(&n->numbers[i]);
	*n = (struct names){0};
}

/* The table whose ids a name hangs on. */
static enum table_id table_of_name(enum name name)
{
	switch (name) {
	case NAME_PATH:
	case NAME_HOSTPATH:
	case NAME_FILE:
	case NAME_PEER:
	case NAME_FILE_TYPE:
	case NAME_INODE:
		return TABLE_FILE;
	case NAME_STACK:
		return TABLE_STACK;
	default:
		return TABLE_THREAD;
	}
}

int names_live(struct duck *e, enum table_id table, const struct live **ret, struct error *err)
{
	struct names *n = &e->names;

	assert(schema_is_dimension(table) && n->pin == e->pin);
	if (!n->live_made[table]) {
		int r = live_make(&n->live[table], e->store, e->pin, table, err);

		if (r < 0)
			return r;
		n->live_made[table] = true;
	}
	*ret = &n->live[table];
	return 0;
}

static const struct dims_cgroup *cgroup_of(const struct dims *dims, const struct dims_thread *t)
{
	return t->cgroup_id < 0 ? NULL : dims_cgroup(dims, t->cgroup_id);
}

static struct bytes table_names_host_of(const struct dims *dims, const struct dims_thread *t)
{
	const struct dims_process *p = t->process_id < 0 ? NULL : dims_process(dims, t->process_id);
	const struct dims_host *h = p && p->host_id >= 0 ? dims_host(dims, p->host_id) : NULL;

	return h ? h->name : (struct bytes){NULL, 0};
}

static struct bytes table_names_thread_text(const struct dims *dims, int64_t id, enum name name)
{
	const struct dims_thread *t = dims_thread(dims, id);
	const struct dims_cgroup *g;
	struct bytes none = {NULL, 0};

	if (!t)
		return none;
	switch (name) {
	case NAME_COMM:
		return t->comm;
	case NAME_EXE:
		return t->exe;
	case NAME_HOST:
		return table_names_host_of(dims, t);
	default:
		break;
	}
	g = cgroup_of(dims, t);
	if (!g)
		return none;
	return name == NAME_CGROUP ? g->path : name == NAME_CONTAINER ? g->container : g->unit;
}

static struct bytes file_text(const struct dims *dims, int64_t id, enum name name)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(dims, id, &room);
	struct bytes none = {NULL, 0};

	if (!f)
		return none;
	switch (name) {
	case NAME_PATH:
		return f->path;
	case NAME_HOSTPATH:
		return f->hostpath;
	case NAME_PEER:
		return dims_peer(f);
	default:
		return dims_file_name(dims, id);
	}
}

static struct bytes table_names_stack_text(const struct dims *dims, int64_t id)
{
	const struct dims_stack *s = dims_stack(dims, id);

	return !s ? (struct bytes){NULL, 0} : s->names.data ? s->names : s->frames;
}

struct bytes names_text(struct duck *e, enum name name, int64_t id)
{
	const struct dims *dims = store_dims_few(e->store);

	if (name == NAME_STACK)
		return table_names_stack_text(dims, id);
	return table_of_name(name) == TABLE_FILE ? file_text(dims, id, name)
						 : table_names_thread_text(dims, id, name);
}

int names_load_files(struct duck *e, struct error *err)
{
	return store_load_files(e->store, &e->interrupted, err);
}

int names_need(struct duck *e, enum name name, struct error *err)
{
	return table_of_name(name) == TABLE_FILE ? names_load_files(e, err) : 0;
}

bool names_many(const struct duck *e, enum name name)
{
	enum table_id table = table_of_name(name);
	size_t rows = 0;

	for (size_t i = 0; i < e->pin; i++) {
		const struct store_block *b = store_block(e->store, i);

		if (b->table == table)
			rows += b->rows;
	}
	return rows > NAMES_ENUM_MAX;
}

static int64_t name_number(const struct dims *dims, int64_t id, enum name name)
{
	const struct dims_thread *t;
	const struct dims_process *p;
	int64_t v;

	if (name == NAME_FILE_TYPE) {
		struct dims_file room;
		const struct dims_file *f = dims_file(dims, id, &room);

		return f && f->type >= 0 ? f->type : INT64_MIN;
	}
	if (name == NAME_INODE) {
		v = dims_file_inode(dims, id);
		return v < 0 ? INT64_MIN : v;
	}
	t = dims_thread(dims, id);
	if (!t)
		return INT64_MIN;
	p = t->process_id < 0 ? NULL : dims_process(dims, t->process_id);
	switch (name) {
	case NAME_PID:
		v = p ? p->pid : -1;
		break;
	case NAME_PPID:
		v = p ? p->ppid : -1;
		break;
	case NAME_UID:
		v = t->uid;
		break;
	default:
		v = t->process_id;
		break;
	}
	return v < 0 ? INT64_MIN : v;
}

/* How many ids of a trace there can be: one past its largest. */
static int count_ids(const struct dims *d, enum table_id table, size_t traces, size_t **ret)
{
	size_t *counts = calloc(MAX(traces, (size_t)1), sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < dims_rows(d, table); i++) {
		int64_t id = dims_id_at(d, table, i);
		uint64_t trace = id_recording(id);

		if (trace < traces)
			counts[trace] = MAX(counts[trace], (size_t)id_own(id) + 1);
	}
	for (size_t k = 0; k < traces; k++) {
		if (counts[k] > dims_ids_most(d, table)) {
			free(counts);
			return -EBADMSG;
		}
	}
	*ret = counts;
	return 0;
}

static int words_allocate(struct words *w, const struct dims *d, enum table_id table, size_t traces)
{
	int r = count_ids(d, table, traces, &w->ordinal_counts);

	if (r < 0)
		return r;
	w->ordinals = calloc(traces, sizeof(*w->ordinals));
	if (!w->ordinals)
		return -ENOMEM;
	w->traces = traces;
	for (size_t k = 0; k < traces; k++) {
		w->ordinals[k] = malloc((w->ordinal_counts[k] + 1) * sizeof(**w->ordinals));
		if (!w->ordinals[k])
			return -ENOMEM;
		memset(w->ordinals[k], 0xff, (w->ordinal_counts[k] + 1) * sizeof(**w->ordinals));
	}
	return 0;
}

static int words_fill(struct duck *e, enum name name, struct intern *texts, struct words *w)
{
	const struct dims *dims = store_dims_few(e->store);
	enum table_id table = table_of_name(name);
	_cleanup_buf_ struct buf escaped = {0};
	int r = 0;

	for (size_t i = 0; i < dims_rows(dims, table) && r >= 0; i++) {
		int64_t id = dims_id_at(dims, table, i);
		struct bytes text = names_text(e, name, id);

		if (!text.data || id_recording(id) >= w->traces)
			continue;
		buf_clear(&escaped);
		r = engine_escape(text.data, text.len, &escaped);
		if (r >= 0)
			r = intern_add(texts, escaped.data ? escaped.data : (const uint8_t *)"",
				       escaped.len, &w->ordinals[id_recording(id)][id_own(id)]);
	}
	return r;
}

static int words_make(struct duck *e, enum name name, struct words *ret)
{
	_cleanup_(intern_free) struct intern texts = {0};
	_cleanup_free_ uint32_t *ranks = NULL;
	struct words w = {0};
	int r = words_allocate(&w, store_dims_few(e->store), table_of_name(name),
			       store_trace_count(e->store));

	if (r >= 0)
		r = words_fill(e, name, &texts, &w);
	if (r >= 0)
		r = words_declare(e->api, &texts, &w, &ranks);
	if (r < 0) {
		words_free(e->api, &w);
		return r;
	}
	for (size_t k = 0; k < w.traces; k++) {
		for (size_t i = 0; i < w.ordinal_counts[k]; i++) {
			if (w.ordinals[k][i] != WORD_NULL)
				w.ordinals[k][i] = ranks[w.ordinals[k][i]];
		}
	}
	*ret = w;
	return 0;
}

int names_texts(struct duck *e, enum name name, const struct words **ret, struct error *err)
{
	enum table_id table = table_of_name(name);
	int r;

	assert(name < NAME_TEXTS);
	if (!e->names.made[name]) {
		r = names_need(e, name, err);
		if (r < 0)
			return r;
		r = words_make(e, name, &e->names.texts[name]);
		if (r == -EBADMSG)
			return error_set(err, r,
					 "ids of %s are not dense: the trace was not written by "
					 "weir, or is damaged",
					 schema_table(table)->name);
		if (r < 0)
			return error_errno(err, r, "cannot collect the names of %zu ids",
					   dims_rows(store_dims_few(e->store), table));
		e->names.made[name] = true;
	}
	*ret = &e->names.texts[name];
	return 0;
}

static int numbers_make(struct duck *e, enum name name, struct numbers *n)
{
	const struct dims *dims = store_dims_few(e->store);
	enum table_id table = table_of_name(name);
	size_t traces = store_trace_count(e->store);
	int r = count_ids(dims, table, traces, &n->counts);

	if (r < 0)
		return r;
	n->values = calloc(traces, sizeof(*n->values));
	if (!n->values)
		return -ENOMEM;
	n->traces = traces;
	for (size_t k = 0; k < traces; k++) {
		n->values[k] = malloc((n->counts[k] + 1) * sizeof(**n->values));
		if (!n->values[k])
			return -ENOMEM;
		for (size_t i = 0; i < n->counts[k]; i++)
			n->values[k][i] = INT64_MIN;
	}
	for (size_t i = 0; i < dims_rows(dims, table); i++) {
		int64_t id = dims_id_at(dims, table, i);

		if (id_recording(id) < traces)
			n->values[id_recording(id)][id_own(id)] = name_number(dims, id, name);
	}
	return 0;
}

int names_numbers(struct duck *e, enum name name, const struct numbers **ret, struct error *err)
{
	enum table_id table = table_of_name(name);
	int r;

	assert(name >= NAME_TEXTS && name < NAME_COUNT);
	if (!e->names.made[name]) {
		r = names_need(e, name, err);
		if (r < 0)
			return r;
		r = numbers_make(e, name, &e->names.numbers[name]);
		if (r < 0) {
			numbers_free(&e->names.numbers[name]);
			return error_errno(err, r, "cannot collect the numbers of %zu ids",
					   dims_rows(store_dims_few(e->store), table));
		}
		e->names.made[name] = true;
	}
	*ret = &e->names.numbers[name];
	return 0;
}
