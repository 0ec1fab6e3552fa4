/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conditions.h: converts the selection of calls that all reading commands share (-p, -e, -P, --where, ...) to
 * conditions of the language.
 */
#pragma once

#include "cli/options/shared.h"

/*
 * Passes to take() every condition over op in the selection, then those of `where`; all of them must hold. `option`
 * names the origin of each. `s` is the result of read_flags_select() for `f`. Ids are either those of the recorder or
 * of the process's own pid namespace. 0, or a negative errno: take()'s own, or with a message.
 */
int conditions_each(const struct select_flags *f, const struct select *s,
		    const struct option_list *where,
		    int (*take)(void *arg, const char *option, const char *text, struct error *err),
		    void *arg, struct error *err);
