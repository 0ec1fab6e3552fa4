/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opensearch.h: queries OpenSearch, over the documents made by `weir load --to opensearch://...`
 * (opensearch/search_fields.h).
 *
 * OpenSearch computes everything that its searches can compute exactly: filters, groups, counts, sums, extremes, first
 * and last. Percentiles and distinct are its estimates, and are marked as such. Stages after the first group run here.
 * A query that neither can run is rejected with the reason before anything is sent.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops opensearch_engine;
