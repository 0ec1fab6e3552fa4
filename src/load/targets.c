// SPDX-License-Identifier: Apache-2.0
/* targets.c: every target of this binary. */
#include <errno.h>
#include <string.h>

#include "load/load.h"

const struct load_target_ops *const load_targets[] = {
	&clickhouse_target,
	&opensearch_target,
	NULL,
};

const struct load_target_ops *load_target_find(const char *address, struct error *err)
{
	_cleanup_buf_ struct buf names = {0};
	const char *end = strstr(address, "://");
	int r = 0;

	for (size_t i = 0; load_targets[i]; i++) {
		const char *scheme = load_targets[i]->scheme;

		if (end && strlen(scheme) == (size_t)(end - address) &&
		    !strncmp(address, scheme, strlen(scheme)))
			return load_targets[i];
		if (r >= 0)
			r = buf_printf(&names, "%s%s://HOST/DATABASE", i ? " or " : "", scheme);
	}
	error_set(err, -EINVAL, "'%.200s' is not the address of a store; write %s", address,
		  buf_str(&names));
	return NULL;
}
