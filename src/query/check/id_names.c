/* SPDX-License-Identifier: Apache-2.0 */
/* id_names.c: the value of each name for an id; no other code derives it. */
#include "base/shell.h"
#include "names/names.h"
#include "query/eval/eval_internal.h"

static void id_names_set_text(struct value *ret, struct bytes text)
{
	*ret = (struct value){.null = !text.data, .t = text};
}

static void set_number(struct value *ret, bool known, int64_t number)
{
	*ret = (struct value){.null = !known, .i = known ? number : 0};
}

/* ---- threads ---- */

/* The arguments in shell syntax; stored with a NUL after each. */
static int id_names_argv_text(struct bytes argv, struct buf *scratch, struct value *ret)
{
	int r;

	if (!argv.data) {
		id_names_set_text(ret, argv);
		return 0;
	}
	buf_clear(scratch);
	r = shell_words(scratch, argv.data, argv.len);
	id_names_set_text(ret, (struct bytes){scratch->data ? scratch->data : (const uint8_t *)"",
					      scratch->len});
	return r;
}

int query_column_text(const struct batch *b, unsigned int column, size_t row, struct arena *texts,
		      struct bytes *ret)
{
	_cleanup_buf_ struct buf scratch = {0};
	struct value words;
	int r;

	*ret = batch_get_bytes(b, column, row);
	if (b->table != TABLE_PROCESS || column != PROCESS_ARGV || !ret->data)
		return 0;
	r = id_names_argv_text(*ret, &scratch, &words);
	return r < 0 ? r : arena_text(texts, words.t, ret);
}

static struct bytes host_name(const struct dims *d, const struct dims_process *p)
{
	const struct dims_host *h = p ? dims_host(d, p->host_id) : NULL;

	return h ? h->name : (struct bytes){NULL, 0};
}

static struct bytes id_names_cgroup_text(const struct dims *d, const struct dims_thread *t,
					 enum query_name name)
{
	const struct dims_cgroup *c = dims_cgroup(d, t->cgroup_id);

	if (!c)
		return (struct bytes){NULL, 0};
	assert(name == QNAME_CGROUP_PATH || name == QNAME_CONTAINER || name == QNAME_UNIT);
	return name == QNAME_CGROUP_PATH ? c->path
	       : name == QNAME_CONTAINER ? c->container
					 : c->unit;
}

static int process_value(enum query_name name, const struct dims *d, const struct dims_thread *t,
			 struct buf *scratch, struct value *ret)
{
	const struct dims_process *p = dims_process(d, t->process_id);

	switch (name) {
	case QNAME_PID:
		set_number(ret, p && p->pid >= 0, p ? p->pid : 0);
		return 0;
	case QNAME_INNER_PID:
		set_number(ret, p && p->pid_ns >= 0, p ? p->pid_ns : 0);
		return 0;
	case QNAME_PPID:
		set_number(ret, p && p->ppid >= 0, p ? p->ppid : 0);
		return 0;
	case QNAME_HOST_NAME:
		id_names_set_text(ret, host_name(d, p));
		return 0;
	case QNAME_PROCESS:
		set_number(ret, t->process_id >= 0, t->process_id);
		return 0;
	default:
		assert(name == QNAME_ARGV);
		return id_names_argv_text(p ? p->argv : (struct bytes){NULL, 0}, scratch, ret);
	}
}

static int thread_value(enum query_name name, const struct dims *d, int64_t id, struct buf *scratch,
			struct value *ret)
{
	const struct dims_thread *t = dims_thread(d, id);

	if (!t)
		return 0;
	switch (name) {
	case QNAME_COMM:
		id_names_set_text(ret, t->comm);
		return 0;
	case QNAME_EXE:
		id_names_set_text(ret, t->exe);
		return 0;
	case QNAME_UID:
		set_number(ret, t->uid >= 0, t->uid);
		return 0;
	case QNAME_INNER_TID:
		set_number(ret, t->tid_ns >= 0, t->tid_ns);
		return 0;
	case QNAME_CGROUP_PATH:
	case QNAME_CONTAINER:
	case QNAME_UNIT:
		id_names_set_text(ret, id_names_cgroup_text(d, t, name));
		return 0;
	case QNAME_THREAD:
		set_number(ret, true, dims_latest_thread(d, id));
		return 0;
	default:
		return process_value(name, d, t, scratch, ret);
	}
}

