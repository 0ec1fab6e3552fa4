/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_sample.h: which requests of an export are kept, and how many each of them represents. A request is the set of
 * spans with one trace id; all of them are kept or none. Each request belongs to the first rule that it matches:
 *   failed     one of its spans failed
 *   slow P%    it is among the slowest P % of its name
 *   rare N     its name has at most N requests
 *   1/N, P%    all others, the last rule: chosen by their randomness
 * Requests chosen by the first three rules are all kept, each with weight 1. Of n others of one name, k are kept with
 * weight n / k each, so that weights add up to the number of requests of each rule and name. They are chosen as in
 * OpenTelemetry's consistent probability sampling, by comparing 56 random bits R of the trace with a threshold T
 * (ot=th:, rv:). Each subset of k is therefore equally likely, and sums of weight times value are unbiased. If none of
 * a name passes, the one with the largest R is kept, without a threshold. R is no longer uniform for requests that were
 * sampled before; they are grouped by name and earlier threshold. Weights refer to the requests in the trace, for these
 * as for all others.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

#define SAMPLE_RULES_MAX 8
#define SAMPLE_BITS	 56

enum sample_kind { SAMPLE_FAILED, SAMPLE_SLOW, SAMPLE_RARE, SAMPLE_SHARE };

struct sample_rule {
	enum sample_kind kind;
	double share;  /* of SAMPLE_SLOW and SAMPLE_SHARE: 0..1 */
	uint64_t most; /* of SAMPLE_RARE */
};

struct sample_rules {
	struct sample_rule all[SAMPLE_RULES_MAX];
	size_t count;
};

/* Parses 'failed, slow 1%, rare 10, 1/100'. -EINVAL with a message. */
int sample_rules_read(struct sample_rules *ret, const char *text, struct error *err);
/* "failed", "slow", "rare", "share" */
const char *sample_word(enum sample_kind kind);

struct sample_request {
	uint64_t random; /* 56 bits */
	uint64_t before; /* threshold of an earlier sampling; 0: none, or it kept all */
	/* of its root: the earliest span without a parent in the trace, else the earliest span */
	int64_t start, dur;
	uint32_t name; /* of its root, including the service */
	/* rooted: the root has no parent in the trace; failed: one of its spans failed */
	bool rooted, failed;
	/* told: its tracestate has the randomness; by_id: its trace id is random */
	bool told, by_id;
	bool kept, threshold;
	uint8_t rule; /* index of its rule */
	double weight;
};

/* The properties of a span that sampling uses. */
struct sample_span {
	const char *trace; /* text of 32 digits */
	struct bytes name, service;
	int64_t start, dur;
	bool parent, failed;
	bool random;	   /* its trace id is random */
	const char *state; /* the tracestate; NULL: none */
};

/* Counts by rule: all requests, and those kept. */
struct sample_sums {
	uint64_t requests, kept;
};

struct spans_sample {
	struct sample_rules rules;
	struct intern traces; /* -> all[] */
	struct sample_request *all;
	size_t count, cap;
	struct intern names;
	struct sample_sums sums[SAMPLE_RULES_MAX];
};

void spans_sample_free(struct spans_sample *s);
/* Adds a span. 0 or -ENOMEM. */
int spans_sample_take(struct spans_sample *s, const struct sample_span *span);
/* Call after the last span: decides. 0 or -ENOMEM. */
int spans_sample_decide(struct spans_sample *s);
/* The request of a trace; NULL: not kept. */
const struct sample_request *spans_sample_kept(const struct spans_sample *s, const char *trace);
/* Appends a span's tracestate with ot=th: and rv: of this sampling. 0 or -ENOMEM. */
int spans_sample_state(const struct spans_sample *s, const struct sample_request *of,
		       const char *state, struct buf *to);
