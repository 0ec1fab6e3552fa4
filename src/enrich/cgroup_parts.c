/* SPDX-License-Identifier: Apache-2.0 */
#include "enrich/cgroup_parts.h"

#include <ctype.h>
#include <string.h>

#define CONTAINER_HEX 64 /* length of ids in Docker, containerd, CRI-O and Podman */

/* Removes the last component from *path and returns it; {NULL, 0} if none is left. */
static struct bytes last_component(struct bytes *path)
{
	size_t end = path->len, start;

	while (end && path->data[end - 1] == '/')
		end--;
	for (start = end; start && path->data[start - 1] != '/';)
		start--;
	path->len = start;
	return end > start ? (struct bytes){path->data + start, end - start}
			   : (struct bytes){NULL, 0};
}

static bool ends_with(struct bytes s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.len > n && !memcmp(s.data + s.len - n, suffix, n);
}

struct bytes cgroup_unit(struct bytes path)
{
	static const char *const leaf[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	struct bytes c, slice = {NULL, 0};

	while ((c = last_component(&path)).data) {
		for (size_t i = 0; i < ARRAY_SIZE(leaf); i++) {
			if (ends_with(c, leaf[i]))
				return c;
		}
		if (!slice.data && ends_with(c, ".slice"))
			slice = c;
	}
	return slice;
}

/* The first run of exactly CONTAINER_HEX hexadecimal digits. */
static struct bytes hex_run(struct bytes s)
{
	size_t run = 0;

	for (size_t i = 0; i <= s.len; i++) {
		if (i < s.len && isxdigit(s.data[i])) {
			run++;
			continue;
		}
		if (run == CONTAINER_HEX)
			return (struct bytes){s.data + i - run, run};
		run = 0;
	}
	return (struct bytes){NULL, 0};
}

struct bytes cgroup_container(struct bytes path)
{
	static const char lxc[] = "lxc.payload.";
	struct bytes c, id;

	while ((c = last_component(&path)).data) {
		id = hex_run(c);
		if (id.data)
			return id;
		if (c.len > sizeof(lxc) - 1 && !memcmp(c.data, lxc, sizeof(lxc) - 1))
			return (struct bytes){c.data + sizeof(lxc) - 1, c.len - (sizeof(lxc) - 1)};
	}
	return (struct bytes){NULL, 0};
}