/* ---- files ---- */

static void file_value(enum query_name name, const struct dims *d, int64_t id, struct value *ret)
{
	const struct dims_file *f;
	struct dims_file room;
	uint64_t connection;

	if (name == QNAME_FILE || name == QNAME_FILE2) {
		if (dims_has(d, TABLE_FILE, id))
			set_number(ret, true, dims_latest_file(d, id));
		return;
	}
	f = dims_file(d, id, &room);
	if (!f)
		return;
	switch (name) {
	case QNAME_PATH:
	case QNAME_PATH2:
		id_names_set_text(ret, f->path);
		break;
	case QNAME_HOSTPATH:
		id_names_set_text(ret, f->hostpath);
		break;
	case QNAME_FILE_TYPE:
		set_number(ret, f->type >= 0, f->type);
		break;
	case QNAME_FS:
		id_names_set_text(ret, f->fs);
		break;
	case QNAME_DEV:
		set_number(ret, f->dev >= 0, f->dev);
		break;
	case QNAME_INO:
		set_number(ret, f->ino != 0, (int64_t)f->ino);
		break;
	case QNAME_CONNECTION:
	case QNAME_CONNECTION2:
		connection = dims_connection(d, id, f);
		set_number(ret, connection != 0, (int64_t)connection);
		break;
	default:
		assert(name == QNAME_PEER);
		id_names_set_text(ret, dims_peer(f));
		break;
	}
}

/* Until its names are resolved a stack is shown as its addresses. */
static void stack_value(const struct dims *d, int64_t id, struct value *ret)
{
	const struct dims_stack *s = dims_stack(d, id);

	if (s)
		id_names_set_text(ret, s->names.data ? s->names : s->frames);
}

enum table_id query_name_table(enum query_name name)
{
	static_assert(QNAME_PROCESS + 1 == QNAME_PATH,
		      "names of threads come before those of files");
	assert(name < QNAME_COUNT);
	if (name == QNAME_STACK || name == QNAME_KSTACK)
		return TABLE_STACK;
	return name < QNAME_PATH ? TABLE_THREAD : TABLE_FILE;
}

int query_name_value(enum query_name name, const struct dims *d, int64_t id, struct buf *scratch,
		     struct value *ret)
{
	*ret = (struct value){.null = true};
	if (id < 0)
		return 0;
	if (query_name_table(name) == TABLE_THREAD)
		return thread_value(name, d, id, scratch, ret);
	if (query_name_table(name) == TABLE_STACK) {
		stack_value(d, id, ret);
		return 0;
	}
	file_value(name, d, id, ret);
	return 0;
}

/* ---- entities ---- */

int64_t query_entity_id(enum table_id entity, const struct dims *d, int64_t id)
{
	assert(schema_is_dimension(entity));
	switch (entity) {
	case TABLE_THREAD:
		return dims_latest_thread(d, id);
	case TABLE_FILE:
		return dims_latest_file(d, id);
	default:
		return id;
	}
}

int query_entity_text(enum table_id entity, const struct dims *d, int64_t id, struct buf *out)
{
	const struct dims_stack *stack;
	const struct dims_cgroup *c;
	const struct dims_host *h;
	struct bytes name = {NULL, 0};

	switch (entity) {
	case TABLE_PROCESS:
		return names_process(d, id, out);
	case TABLE_THREAD:
		return names_thread(d, id, out);
	case TABLE_FILE:
		name = dims_file_name(d, id);
		break;
	case TABLE_CGROUP:
		c = dims_cgroup(d, id);
		name = c ? c->path : name;
		break;
	case TABLE_STACK:
		stack = dims_stack(d, id);
		name = stack ? stack->names : name;
		break;
	default:
		assert(entity == TABLE_HOST);
		h = dims_host(d, id);
		name = h ? h->name : name;
		break;
	}
	return name.data ? buf_append(out, name.data, name.len) : buf_append(out, "?", 1);
}

int query_entity_shown(enum table_id entity, const struct dims *d, int64_t id, struct buf *out)
{
	names_put_host(d, entity, id, out);
	return query_entity_text(entity, d, id, out);
}
