/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h: a minimal second engine: counts:///PATH holds the rows of the trace PATH, and answers count(). */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops counts_engine;
