// SPDX-License-Identifier: Apache-2.0
/* spans_sample.c: sampling rules, requests by trace, and the decision which to keep. */
#include "exchange/spans_sample.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

#define SLOW_DEFAULT 0.01
#define RARE_DEFAULT 10
#define RANDOM_MASK  ((1ull << SAMPLE_BITS) - 1)
#define DIGITS	     (SAMPLE_BITS / 4)

static const char *const sample_words[] = {"failed", "slow", "rare", "share"};

const char *sample_word(enum sample_kind kind)
{
	return sample_words[kind];
}

void spans_sample_free(struct spans_sample *s)
{
	intern_free(&s->traces);
	intern_free(&s->names);
	free(s->all);
}

/* ---- rules ---- */

/* "1%", "0.1 %", "1/100": 0 < *ret <= 1. */
static bool sample_share(const char *text, double *ret)
{
	char *end;
	double v = strtod(text, &end), of;

	if (end == text || !isfinite(v))
		return false;
	end += strspn(end, " ");
	if (*end == '/') {
		of = strtod(end + 1, &end);
		v /= of;
	} else if (*end == '%') {
		v /= 100;
		end++;
	} else {
		return false;
	}
	*ret = v;
	return !end[strspn(end, " ")] && v > 0 && v <= 1;
}

static int sample_rule_read(struct sample_rule *r, const char *text, struct error *err)
{
	size_t len = strcspn(text, " ");
	const char *value = text + len + strspn(text + len, " ");
	bool right = true;
	char *end;

	*r = (struct sample_rule){.share = SLOW_DEFAULT, .most = RARE_DEFAULT};
	while (r->kind < SAMPLE_SHARE && (strlen(sample_words[r->kind]) != len ||
					  memcmp(text, sample_words[r->kind], len) != 0))
		r->kind++;
	if (r->kind == SAMPLE_FAILED) {
		right = !*value;
	} else if (r->kind == SAMPLE_SHARE) {
		right = sample_share(text, &r->share);
	} else if (r->kind == SAMPLE_SLOW && *value) {
		right = sample_share(value, &r->share);
	} else if (r->kind == SAMPLE_RARE && *value) {
		r->most = strtoull(value, &end, 10);
		right = *value >= '0' && *value <= '9' && !*end && r->most;
	}
	return right ? 0
		     : error_set(err, -EINVAL,
				 "--sample: '%.40s': there are failed, slow 1%%, rare 10, and as "
				 "the last "
				 "1/100 or 1%%",
				 text);
}

int sample_rules_read(struct sample_rules *ret, const char *text, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *one;
	int r = copy ? 0 : error_set(err, -ENOMEM, "out of memory");

	*ret = (struct sample_rules){0};
	while (r >= 0 && (one = strsep(&rest, ","))) {
		size_t len;

		one += strspn(one, " ");
		for (len = strlen(one); len && one[len - 1] == ' '; len--)
			one[len - 1] = '\0';
		if (ret->count && ret->all[ret->count - 1].kind == SAMPLE_SHARE)
			return error_set(
				err, -EINVAL,
				"--sample: '%.40s': the share of all others is the last rule", one);
		if (ret->count == SAMPLE_RULES_MAX)
			return error_set(err, -EINVAL, "--sample: more than %d rules",
					 SAMPLE_RULES_MAX);
		r = sample_rule_read(&ret->all[ret->count++], one, err);
	}
	if (r >= 0 && ret->all[ret->count - 1].kind != SAMPLE_SHARE)
		return error_set(
			err, -EINVAL,
			"--sample: which share of all others is kept? end with 1/100 or 1%%");
	return r;
}

/* ---- requests ---- */

/* The value of a key of the member ot=..., which ends at ';', ',' or the end; NULL: missing. */
static const char *state_value(const char *state, const char *key)
{
	for (const char *p = state; p && *p;) {
		const char *end = p + strcspn(p, ",");

		p += strspn(p, " \t");
		if (!strncmp(p, "ot=", 3)) {
			for (p += 3; p < end; p += strcspn(p, ";,")) {
				p += *p == ';';
				if (!strncmp(p, key, strlen(key)))
					return p + strlen(key);
				if (*p == ';')
					continue;
			}
			return NULL;
		}
		p = *end ? end + 1 : end;
	}
	return NULL;
}

/* Up to 14 hexadecimal digits, most significant first. */
static bool state_bits(const char *value, uint64_t *ret)
{
	size_t n = value ? strspn(value, "0123456789abcdef") : 0;

	if (!n || n > DIGITS)
		return false;
	*ret = 0;
	for (size_t i = 0; i < DIGITS; i++)
		*ret = *ret << 4 | (uint64_t)(i < n ? hex_digit(value[i]) : 0);
	return true;
}

