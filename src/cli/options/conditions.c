// SPDX-License-Identifier: Apache-2.0
#include "cli/options/conditions.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "schema/ops.h"

/* Writes any text as a quoted string. */
static int put_string(struct buf *out, const char *text)
{
	buf_printf(out, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			buf_printf(out, "\\x%02x", (unsigned char)*text);
		else
			buf_append(out, text, 1);
	}
	return buf_printf(out, "\"");
}

/* Writes a name as a glob that matches only that name. */
static int put_escaped(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_printf(out, strchr("*?[]\\", *name) ? "\\%c" : "%c", *name);
	return buf_status(out);
}

/* Writes a glob of the name and what may follow it. */
static int put_glob(struct buf *out, const char *name, const char *behind)
{
	_cleanup_buf_ struct buf glob = {0};
	int r;

	put_escaped(&glob, name);
	r = buf_printf(&glob, "%s", behind);
	return r < 0 ? r : put_string(out, buf_str(&glob));
}

static int conditions_put_numbers(struct buf *out, const char *name, const int64_t *list,
				  size_t count)
{
	int r = count ? buf_printf(out, "%s in (", name) : 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = buf_printf(out, "%s%" PRId64, i ? ", " : "", list[i]);
	return r < 0 || !count ? r : buf_printf(out, ")");
}

/* Writes the chosen calls or, if they are fewer, the others. */
static int put_ops(struct buf *out, const struct select *s)
{
	size_t chosen = 0, known = 0, named = 0;
	bool inside;

	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		known += op_def(code) != NULL;
		chosen += op_def(code) && select_op(s, code);
	}
	inside = chosen <= known / 2;
	if (chosen == known)
		return buf_status(out);
	if (!chosen)
		return buf_printf(out, "false");
	buf_printf(out, "%sop in (", inside ? "" : "!(");
	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		if (op_def(code) && select_op(s, code) == inside)
			buf_printf(out, "%s\"%s\"", named++ ? ", " : "", op_def(code)->name);
	}
	return buf_printf(out, inside ? ")" : "))");
}

/* Writes one condition over a list: `a || b || ...`. */
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

/*
 * Matches either view of the name, of either file; files without a path (sockets, names of failed calls) by their
 * displayed name.
 */
static int conditions_put_path(struct buf *out, const void *arg, size_t i)
{
	static const char *const names[] = {"path", " || hostpath", " || path is null && file",
					    " || path2"};
	const struct select *s = arg;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		buf_printf(out, "%s ~ ", names[k]);
		put_string(out, s->paths[i].glob);
	}
	return buf_status(out);
}

static int conditions_put_comm(struct buf *out, const void *arg, size_t i)
{
	const struct select *s = arg;

	buf_printf(out, "comm == ");
	return put_string(out, s->comms[i]);
}

static int put_cgroup(struct buf *out, const void *arg, size_t i)
{
	const struct option_list *l = arg;
	_cleanup_buf_ struct buf path = {0};
	int r = buf_printf(&path, "%s%s", l->items[i][0] == '/' ? "" : "/", l->items[i]);

	if (r < 0)
		return r;
	while (r >= 0 && path.len && path.data[path.len - 1] == '/')
		path.len--;
	if (r < 0)
		return r;
	buf_printf(out, "cgroup == ");
	put_string(out, buf_str(&path));
	buf_printf(out, " || cgroup ~ ");
	return put_glob(out, buf_str(&path), "/**");
}

/* Matches a folder of this name (before + name + after) in the path, and everything below it. */
static int put_below(struct buf *out, const char *before, const char *name, const char *after)
{
	static const char *const below[] = {"", "/**"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(below) && r >= 0; i++) {
		_cleanup_buf_ struct buf glob = {0};

		buf_printf(&glob, "**/%s", before);
		put_escaped(&glob, name);
		r = buf_printf(&glob, "%s%s", after, below[i]);
		if (r >= 0)
			r = buf_printf(out, "%scgroup ~ ", i ? " || " : "");
		if (r >= 0)
			r = put_string(out, buf_str(&glob));
	}
	return r;
}

static int conditions_put_unit(struct buf *out, const void *arg, size_t i)
{
	const struct option_list *l = arg;
	int r = put_below(out, "", l->items[i], "");

	if (r < 0 || strchr(l->items[i], '.'))
		return r;
	r = buf_printf(out, " || ");
	return r < 0 ? r : put_below(out, "", l->items[i], ".service");
}

