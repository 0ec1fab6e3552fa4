/* SPDX-License-Identifier: Apache-2.0 */
/* call_prctl.h: prints the arguments of prctl; only for call_text.c. */
#pragma once

#include "cli/trace/call_names.h"

/* True if the option has argument `i`. */
bool call_prctl_has(const struct call_writer *w, unsigned int i);
/* Prints argument `i`; false if it has no special form. */
bool call_prctl_put(struct call_writer *w, unsigned int i);