/* The randomness of a trace: from its tracestate, else the last bits of a random id, else a hash of the id. */
static void sample_randomness(struct sample_request *q, const struct sample_span *span)
{
	size_t len = strlen(span->trace);

	if (q->told)
		return;
	q->told = state_bits(state_value(span->state, "rv:"), &q->random);
	if (!q->told && span->random && len >= DIGITS)
		q->told = q->by_id = state_bits(span->trace + len - DIGITS, &q->random);
	if (!q->told)
		q->random = hash_bytes(span->trace, len) & RANDOM_MASK;
}

static int sample_name(struct spans_sample *s, const struct sample_span *span, uint32_t *ret)
{
	_cleanup_buf_ struct buf b = {0};
	int r;

	buf_append(&b, span->service.data, span->service.len);
	buf_append(&b, "", 1);
	r = buf_append(&b, span->name.data, span->name.len);
	return r < 0 ? r : intern_add(&s->names, b.data, b.len, ret);
}

int spans_sample_take(struct spans_sample *s, const struct sample_span *span)
{
	struct sample_request *q;
	uint64_t before;
	uint32_t i;
	int r = intern_add(&s->traces, span->trace, strlen(span->trace), &i);

	if (r < 0)
		return r;
	if (i == s->count) {
		if (array_add(s->all, s->count, s->cap,
			      (struct sample_request){.start = INT64_MAX}) < 0)
			return -ENOMEM;
	}
	q = &s->all[i];
	q->failed |= span->failed;
	if (state_bits(state_value(span->state, "th:"), &before))
		q->before = MAX(q->before, before);
	sample_randomness(q, span);
	/* a span without a parent is preferred to any with one */
	if (q->rooted == !span->parent ? span->start >= q->start : q->rooted)
		return 0;
	q->rooted = !span->parent;
	q->start = span->start;
	q->dur = span->dur;
	return sample_name(s, span, &q->name);
}

/* ---- decision ---- */

struct deciding {
	struct spans_sample *s;
	uint32_t *order;     /* requests sorted by name, the slowest first */
	size_t first, count; /* those of one name */
};

