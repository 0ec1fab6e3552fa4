/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_sample.h: which requests of an export are kept, and how many each of them stands for. A request is all spans that have
 * one trace id: all of them are kept or none. Each belongs to the first rule that it fits:
 *
 *   failed     one of its spans failed
 *   slow P%    it is among the slowest P % of its name
 *   rare N     its name has at most N requests
 *   1/N, P%    all others, the last rule: those whose randomness says so
 *
 * What the first three choose is kept whole, and stands for itself. Of the others of one name, of which there are n, k are
 * kept, and each stands for n / k: weights add up to the number of requests, of each rule and name. Which they are is decided
 * as OpenTelemetry's consistent probability sampling has it, by 56 random bits R of the trace against a threshold T (ot=th:,
 * rv:), so that each subset of k is as likely as any other, and sums of weight times value are unbiased. Where none of a name
 * passes, the one with the largest R is kept, without a threshold. R of those that were sampled before is no longer even:
 * they are a name of their own for each threshold of then. Their weights are of what the trace has, as all are.
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
	double share;  /* of slow, and of the share: 0..1 */
	uint64_t most; /* of rare */
};

struct sample_rules {
	struct sample_rule all[SAMPLE_RULES_MAX];
	size_t count;
};

/* Reads 'failed, slow 1%, rare 10, 1/100'. -EINVAL with what is wrong. */
int sample_rules_read(struct sample_rules *ret, const char *text, struct error *err);
/* "failed", "slow", "rare", "share" */
const char *sample_word(enum sample_kind kind);

/* A request. */
struct sample_request {
	uint64_t random; /* 56 bits */
	uint64_t before; /* the threshold of a sampling before this one; 0: none, or it kept all */
	int64_t start, dur;  /* of its root: the span without a parent here that began first */
	uint32_t name;	     /* of its root, with the service */
	bool rooted, failed; /* failed: one of its spans did */
	bool told, by_id;    /* its spans say what is random about it; the id of its trace is */
	bool kept, threshold;
	uint8_t rule; /* of the rules */
	double weight;
};

/* A span as it is looked at. */
struct sample_span {
	const char *trace; /* as text, 32 digits */
	struct bytes name, service;
	int64_t start, dur;
	bool parent, failed;
	bool random;	   /* its trace id is */
	const char *state; /* the tracestate; NULL: none */
};

/* What was kept and what of, by rule. */
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
/* 0 or -ENOMEM. */
int spans_sample_take(struct spans_sample *s, const struct sample_span *span);
/* After the last span: decides. 0 or -ENOMEM. */
int spans_sample_decide(struct spans_sample *s);
/* The request of a trace; NULL: it is not kept. */
const struct sample_request *spans_sample_kept(const struct spans_sample *s, const char *trace);
/* The tracestate of its spans: what they have, with ot=th: and rv: of this sampling. 0 or -ENOMEM. */
int spans_sample_state(const struct spans_sample *s, const struct sample_request *of,
		       const char *state, struct buf *to);