/* Matches an id or its prefix, or the name of an LXC container or a systemd machine. */
static int put_container(struct buf *out, const void *arg, size_t i)
{
	static const char *const machine[][2] = {{"systemd-nspawn@", ".service"},
						 {"machine-", ".scope"}};
	const struct option_list *l = arg;
	int r;

	buf_printf(out, "container ~ ");
	r = put_glob(out, l->items[i], "*");
	if (r < 0)
		return r;
	for (size_t k = 0; k < ARRAY_SIZE(machine) && r >= 0; k++) {
		r = buf_printf(out, " || ");
		if (r >= 0)
			r = put_below(out, machine[k][0], l->items[i], machine[k][1]);
	}
	return r;
}

/* Ids are those of the recorder or of the process's own pid namespace, as everywhere. */
static int conditions_put_ids(struct buf *out, const char *name, const int32_t *ids, size_t count)
{
	int64_t list[SELECT_LIST_MAX] = {0};
	_cleanup_buf_ struct buf inner = {0};
	int r = buf_printf(&inner, "inner_%s", name);

	for (size_t i = 0; i < count; i++)
		list[i] = ids[i];
	if (r >= 0)
		r = conditions_put_numbers(out, name, list, count);
	if (r >= 0 && count)
		r = buf_printf(out, " || ");
	return r < 0 ? r : conditions_put_numbers(out, buf_str(&inner), list, count);
}

static int put_uids(struct buf *out, const struct select *s)
{
	int64_t list[SELECT_LIST_MAX];

	for (size_t i = 0; i < s->uid_count; i++)
		list[i] = s->uids[i];
	return conditions_put_numbers(out, "uid", list, s->uid_count);
}

/* ---- all of them ---- */

struct conditions {
	struct buf text; /* the current condition */
	int (*take)(void *arg, const char *option, const char *text, struct error *err);
	void *arg;
	struct error *err;
};

/* Passes on the condition that was written, unless it is empty. */
static int conditions_give(struct conditions *c, const char *option, int written)
{
	int r;

	if (written < 0)
		return error_errno(c->err, written, "%s", option);
	if (!c->text.len)
		return 0;
	r = c->take(c->arg, option, buf_str(&c->text), c->err);
	buf_clear(&c->text);
	return r;
}

/* Matches one of the processes or one of the threads. */
static int conditions_put_tasks(struct buf *out, const struct select *s)
{
	int r = conditions_put_ids(out, "pid", s->pids, s->pid_count);

	if (r >= 0 && s->pid_count && s->tid_count)
		r = buf_printf(out, " || ");
	return r < 0 ? r : conditions_put_ids(out, "tid", s->tids, s->tid_count);
}

static int conditions_who(struct conditions *c, const struct select_flags *f,
			  const struct select *s)
{
	struct buf *b = &c->text;
	int r = conditions_give(c, s->pid_count ? "-p" : "-t", conditions_put_tasks(b, s));

	if (r < 0)
		return r;
	r = conditions_give(c, "--comm", put_each(b, s->comm_count, s, conditions_put_comm));
	if (r < 0)
		return r;
	r = conditions_give(c, "--uid", put_uids(b, s));
	if (r < 0)
		return r;
	r = conditions_give(c, "--unit",
			    put_each(b, f->units.count, &f->units, conditions_put_unit));
	if (r < 0)
		return r;
	r = conditions_give(c, "--container",
			    put_each(b, f->containers.count, &f->containers, put_container));
	if (r < 0)
		return r;
	return conditions_give(c, "--cgroup",
			       put_each(b, f->cgroups.count, &f->cgroups, put_cgroup));
}

static int conditions_what(struct conditions *c, const struct select *s)
{
	struct buf *b = &c->text;
	int r = conditions_give(c, "-e", s->ops_given ? put_ops(b, s) : 0);

	if (r < 0)
		return r;
	r = conditions_give(c, "-P", put_each(b, s->path_count, s, conditions_put_path));
	if (r < 0)
		return r;
	r = conditions_give(c, "-Z", s->failed_only ? buf_printf(b, "err is not null") : 0);
	if (r < 0 || !s->min_dur_ns)
		return r;
	return conditions_give(c, "--slower", buf_printf(b, "dur >= %" PRId64 "ns", s->min_dur_ns));
}

int conditions_each(const struct select_flags *f, const struct select *s,
		    const struct option_list *where,
		    int (*take)(void *arg, const char *option, const char *text, struct error *err),
		    void *arg, struct error *err)
{
	struct conditions c = {.take = take, .arg = arg, .err = err};
	int r = conditions_who(&c, f, s);

	if (r >= 0)
		r = conditions_what(&c, s);
	for (size_t i = 0; r >= 0 && i < where->count; i++) {
		if (!*where->items[i])
			r = error_set(err, -EINVAL, "--where: the expression is empty");
		else
			r = take(arg, "--where", where->items[i], err);
	}
	buf_free(&c.text);
	return r;
}