static int sample_order(const void *a, const void *b, void *arg)
{
	const struct sample_request *all = arg, *x = &all[*(const uint32_t *)a],
				    *y = &all[*(const uint32_t *)b];

	/* must not depend on the randomness, by which the share of the others is chosen */
	int r = ORDER(x->name, y->name) ?: ORDER(y->dur, x->dur) ?: ORDER(x->start, y->start);

	return r ?: ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Threshold T: requests with R >= T are this share of all. */
static uint64_t sample_threshold(double share)
{
	uint64_t kept = (uint64_t)llround(ldexp(share, SAMPLE_BITS));

	kept = MAX(kept, 1ull);
	return RANDOM_MASK + 1 - MIN(kept, RANDOM_MASK + 1);
}

static size_t sample_rule_of(const struct deciding *d, const struct sample_request *q, size_t place)
{
	const struct sample_rules *rules = &d->s->rules;
	size_t i = 0;

	for (; i + 1 < rules->count; i++) {
		const struct sample_rule *r = &rules->all[i];

		if (r->kind == SAMPLE_FAILED ? q->failed
		    : r->kind == SAMPLE_SLOW ? (double)place < ceil(r->share * (double)d->count)
					     : d->count <= r->most)
			break;
	}
	return i;
}

static void sample_decide_name(struct deciding *d)
{
	struct spans_sample *s = d->s;

	for (size_t i = 0; i < d->count; i++) {
		struct sample_request *q = &s->all[d->order[d->first + i]];

		q->rule = (uint8_t)sample_rule_of(d, q, i);
		q->kept = q->threshold = q->rule + 1u < s->rules.count;
		q->weight = 1;
	}
}

/* Chooses among the requests of one name and one earlier threshold that no other rule keeps. */
static void sample_decide_share(struct deciding *d)
{
	const struct sample_rules *rules = &d->s->rules;
	uint64_t t = sample_threshold(rules->all[rules->count - 1].share);
	struct sample_request *most = NULL;
	size_t kept = 0;

	for (size_t i = d->first; i < d->first + d->count; i++) {
		struct sample_request *q = &d->s->all[d->order[i]];

		q->kept = q->threshold = q->random >= t;
		kept += q->kept;
		if (!most || q->random > most->random)
			most = q;
	}
	most->kept = true;
	kept = MAX(kept, (size_t)1);
	for (size_t i = d->first; i < d->first + d->count; i++)
		d->s->all[d->order[i]].weight = (double)d->count / (double)kept;
}

static int sample_order_share(const void *a, const void *b, void *arg)
{
	const struct sample_request *all = arg, *x = &all[*(const uint32_t *)a],
				    *y = &all[*(const uint32_t *)b];

	return ORDER(x->name, y->name) ?: ORDER(x->before, y->before);
}

/* Calls `decide` for each run of equal requests among the first `count` in d->order, which are sorted. */
static void sample_each(struct deciding *d, size_t count, bool before,
			void (*decide)(struct deciding *d))
{
	const struct sample_request *all = d->s->all;

	for (d->first = 0; d->first < count; d->first += d->count) {
		const struct sample_request *one = &all[d->order[d->first]];

		d->count = 1;
		while (d->first + d->count < count &&
		       all[d->order[d->first + d->count]].name == one->name &&
		       (!before || all[d->order[d->first + d->count]].before == one->before))
			d->count++;
		decide(d);
	}
}

int spans_sample_decide(struct spans_sample *s)
{
	_cleanup_free_ uint32_t *order = array_indexes(s->count);
	struct deciding d = {.s = s, .order = order};
	size_t left = 0;

	if (!order)
		return -ENOMEM;
	array_sort_by(order, s->count, sample_order, s->all);
	sample_each(&d, s->count, false, sample_decide_name);
	for (size_t i = 0; i < s->count; i++) {
		if (!s->all[order[i]].kept)
			order[left++] = order[i];
	}
	array_sort_by(order, left, sample_order_share, s->all);
	sample_each(&d, left, true, sample_decide_share);
	for (size_t i = 0; i < s->count; i++) {
		s->sums[s->all[i].rule].requests++;
		s->sums[s->all[i].rule].kept += s->all[i].kept;
	}
	return 0;
}

const struct sample_request *spans_sample_kept(const struct spans_sample *s, const char *trace)
{
	uint32_t i;

	return intern_find(&s->traces, trace, strlen(trace), &i) && s->all[i].kept ? &s->all[i]
										   : NULL;
}

/* ---- tracestate ---- */

/* The key th: without trailing zeros; 0 keeps all. */
static int state_put_threshold(struct buf *to, uint64_t t)
{
	char text[DIGITS + 1];
	size_t n = DIGITS;

	snprintf(text, sizeof(text), "%014llx", (unsigned long long)t);
	while (n > 1 && text[n - 1] == '0')
		n--;
	return buf_printf(to, "th:%.*s", (int)n, text);
}

/* Appends the keys of the member ot except those of sampling. */
static int state_put_keys(struct buf *to, const char *state)
{
	const char *p = state;

	while (p && *p && strncmp(p, "ot=", 3) != 0) {
		p += strcspn(p, ",");
		p += strspn(p, ", \t");
	}
	for (p = p && *p ? p + 3 : ""; *p && *p != ','; p += *p == ';') {
		size_t len = strcspn(p, ";,");

		if (strncmp(p, "th:", 3) != 0 && strncmp(p, "rv:", 3) != 0 && len)
			buf_printf(to, "%s%.*s", to->len ? ";" : "", (int)len, p);
		p += len;
	}
	return buf_status(to);
}

/* Appends the members except ot. */
static int state_put_members(struct buf *to, const char *state)
{
	for (const char *p = state; p && *p; p += *p == ',') {
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, ",");
		if (strncmp(p, "ot=", 3) != 0 && len)
			buf_printf(to, "%s%.*s", to->len ? "," : "", (int)len, p);
		p += len;
	}
	return buf_status(to);
}

int spans_sample_state(const struct spans_sample *s, const struct sample_request *of,
		       const char *state, struct buf *to)
{
	_cleanup_buf_ struct buf keys = {0};
	bool share = of->rule + 1u == s->rules.count;
	uint64_t t = share ? sample_threshold(s->rules.all[of->rule].share) : 0, before;
	int r = 0;

	/* an earlier sampling may have been sparser: the span then represents at least as many */
	if (of->threshold && state_bits(state_value(state, "th:"), &before))
		t = MAX(t, before);
	if (of->threshold)
		state_put_threshold(&keys, t);
	if (!of->by_id)
		buf_printf(&keys, "%srv:%014llx", keys.len ? ";" : "",
			   (unsigned long long)of->random);
	r = state_put_keys(&keys, state);
	if (r >= 0 && keys.len)
		r = buf_printf(to, "ot=%s", buf_str(&keys));
	return r < 0 ? r : state_put_members(to, state);
}
