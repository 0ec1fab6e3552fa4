/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h: the selection of calls that all reading commands share (-p, -e, -P, --where, ...) as conditions of the language. */
#pragma once

#include "cli/options/shared.h"

/*
 * Gives take() every condition over op that the selection states, then those of `where`; all of them must hold. `option` is
 * where one is from. `s` is what read_flags_select() made of `f`. Ids are either those of the recorder or of the process's own
 * pid namespace. 0, or a negative errno: take()'s own, or with a message.
 */
int conditions_each(const struct select_flags *f, const struct select *s,
		    const struct option_list *where,
		    int (*take)(void *arg, const char *option, const char *text, struct error *err),
		    void *arg, struct error *err);
