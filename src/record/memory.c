/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: the memory limit of this process's control groups. */
#include <stdio.h>
#include <string.h>

#include "record/record.h"

#define NO_LIMIT (1ull << 60) /* version 1 expresses it by a number near the maximum */

/* The smallest limit of this path's group and those above it. Groups that are not visible from here are skipped. */
static uint64_t limit_of(const char *mount, char *path, const char *file)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		_cleanup_free_ char *name = NULL;
		unsigned long long limit;
		char *slash;
		FILE *f;

		if (asprintf(&name, "%s%s/%s", mount, path, file) < 0)
			return least;
		f = fopen(name, "re");
		if (f && fscanf(f, "%llu", &limit) == 1 && limit < NO_LIMIT)
			least = MIN(least, (uint64_t)limit);
		if (f)
			fclose(f);
		slash = strrchr(path, '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

uint64_t record_memory_limit(void)
{
	_cleanup_free_ char *line = NULL;
	uint64_t least = UINT64_MAX;
	size_t cap = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");

	/* "0::/PATH" of version 2, "4:memory:/PATH" of version 1 */
	while (f && getline(&line, &cap, f) > 0) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		uint64_t limit = UINT64_MAX;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (!strcmp(names + 1, "memory"))
			limit = limit_of("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
		else if (!names[1])
			limit = limit_of("/sys/fs/cgroup", path, "memory.max");
		least = MIN(least, limit);
	}
	if (f)
		fclose(f);
	return least;
}
