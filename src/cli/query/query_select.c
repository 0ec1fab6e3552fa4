// SPDX-License-Identifier: Apache-2.0
/* query_select.c: the selection that all commands share, as conditions of the language. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/query/query.h"

/* "text" in quotes, whatever is in it. */
static int put_string(struct buf *out, const char *text)
{
	int r = buf_printf(out, "\"");

	for (; *text && r >= 0; text++) {
		if (*text == '"' || *text == '\\')
			r = buf_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			r = buf_printf(out, "\\x%02x", (unsigned char)*text);
		else
			r = buf_append(out, text, 1);
	}
	return r < 0 ? r : buf_printf(out, "\"");
}

/* A name as a glob that matches nothing else. */
static int put_glob(struct buf *out, const char *name, const char *behind)
{
	_cleanup_buf_ struct buf glob = {0};
	int r = 0;

	for (; *name && r >= 0; name++)
		r = buf_printf(&glob, strchr("*?[]\\", *name) ? "\\%c" : "%c", *name);
	if (r >= 0)
		r = buf_printf(&glob, "%s", behind);
	return r < 0 ? r : put_string(out, buf_str(&glob));
}

static int query_select_put_numbers(struct buf *out, const char *name, const int64_t *list,
				    size_t count)
{
	int r = count ? buf_printf(out, "%s in (", name) : 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = buf_printf(out, "%s%" PRId64, i ? ", " : "", list[i]);
	return r < 0 || !count ? r : buf_printf(out, ")");
}

/* The calls that are chosen, or where they are fewer those that are not. */
static int put_ops(struct buf *out, const struct select *s)
{
	size_t chosen = 0, known = 0, named = 0;
	bool inside;
	int r;

	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		known += op_def(code) != NULL;
		chosen += op_def(code) && select_op(s, code);
	}
	inside = chosen <= known / 2;
	if (chosen == known)
		return 0;
	if (!chosen)
		return buf_printf(out, "false");
	r = buf_printf(out, "%sop in (", inside ? "" : "!(");
	for (uint32_t code = 0; code < OP_CODE_CALLS && r >= 0; code++) {
		if (op_def(code) && select_op(s, code) == inside)
			r = buf_printf(out, "%s\"%s\"", named++ ? ", " : "", op_def(code)->name);
	}
	return r < 0 ? r : buf_printf(out, inside ? ")" : "))");
}

/* One condition, `a || b || ...` over a list. */
static int put_each(struct buf *out, size_t count, const void *arg,
		    int (*put)(struct buf *out, const void *arg, size_t i))
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		if (i)
			r = buf_printf(out, " || ");
		if (r >= 0)
			r = put(out, arg, i);
	}
	return r;
}

static int query_select_put_path(struct buf *out, const void *arg, size_t i)
{
	const struct select *s = arg;
	int r = buf_printf(out, "path ~ ");

	if (r >= 0)
		r = put_string(out, s->paths[i].glob);
	if (r >= 0)
		r = buf_printf(out, " || hostpath ~ ");
	return r < 0 ? r : put_string(out, s->paths[i].glob);
}

static int query_select_put_comm(struct buf *out, const void *arg, size_t i)
{
	const struct select *s = arg;
	int r = buf_printf(out, "comm == ");

	return r < 0 ? r : put_string(out, s->comms[i]);
}

static int put_cgroup(struct buf *out, const void *arg, size_t i)
{
	const struct option_list *l = arg;
	_cleanup_buf_ struct buf path = {0};
	int r = buf_printf(&path, "%s%s", l->items[i][0] == '/' ? "" : "/", l->items[i]);

	while (r >= 0 && path.len && path.data[path.len - 1] == '/')
		path.len--;
	if (r >= 0)
		r = buf_printf(out, "cgroup == ");
	if (r >= 0)
		r = put_string(out, buf_str(&path));
	if (r >= 0)
		r = buf_printf(out, " || cgroup ~ ");
	return r < 0 ? r : put_glob(out, buf_str(&path), "/**");
}

static int query_select_put_unit(struct buf *out, const void *arg, size_t i)
{
	const struct option_list *l = arg;
	_cleanup_buf_ struct buf service = {0};
	int r = buf_printf(out, "unit == ");

	if (r >= 0)
		r = put_string(out, l->items[i]);
	if (r < 0 || strchr(l->items[i], '.'))
		return r;
	r = buf_printf(&service, "%s.service", l->items[i]);
	if (r >= 0)
		r = buf_printf(out, " || unit == ");
	return r < 0 ? r : put_string(out, buf_str(&service));
}

