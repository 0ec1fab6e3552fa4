/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h: --host: selects the traces that were recorded on machines of these names. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/option.h"

/*
 * Replaces paths of traces and folders (the texts are borrowed, the array is freed) by those of the traces of one of
 * the hosts; their texts live as long as the new array. -ENOENT: no trace is of one of the hosts; the message names
 * those that exist.
 */
int hosts_choose(const struct option_list *hosts, const char ***paths, size_t *count,
		 struct error *err);
