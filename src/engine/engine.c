// SPDX-License-Identifier: Apache-2.0
/* engine.c: selects the embedded engine, or the engine for an address. */
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

#define SCHEME_END "://"

static const struct engine_ops *engine_embedded(void)
{
	for (size_t i = 0; engines[i]; i++) {
		if (!engines[i]->scheme)
			return engines[i];
	}
	return NULL;
}

/* Length of the scheme before ://, 0 if there is none. */
static size_t engine_scheme(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.");

	return strncmp(text + len, SCHEME_END, strlen(SCHEME_END)) == 0 ? len : 0;
}

static const struct engine_ops *engine_of_address(const char *address)
{
	size_t len = engine_scheme(address);

	for (size_t i = 0; engines[i]; i++) {
		const char *scheme = engines[i]->scheme;

		if (len && scheme && strlen(scheme) == len && strncmp(scheme, address, len) == 0)
			return engines[i];
	}
	return NULL;
}

int engine_address(const char *text, struct error *err)
{
	_cleanup_buf_ struct buf known = {0};
	int r = 0;

	if (!engine_scheme(text))
		return 0;
	if (engine_of_address(text))
		return 1;
	for (size_t i = 0; engines[i] && r >= 0; i++) {
		if (engines[i]->scheme)
			r = buf_printf(&known, "%s%s" SCHEME_END, known.len ? ", " : "",
				       engines[i]->scheme);
	}
	return error_set(err, r < 0 ? r : -EINVAL,
			 "'%.200s': this weir has no engine for %.*s" SCHEME_END
			 "; it reads trace files and folders of trace files%s%s",
			 text, (int)engine_scheme(text), text,
			 known.len ? ", and addresses of " : "", buf_str(&known));
}

int engine_connect(struct engine **ret, const char *address, const struct engine_options *opt,
		   struct error *err)
{
	const struct engine_ops *ops = engine_of_address(address);

	assert(ops);
	return ops->connect(ret, address, opt, err);
}

static int engine_none(struct error *err)
{
	return error_set(
		err, -EOPNOTSUPP,
		"this weir was built without an engine: it filters rows (where, select, head), but "
		"grouping, sorting and joins need DuckDB's library; install the packages weir and "
		"weir-engine, or copy the trace to a host that has them");
}

int engine_open(struct engine **ret, struct store *store, const struct engine_options *opt,
		struct error *err)
{
	const struct engine_ops *ops = engine_embedded();

	return ops ? ops->open(ret, store, opt, err) : engine_none(err);
}

int engine_probe(const char *library, const char **ret_version, const char **ret_path,
		 struct error *err)
{
	const struct engine_ops *ops = engine_embedded();

	return ops ? ops->probe(library, ret_version, ret_path, err) : engine_none(err);
}

void engine_abandon_all(void)
{
	for (size_t i = 0; engines[i]; i++) {
		if (engines[i]->abandon_all)
			engines[i]->abandon_all();
	}
}

int engine_cannot(const struct engine *e, const char *what, struct error *err)
{
	return error_set(err, -EOPNOTSUPP, "%s cannot %s", e->ops->name, what);
}