static int put_container(struct buf *out, const void *arg, size_t i)
{
	const struct option_list *l = arg;
	int r = buf_printf(out, "container ~ ");

	return r < 0 ? r : put_glob(out, l->items[i], "*");
}

/* Ids are those of the recorder or of the process's own pid namespace, as everywhere. */
static int query_select_put_ids(struct buf *out, const char *name, const int32_t *ids, size_t count)
{
	int64_t list[SELECT_LIST_MAX] = {0};
	_cleanup_buf_ struct buf inner = {0};
	int r = buf_printf(&inner, "inner_%s", name);

	for (size_t i = 0; i < count; i++)
		list[i] = ids[i];
	if (r >= 0)
		r = query_select_put_numbers(out, name, list, count);
	if (r >= 0 && count)
		r = buf_printf(out, " || ");
	return r < 0 ? r : query_select_put_numbers(out, buf_str(&inner), list, count);
}

static int put_uids(struct buf *out, const struct select *s)
{
	int64_t list[SELECT_LIST_MAX];

	for (size_t i = 0; i < s->uid_count; i++)
		list[i] = s->uids[i];
	return query_select_put_numbers(out, "uid", list, s->uid_count);
}

/* Adds a condition that was written into `text`; nothing where that is empty. */
static int query_select_add(struct plan *p, const char *option, struct buf *text, int written,
			    struct error *err)
{
	struct query_error why = {0};
	int r;

	if (written < 0)
		return error_errno(err, written, "%s", option);
	if (!text->len)
		return 0;
	r = plan_and_where(p, buf_str(text), &why);
	buf_clear(text);
	if (r < 0)
		return error_set(err, r, "%s: %s", option, why.err.message);
	return 0;
}

static int add_who(struct plan *p, const struct select *s, const struct select_flags *f,
		   struct error *err)
{
	_cleanup_buf_ struct buf b = {0};
	int r = query_select_put_ids(&b, "pid", s->pids, s->pid_count);

	/* one of the processes, or one of the threads */
	if (r >= 0 && s->pid_count && s->tid_count)
		r = buf_printf(&b, " || ");
	if (r >= 0)
		r = query_select_put_ids(&b, "tid", s->tids, s->tid_count);
	r = query_select_add(p, s->pid_count ? "-p" : "-t", &b, r, err);
	if (r >= 0)
		r = query_select_add(p, "--comm", &b,
				     put_each(&b, s->comm_count, s, query_select_put_comm), err);
	if (r >= 0)
		r = query_select_add(p, "--uid", &b, put_uids(&b, s), err);
	if (r >= 0)
		r = query_select_add(p, "--unit", &b,
				     put_each(&b, f->units.count, &f->units, query_select_put_unit),
				     err);
	if (r >= 0)
		r = query_select_add(
			p, "--container", &b,
			put_each(&b, f->containers.count, &f->containers, put_container), err);
	if (r >= 0)
		r = query_select_add(p, "--cgroup", &b,
				     put_each(&b, f->cgroups.count, &f->cgroups, put_cgroup), err);
	return r;
}

static int add_what(struct plan *p, const struct select *s, struct error *err)
{
	_cleanup_buf_ struct buf b = {0};
	int r = query_select_add(p, "-e", &b, s->ops_given ? put_ops(&b, s) : 0, err);

	if (r >= 0)
		r = query_select_add(p, "-P", &b,
				     put_each(&b, s->path_count, s, query_select_put_path), err);
	if (r >= 0)
		r = query_select_add(p, "-Z", &b,
				     s->failed_only ? buf_printf(&b, "err is not null") : 0, err);
	if (r >= 0 && s->min_dur_ns)
		r = query_select_add(p, "--slower", &b,
				     buf_printf(&b, "dur >= %" PRId64 "ns", s->min_dur_ns), err);
	return r;
}

static int add_where(struct plan *p, const struct option_list *list, struct error *err)
{
	_cleanup_buf_ struct buf b = {0};
	int r = 0;

	for (size_t i = 0; i < list->count && r >= 0; i++) {
		if (!*list->items[i])
			return error_set(err, -EINVAL, "--where: the expression is empty");
		r = query_select_add(p, "--where", &b, buf_printf(&b, "%s", list->items[i]), err);
	}
	return r;
}

int query_select(struct plan *p, const struct read_flags *flags, struct error *err)
{
	struct select s = {0};
	int r = read_flags_select(flags, &s, err);

	if (r >= 0)
		r = add_who(p, &s, &flags->sel, err);
	if (r >= 0)
		r = add_what(p, &s, err);
	if (r >= 0)
		r = add_where(p, &flags->sel.where, err);
	select_free(&s);
	return r;
}
