// SPDX-License-Identifier: Apache-2.0
#include "cli/options/hosts.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "store/store.h"

#define NAMES_MAX 20 /* names listed in a message */

struct hosts {
	const struct option_list *wanted;
	const char **paths; /* the chosen ones; the texts belong to the store of all traces */
	size_t count, cap, bytes;
	uint64_t found;	  /* bits for the first 64 wanted hosts: a trace of it was found */
	struct buf names; /* the hosts of all traces */
	size_t told;
};

/* Collects the names for the message, each once. */
static int hosts_note(struct hosts *h, struct bytes name)
{
	_cleanup_buf_ struct buf one = {0};
	int r = buf_printf(&one, " %.*s,", (int)MIN(name.len, 100u), (const char *)name.data);

	if (r < 0 || h->told >= NAMES_MAX || strstr(buf_str(&h->names), buf_str(&one)))
		return r;
	h->told++;
	return buf_append(&h->names, one.data, one.len);
}

/* Determines whether the single trace of a store is of a wanted host. */
static int hosts_wants(struct hosts *h, struct store *s, bool *ret, struct error *err)
{
	const struct dims *d = store_dims_few(s);
	struct bytes name = {0};

	*ret = false;
	for (size_t i = 0; i < dims_rows(d, TABLE_HOST); i++) {
		const struct dims_host *row = dims_host(d, dims_id_at(d, TABLE_HOST, i));

		if (!row || !row->name.data)
			continue;
		if (name.data &&
		    (name.len != row->name.len || memcmp(name.data, row->name.data, name.len)))
			return error_set(err, -EINVAL,
					 "%.500s holds several hosts; select the calls of one: "
					 "--where 'host == \"%.100s\"'",
					 store_trace_path(s, 0), h->wanted->items[0]);
		name = row->name;
	}
	if (!name.data)
		return 0;
	for (size_t i = 0; i < h->wanted->count; i++) {
		if (!bytes_is(name, h->wanted->items[i]))
			continue;
		h->found |= i < 64 ? 1ull << i : 0;
		*ret = true;
	}
	return hosts_note(h, name) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int hosts_look(struct hosts *h, const char *path, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	bool wanted;
	int r = store_open(&s, &path, 1, err);

	if (r >= 0)
		r = hosts_wants(h, s, &wanted, err);
	if (r < 0 || !wanted)
		return r;
	r = array_add(h->paths, h->count, h->cap, path);
	if (r < 0)
		return error_set(err, r, "out of memory");
	h->bytes += strlen(path) + 1;
	return 0;
}

/* Copies the chosen paths with their texts after them, so that one free() releases both. */
static const char **hosts_paths(const struct hosts *h)
{
	const char **all = malloc((h->count + 1) * sizeof(*all) + h->bytes);
	char *text = all ? (char *)(all + h->count + 1) : NULL;

	for (size_t i = 0; all && i < h->count; i++) {
		all[i] = text;
		text = stpcpy(text, h->paths[i]) + 1;
	}
	return all;
}

static int hosts_missing(struct hosts *h, struct error *err)
{
	for (size_t i = 0; i < MIN(h->wanted->count, 64u); i++) {
		if (h->found >> i & 1)
			continue;
		if (h->names.len) /* removes the last comma */
			h->names.len--;
		return error_set(err, -ENOENT,
				 "--host: no trace here was recorded on host '%.100s'; %s%.600s",
				 h->wanted->items[i],
				 h->names.len ? "hosts are:" : "none has the name of its host",
				 buf_str(&h->names));
	}
	return 0;
}

int hosts_choose(const struct option_list *hosts, const char ***paths, size_t *count,
		 struct error *err)
{
	_cleanup_(store_freep) struct store *all = NULL;
	struct hosts h = {.wanted = hosts};
	const char **chosen = NULL;
	int r = store_open(&all, *paths, *count, err);

	for (size_t i = 0; r >= 0 && i < store_trace_count(all); i++)
		r = hosts_look(&h, store_trace_path(all, i), err);
	if (r >= 0)
		r = hosts_missing(&h, err);
	if (r >= 0) {
		chosen = hosts_paths(&h);
		r = chosen ? 0 : error_set(err, -ENOMEM, "out of memory");
	}
	buf_free(&h.names);
	free(h.paths);
	if (r < 0)
		return r;
	free(*paths);
	*paths = chosen;
	*count = h.count;
	return 0;
}
