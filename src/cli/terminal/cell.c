// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/cell.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cli/terminal/text.h"
#include "query/query.h"
#include "schema/ops.h"

enum cell_times cell_times_of(bool rel, bool utc)
{
	if (rel)
		return CELL_REL;
	if (utc)
		return CELL_UTC;
	return text_narrow() ? CELL_REL : CELL_LOCAL;
}

bool cell_is_number(const struct answer_column *c)
{
	switch (c->kind.type) {
	case QUERY_INT:
	case QUERY_UINT:
	case QUERY_FLOAT:
	case QUERY_DUR:
	case QUERY_SIZE:
	case QUERY_TIME:
	case QUERY_DISTINCT:
		return true;
	default:
		return false;
	}
}

static struct text signed_text(int64_t v, struct text (*print)(uint64_t v))
{
	struct text t = print(v < 0 ? -(uint64_t)v : (uint64_t)v), minus;

	if (v >= 0)
		return t;
	snprintf(minus.s, sizeof(minus.s), "-%.60s", t.s);
	return minus;
}

static struct text dur_size(uint64_t ns)
{
	return format_dur((int64_t)MIN(ns, (uint64_t)INT64_MAX));
}

static struct text plain_float(double v)
{
	struct text t;

	if (isfinite(v) && fabs(v) >= 1e5 && fabs(v) < 1e15)
		return signed_text((int64_t)(v < 0 ? v - 0.5 : v + 0.5), format_count);
	snprintf(t.s, sizeof(t.s), "%.4g", v);
	return t;
}

/* Formats a rate() in the unit of its argument. */
static struct text rate_text(const struct plan_field *f, double v)
{
	enum query_type type = f && f->expr ? f->expr->type.type : QUERY_INT;
	struct text t;

	if (!isfinite(v) || v < 0 || v >= 9e18)
		return plain_float(v);
	if (type == QUERY_SIZE)
		return format_rate((uint64_t)(v + 0.5), NSEC_PER_SEC, true);
	if (type == QUERY_DUR) {
		snprintf(t.s, sizeof(t.s), "%.60s/s", format_dur((int64_t)v).s);
		return t;
	}
	if (v >= 9.995 || v == 0)
		return format_rate((uint64_t)(v + 0.5), NSEC_PER_SEC, false);
	snprintf(t.s, sizeof(t.s), "%.3g/s", v);
	return t;
}

static struct text float_text(const struct answer_column *c, double v)
{
	struct text t;

	if (c->look == ANSWER_RATE)
		return rate_text(c->field, v);
	if (c->look == ANSWER_SHARE && v >= 0 && v < 1e6)
		return format_percent((uint64_t)(v * 1e9 + 0.5), 1000000000);
	if (c->look != ANSWER_MEAN)
		return plain_float(v);
	snprintf(t.s, sizeof(t.s), "%.2f", v);
	return t;
}

/* As elsewhere, plus microseconds if they are not zero: rows and windows may be that close. */
static struct text clock_text(int64_t ns, enum format_zone zone)
{
	struct text t = format_when(ns, zone), fine;
	const char *zone_at = strrchr(t.s, ' ');
	int64_t us = ns % NSEC_PER_MSEC / NSEC_PER_USEC;

	if (us < 0)
		us += NSEC_PER_MSEC / NSEC_PER_USEC;
	if (!us || !zone_at)
		return t;
	snprintf(fine.s, sizeof(fine.s), "%.*s%03d%.16s", (int)MIN(zone_at - t.s, (ptrdiff_t)40),
		 t.s, (int)us, zone_at);
	return fine;
}

static struct text time_text(int64_t ns, const struct cell_style *style)
{
	int64_t since;

	if (style->times != CELL_REL)
		return clock_text(ns, style->times == CELL_UTC ? FORMAT_UTC : FORMAT_LOCAL);
	if (__builtin_sub_overflow(ns, style->origin, &since))
		since = ns < 0 ? INT64_MIN : INT64_MAX;
	return format_rel(since, 6);
}

static struct text cell_bits_text(uint64_t v)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), v ? "0x%" PRIx64 : "%" PRIu64, v);
	return t;
}

