/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opensearch.h: answers from OpenSearch, over the documents that `weir load --to opensearch://...` made
 * (opensearch/search_fields.h).
 *
 * What a search of OpenSearch can compute exactly it computes: filters, groups, counts, sums, extremes, first and last;
 * percentiles and distinct are its estimates and marked as such. Stages behind the first group are done here. What neither can do
 * is refused with the reason before anything is sent.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops opensearch_engine;
