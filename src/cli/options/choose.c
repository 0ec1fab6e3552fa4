/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/choose.h"
#include "cli/record/cgroups.h"

#include <string.h>

static bool in_list(const int32_t *list, size_t count, int64_t v)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == v)
			return true;
	}
	return false;
}

static bool cgroup_chosen(const struct select *s, const struct dims *d, int64_t id)
{
	const struct dims_cgroup *c = dims_cgroup(d, id);

	for (size_t i = 0; c && i < s->cgroup_count; i++) {
		if (cgroup_stored_match(s->cgroups[i], c->path))
			return true;
	}
	return !s->cgroup_count;
}

static bool comm_chosen(const struct select *s, struct bytes comm)
{
	for (size_t i = 0; i < s->comm_count; i++) {
		if (strlen(s->comms[i]) == comm.len && !memcmp(s->comms[i], comm.data, comm.len))
			return true;
	}
	return !s->comm_count;
}

static bool thread_chosen(const struct select *s, const struct dims *d, const struct dims_thread *t)
{
	const struct dims_process *p = dims_process(d, t->process_id);
	bool user = !s->uid_count;

	/* one of the processes, or one of the threads, as when recording */
	if ((s->pid_count || s->tid_count) &&
	    !(p && (in_list(s->pids, s->pid_count, p->pid) ||
		    in_list(s->pids, s->pid_count, p->pid_ns))) &&
	    !in_list(s->tids, s->tid_count, t->tid) && !in_list(s->tids, s->tid_count, t->tid_ns))
		return false;
	for (size_t i = 0; i < s->uid_count; i++)
		user |= s->uids[i] == t->uid;
	return user && comm_chosen(s, t->comm) && cgroup_chosen(s, d, t->cgroup_id);
}

static bool file_chosen(const struct select *s, const struct dims *d, int64_t id)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, id, &room);
	struct bytes names[3] = {{NULL, 0}};

	if (!f)
		return false;
	/* either view of the name, else what is shown for it (sockets, pipes, names of failed
	 * calls) */
	names[0] = f->path;
	names[1] = f->hostpath;
	names[2] = dims_file_version_name(d, id);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].data &&
		    select_path_match(s, (const char *)names[i].data, names[i].len))
			return true;
	}
	return false;
}

int choice_make(struct choice *ret, const struct select *s, const struct dims *d)
{
	bool who = s->pid_count || s->tid_count || s->comm_count || s->cgroup_count || s->uid_count;
	int r = 0;

	*ret = (struct choice){.filter = {.from = INT64_MIN, .to = INT64_MAX, .ops = s}};
	for (size_t i = 0; who && r == 0 && i < dims_rows(d, TABLE_THREAD); i++) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);

		if (thread_chosen(s, d, dims_thread(d, id)))
			r = map_set(&ret->threads, (uint64_t)id, 1);
	}
	for (size_t i = 0; s->path_count && r == 0 && i < dims_rows(d, TABLE_FILE); i++) {
		int64_t id = dims_id_at(d, TABLE_FILE, i);

		if (file_chosen(s, d, id))
			r = map_set(&ret->files, (uint64_t)id, 1);
	}
	ret->filter.threads = who ? &ret->threads : NULL;
	ret->filter.files = s->path_count ? &ret->files : NULL;
	return r;
}

int choice_where(struct choice *c, const struct option_list *list, const struct store *s,
		 struct error *err)
{
	int r = list->count ? annotations_new(&c->annotations, s, err) : 0;

	if (r >= 0)
		r = where_parse(&c->where, list, annotations_get(c->annotations), err);
	if (r < 0 || !c->where.expr)
		return r;
	r = scan_where_new(&c->scan_where, c->where.expr, err);
	if (r >= 0)
		r = scan_where_names(c->scan_where, store_dims(s), err);
	c->filter.where = c->scan_where;
	return r;
}

void choice_free(struct choice *c)
{
	scan_where_free(c->scan_where);
	c->scan_where = NULL;
	where_free(&c->where);
	annotations_free(c->annotations);
	c->annotations = NULL;
	map_free(&c->threads);
	map_free(&c->files);
}
