/* SPDX-License-Identifier: Apache-2.0 */
/* task_names.c: names of processes and threads. */
#include "names/names.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/map.h"

#define COMM_LEN  15 /* the kernel's TASK_COMM_LEN without its NUL */
#define ARGS_SEEN 4  /* a script's name follows its interpreter and the interpreter's options */

struct bytes names_base(struct bytes path)
{
	const uint8_t *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - path.data) : 0;

	return skip < path.len ? (struct bytes){path.data + skip, path.len - skip} : path;
}

struct bytes names_trimmed(struct bytes path)
{
	size_t len = path.len;

	while (len > 1) {
		if (path.data[len - 1] == '/')
			len--;
		else if (path.data[len - 1] == '.' && path.data[len - 2] == '/')
			len -= len > 2 ? 2 : 1;
		else
			break;
	}
	return (struct bytes){path.data, len};
}

/*
 * True if exec derived the thread's name from the last part of this path: they are equal, or the name is truncated to
 * the kernel's limit, or the program has since appended to it ("nginx: worker process").
 */
static bool is_made_of(struct bytes comm, struct bytes base)
{
	if (!comm.len || base.len < comm.len || memcmp(base.data, comm.data, comm.len) != 0)
		return false;
	return base.len == comm.len || comm.len == COMM_LEN || base.data[comm.len] == ' ' ||
	       base.data[comm.len] == ':';
}

static bool argument(struct bytes argv, unsigned int at, struct bytes *ret)
{
	const uint8_t *p = argv.data, *end;

	if (!argv.len)
		return false;
	end = argv.data + argv.len;
	for (; at > 0 && p < end; at--)
		p += strnlen((const char *)p, (size_t)(end - p)) + 1;
	if (p >= end)
		return false;
	*ret = (struct bytes){p, strnlen((const char *)p, (size_t)(end - p))};
	return true;
}

/* The program's part of "postgres: checkpointer". */
static struct bytes first_word(struct bytes name)
{
	for (size_t i = 1; i < name.len; i++) {
		if (name.data[i] == ' ' || name.data[i] == ':')
			name.len = i;
	}
	return name;
}

/* The thread's untruncated name if exec set it, found in the arguments or the path of the program. */
static bool given_by_exec(const struct dims_process *p, struct bytes comm, struct bytes *ret)
{
	struct bytes path, base = names_base(p->exe);
	bool found = is_made_of(comm, base);

	for (unsigned int i = 0; i < ARGS_SEEN && !found && argument(p->argv, i, &path); i++) {
		base = names_base(path);
		found = is_made_of(comm, base);
		/* the program wrote what it does after its path: "/bin/redis-server unixsocket:/run/r.sock" */
		if (!found && i == 0) {
			base = names_base(first_word(path));
			found = is_made_of(comm, base);
		}
	}
	if (found)
		*ret = comm.len == COMM_LEN ? base : comm;
	return found;
}

struct bytes names_program(const struct dims *d, int64_t process_id)
{
	const struct dims_process *p = process_id < 0 ? NULL : dims_process(d, process_id);
	const struct dims_thread *latest = dims_leader(d, process_id, true),
				 *first = dims_leader(d, process_id, false);
	struct bytes name = {NULL, 0};

	if (!p)
		return name;
	if (latest && given_by_exec(p, latest->comm, &name))
		return name;
	if (first && given_by_exec(p, first->comm, &name))
		return name;
	/* a process that was already running and had renamed its first thread: "MainThread" */
	if (argument(p->argv, 0, &name) && name.len)
		return first_word(names_base(name));
	return latest && latest->comm.len ? latest->comm : names_base(p->exe);
}

int names_process(const struct dims *d, int64_t process_id, struct buf *out)
{
	const struct dims_process *p = process_id < 0 ? NULL : dims_process(d, process_id);
	struct bytes name = names_program(d, process_id);
	int r;

	if (!p)
		return buf_printf(out, "process ?%lld", (long long)process_id);
	r = name.len ? buf_append(out, name.data, name.len) : buf_printf(out, "process");
	return r < 0 || p->pid < 0 ? r : buf_printf(out, " %lld", (long long)p->pid);
}

int names_thread(const struct dims *d, int64_t thread_id, struct buf *out)
{
	const struct dims_thread *t = dims_thread(d, dims_latest_thread(d, thread_id));

	if (!t)
		return buf_printf(out, "thread ?%lld", (long long)thread_id);
	if (t->comm.len)
		buf_append(out, t->comm.data, t->comm.len);
	else
		buf_printf(out, "thread");
	if (t->tid >= 0)
		buf_printf(out, " %lld", (long long)t->tid);
	return buf_status(out);
}

/* Processes with the same name. */
struct namesakes {
	struct bytes argv; /* of the first process */
	/* number of leading arguments that all of them share, including the program's name */
	unsigned int same;
	size_t count;
};

/* Removes the first argument from argv. */
static bool take_argument(struct bytes *argv, struct bytes *ret)
{
	size_t len, taken;

	if (!argv->len)
		return false;
	len = strnlen((const char *)argv->data, argv->len);
	taken = MIN(len + 1, argv->len);
	*ret = (struct bytes){argv->data, len};
	*argv = (struct bytes){argv->data + taken, argv->len - taken};
	return true;
}

