/* SPDX-License-Identifier: Apache-2.0 */
/* call_prctl.h: the arguments of prctl; for call_text.c alone. */
#pragma once

#include "cli/trace/call_names.h"

/* Whether the option has argument `i`. */
bool call_prctl_has(const struct call_writer *w, unsigned int i);
/* Prints it; false where it is printed as any other. */
bool call_prctl_put(struct call_writer *w, unsigned int i);