/* Formats a value of a numeric type. */
static struct text number_text(const struct answer_column *c, const struct value *v,
			       const struct cell_style *style)
{
	struct text t;

	switch (c->kind.type) {
	case QUERY_BOOL:
		snprintf(t.s, sizeof(t.s), v->i ? "true" : "false");
		return t;
	case QUERY_FLOAT:
		return float_text(c, v->f);
	case QUERY_DUR:
		if (c->look == ANSWER_CLOCK)
			return clock_text(v->i,
					  style->times == CELL_UTC ? FORMAT_UTC : FORMAT_LOCAL);
		return signed_text(v->i, dur_size);
	case QUERY_SIZE:
		return signed_text(v->i, c->look == ANSWER_COUNT ? format_count : format_size);
	case QUERY_TIME:
		return time_text(v->i, style);
	case QUERY_UINT:
		if (c->look == ANSWER_BITS)
			return cell_bits_text((uint64_t)v->i);
		snprintf(t.s, sizeof(t.s), "%" PRIu64, (uint64_t)v->i);
		return t;
	default:
		if (c->look == ANSWER_COUNT)
			return signed_text(v->i, format_count);
		snprintf(t.s, sizeof(t.s), "%" PRId64, v->i);
		return t;
	}
}

bool cell_has_words(const struct answer_column *c, enum query_type type, const char *vocab)
{
	return c->kind.type == type && c->kind.vocab && strcmp(c->kind.vocab, vocab) == 0;
}

bool cell_is_op(const struct answer_column *c)
{
	return cell_has_words(c, QUERY_CODE, "op");
}

bool cell_is_flags(const struct answer_column *c)
{
	return cell_has_words(c, QUERY_UINT, "flags");
}

static bool is_op_column(const struct expr *e)
{
	return e->kind == EXPR_COLUMN && e->column == OP_OP;
}

/* The words that all of these operations use for flags, if they are the same. */
static enum word_set common_words(const struct value *ops, size_t count)
{
	enum word_set words = count ? op_flag_words((uint32_t)ops[0].i) : WORDS_NONE;

	for (size_t i = 1; i < count; i++) {
		if (op_flag_words((uint32_t)ops[i].i) != words)
			return WORDS_NONE;
	}
	return words;
}

static enum word_set filter_words(const struct expr *e)
{
	enum word_set words;

	if (!e)
		return WORDS_NONE;
	if (e->kind == EXPR_AND) {
		words = filter_words(e->arg[0]);
		return words != WORDS_NONE ? words : filter_words(e->arg[1]);
	}
	if (e->kind == EXPR_IN && is_op_column(e->arg[0]))
		return common_words(e->list, e->count);
	if (e->kind != EXPR_COMPARE || e->cmp != COMPARE_EQ)
		return WORDS_NONE;
	for (unsigned int i = 0; i < 2; i++) {
		if (is_op_column(e->arg[i]) && e->arg[1 - i]->kind == EXPR_CONST)
			return common_words(&e->arg[1 - i]->value, 1);
	}
	return WORDS_NONE;
}

enum word_set cell_flag_words(const struct plan *p)
{
	return p->table == TABLE_OP ? filter_words(p->where) : WORDS_NONE;
}

/* unfinished|by_path; for no bits 0, as for flags. */
static int put_status(struct buf *out, uint64_t bits)
{
	const char *word;
	uint64_t bit, rest = bits;

	for (size_t i = 0; (word = query_status_word(i, &bit)); i++) {
		if (!(bits & bit))
			continue;
		buf_printf(out, "%s%s", rest != bits ? "|" : "", word);
		rest &= ~bit;
	}
	if (!rest && bits)
		return buf_status(out);
	return buf_printf(out, rest ? "%s0x%" PRIx64 : "%s%" PRIu64, rest != bits ? "|" : "", rest);
}

int cell_put(struct buf *out, const struct answer_column *c, const struct value *v, bool estimated,
	     const struct cell_style *style)
{
	if (v->null || c->kind.type == QUERY_NULL)
		return buf_printf(out, "%s", style->null ? style->null : "-");
	if (answer_is_text(c) || v->t.data)
		return format_safe(out, v->t.data, v->t.len);
	if (c->dash && !v->i)
		return buf_printf(out, "-");
	if (c->kind.type == QUERY_CODE)
		return answer_put_plain(out, c, v);
	if (style->flags != WORDS_NONE && cell_is_flags(c))
		return flags_print(out, style->flags, (uint64_t)v->i);
	if (cell_has_words(c, QUERY_UINT, "status"))
		return put_status(out, (uint64_t)v->i);
	return buf_printf(out, "%s%s", estimated ? "~" : "", number_text(c, v, style).s);
}

struct text cell_number(const char *unit, int64_t v)
{
	struct text t;

	if (strcmp(unit, "ns") == 0)
		return signed_text(v, dur_size);
	if (strcmp(unit, "bytes") == 0)
		return signed_text(v, format_size);
	if (v > -100000 && v < 100000)
		snprintf(t.s, sizeof(t.s), "%" PRId64, v);
	else
		return signed_text(v, format_count);
	return t;
}