/* Walks both lists only once: a compiler has hundreds of arguments, and a build starts thousands of compilers. */
static unsigned int same_arguments(struct bytes a, struct bytes b)
{
	struct bytes x, y;
	unsigned int n = 1;

	/* the first argument may differ: it names the program */
	if (!take_argument(&a, &x) || !take_argument(&b, &y))
		return n;
	while (take_argument(&a, &x) && take_argument(&b, &y) && x.len == y.len &&
	       !memcmp(x.data, y.data, x.len))
		n++;
	return n;
}

static int take_namesake(struct intern *known, struct namesakes *all, struct bytes name,
			 struct bytes argv)
{
	uint32_t at;
	int r = intern_add(known, name.data, name.len, &at);

	if (r < 0)
		return r;
	if (!all[at].count++)
		all[at] = (struct namesakes){argv, UINT_MAX, 1};
	else
		all[at].same = MIN(all[at].same, same_arguments(all[at].argv, argv));
	return 0;
}

int names_apart(const struct dims *d, const int64_t *ids, size_t count, struct bytes **ret)
{
	_cleanup_(intern_free) struct intern known = {0};
	_cleanup_(map_free) struct map seen = {0};
	_cleanup_free_ struct namesakes *all = calloc(count + 1, sizeof(*all));

	*ret = calloc(count + 1, sizeof(**ret));
	if (!all || !*ret)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct dims_process *p = ids[i] < 0 ? NULL : dims_process(d, ids[i]);
		int r;

		if (!p || map_get(&seen, (uint64_t)ids[i], NULL))
			continue;
		r = map_set(&seen, (uint64_t)ids[i], 1);
		if (r >= 0)
			r = take_namesake(&known, all, names_program(d, ids[i]), p->argv);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < count; i++) {
		const struct dims_process *p = ids[i] < 0 ? NULL : dims_process(d, ids[i]);
		struct bytes name = names_program(d, ids[i]);
		uint32_t at;

		if (p && intern_find(&known, name.data, name.len, &at) && all[at].count > 1)
			argument(p->argv, all[at].same, &(*ret)[i]);
	}
	return 0;
}

bool names_host_is_new(const struct dims *d, size_t i)
{
	struct bytes name = dims_host(d, dims_id_at(d, TABLE_HOST, i))->name;

	for (size_t k = 0; k < i; k++) {
		struct bytes other = dims_host(d, dims_id_at(d, TABLE_HOST, k))->name;

		if (name.len == other.len &&
		    (!name.len || !memcmp(name.data, other.data, name.len)))
			return false;
	}
	return true;
}

size_t names_hosts(const struct dims *d)
{
	size_t count = 0;

	for (size_t i = 0; i < dims_rows(d, TABLE_HOST); i++)
		count += names_host_is_new(d, i);
	return count;
}

/* In rows fetched from a server, only processes show their machine. */
static int64_t host_of_process(const struct dims *d, enum table_id table, int64_t id)
{
	const struct dims_process *p = NULL;

	if (table == TABLE_THREAD)
		id = names_process_of(d, id);
	if (table == TABLE_THREAD || table == TABLE_PROCESS)
		p = id < 0 ? NULL : dims_process(d, id);
	return p ? p->host_id : -1;
}

struct bytes names_host(const struct dims *d, enum table_id table, int64_t id)
{
	const struct dims_host *h = id < 0 ? NULL : dims_host(d, dims_machine(d, id));

	if (!h && id >= 0)
		h = dims_host(d, host_of_process(d, table, id));
	return h ? h->name : (struct bytes){NULL, 0};
}

/* names_hosts(d) > 1, which ends at the first other name: it is needed for each name of a list. */
static bool are_several_hosts(const struct dims *d)
{
	for (size_t i = 1; i < dims_rows(d, TABLE_HOST); i++) {
		if (names_host_is_new(d, i))
			return true;
	}
	return false;
}

int names_put_host(const struct dims *d, enum table_id table, int64_t id, struct buf *out)
{
	struct bytes name;

	if (id < 0 || !are_several_hosts(d))
		return buf_status(out);
	name = names_host(d, table, id);
	buf_append(out, name.len ? (const char *)name.data : "?", name.len ? name.len : 1);
	return buf_append(out, ":", 1);
}

int64_t names_process_of(const struct dims *d, int64_t thread_id)
{
	const struct dims_thread *t = thread_id < 0 ? NULL : dims_thread(d, thread_id);

	return t ? t->process_id : -1;
}

int64_t names_pid(const struct dims *d, int64_t thread_id)
{
	int64_t id = names_process_of(d, thread_id);
	const struct dims_process *p = id < 0 ? NULL : dims_process(d, id);

	return p ? p->pid : -1;
}

int64_t names_task(const struct dims *d, int64_t thread_id)
{
	const struct dims_thread *t = thread_id < 0 ? NULL : dims_thread(d, thread_id);

	return t && t->task >= 0 ? t->task : thread_id;
}

int64_t names_inode(const struct dims *d, int64_t file_id)
{
	int64_t inode = dims_file_inode(d, file_id);

	return inode >= 0 ? inode : file_id;
}
