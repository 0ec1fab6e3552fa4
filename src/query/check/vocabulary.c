/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.c: the words of a query: aggregates, functions, the words of bits and codes. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "query/internal.h"
#include "schema/ops.h"
#include "schema/vocab.h"
#include "schema/words.h"

static const char *const aggregate_names[] = {
#define A(NAME, name, sig, doc) [AGGREGATE_##NAME] = #name,
	QUERY_AGGREGATES(A)
#undef A
};

static const char *const function_names[] = {
#define F(NAME, name, sig, doc) [FUNCTION_##NAME] = #name,
	QUERY_FUNCTIONS(F)
#undef F
};

static const struct query_call calls[] = {
#define F(NAME, name, sig, doc) {#name, sig},
	QUERY_FUNCTIONS(F)
#undef F
		{"if", "if(condition, a, b)"},
#define A(NAME, name, sig, doc) {#name, sig, .aggregate = true},
	QUERY_AGGREGATES(A)
#undef A
		{"p50", "p50(x)", .aggregate = true},
	{"p90", "p90(x)", .aggregate = true},
	{"p95", "p95(x)", .aggregate = true},
	{"p99", "p99(x)", .aggregate = true},
	{"p999", "p999(x)", .aggregate = true},
	{"median", "median(x)", .aggregate = true},
};

static const struct {
	const char *name;
	uint64_t bit;
} status_words[] = {
	{"unfinished", STATUS_UNFINISHED}, {"interrupted", STATUS_INTERRUPTED},
	{"denied", STATUS_DENIED},	   {"contested", STATUS_CONTESTED},
	{"append", STATUS_APPEND},	   {"held", STATUS_HELD},
	{"no_start", STATUS_NO_START},	   {"noreturn", STATUS_NORETURN},
	{"by_path", STATUS_BY_PATH},	   {"arg_unread", STATUS_ARG_UNREAD},
	{"slept", STATUS_SLEPT},
};

static_assert(ARRAY_SIZE(aggregate_names) == AGGREGATE_KINDS, "each aggregate has a name");
static_assert(ARRAY_SIZE(function_names) == FUNCTION_COUNT, "each function has a name");

/* ---- aggregates and functions ---- */

/*
 * "p99" is 0.99, "p999" 0.999. More than two digits only after a 9: p100 means the maximum, and p125 may be 12.5 or a
 * typo.
 */
static bool quantile_name(struct bytes name, double *ret)
{
	double value = 0, place = 1;

	if (name.len < 3 || name.len > 5 || name.data[0] != 'p')
		return false;
	if (name.len > 3 && name.data[1] != '9')
		return false;
	for (size_t i = 1; i < name.len; i++) {
		if (name.data[i] < '0' || name.data[i] > '9')
			return false;
		place *= 10;
		value = value * 10 + (name.data[i] - '0');
	}
	*ret = value / place;
	assert(*ret >= 0 && *ret < 1);
	return value > 0;
}

bool aggregate_find(struct bytes name, enum query_aggregate *ret, double *ret_quantile)
{
	*ret_quantile = 0;
	if (quantile_name(name, ret_quantile)) {
		*ret = AGGREGATE_PERCENTILE;
		return true;
	}
	if (token_text_is(name, "median")) {
		*ret = AGGREGATE_PERCENTILE;
		*ret_quantile = 0.5;
		return true;
	}
	for (unsigned int i = 0; i < AGGREGATE_KINDS; i++) {
		if (token_text_is(name, aggregate_names[i])) {
			*ret = (enum query_aggregate)i;
			return true;
		}
	}
	return false;
}

int function_find(struct bytes name)
{
	for (unsigned int i = 0; i < FUNCTION_COUNT; i++) {
		if (token_text_is(name, function_names[i]))
			return (int)i;
	}
	return -1;
}

const char *function_name(enum query_function f)
{
	return function_names[f];
}

const char *aggregate_name(enum query_aggregate a)
{
	return aggregate_names[a];
}

const struct query_call *query_call(size_t i)
{
	return i < ARRAY_SIZE(calls) ? &calls[i] : NULL;
}

/* ---- bits ---- */

const char *query_status_word(size_t i, uint64_t *ret_bit)
{
	if (i >= ARRAY_SIZE(status_words))
		return NULL;
	*ret_bit = status_words[i].bit;
	return status_words[i].name;
}

static const struct flag_word *flag_word_find(const struct flag_set *set, struct bytes word,
					      bool *ret_code)
{
	assert(set->code_count || set->bit_count);
	for (size_t i = 0; i < (size_t)set->code_count + set->bit_count; i++) {
		*ret_code = i < set->code_count;
		const struct flag_word *w =
			*ret_code ? &set->codes[i] : &set->bits[i - set->code_count];

		if (token_text_is(word, w->name))
			return w;
	}
	return NULL;
}

/* The operations in which the word has the same bits; the first operation that has it determines them. */
static bool flag_ops(struct query_source *s, struct bytes word, struct bit_word *ret)
{
	struct value ops[OP_CODE_CALLS / 8];
	bool found = false;

	*ret = (struct bit_word){0};
	for (uint32_t code = 0; code < op_code_end(); code++) {
		enum word_set words = op_flag_words(code);
		const struct flag_word *w;
		uint64_t mask;
		bool is_code;

		if (words == WORDS_NONE || !flag_set(words))
			continue;
		w = flag_word_find(flag_set(words), word, &is_code);
		if (!w)
			continue;
		mask = is_code ? flag_set(words)->mask : w->value;
		if (found && (mask != ret->mask || w->value != ret->bits))
			continue;
		found = true;
		ret->mask = mask;
		ret->bits = w->value;
		if (ret->op_count < ARRAY_SIZE(ops))
			ops[ret->op_count++] = (struct value){.i = code};
	}
	if (!found)
		return false;
	assert(ret->op_count > 0 && ret->op_count <= ARRAY_SIZE(ops));
	ret->ops = query_array(s, ret->op_count, struct value);
	if (ret->ops)
		memcpy(ret->ops, ops, ret->op_count * sizeof(*ops));
	return ret->ops;
}

bool bit_word_find(struct query_source *s, const char *set, struct bytes word, struct bit_word *ret)
{
	assert(!strcmp(set, "flags") || !strcmp(set, "status"));
	if (!strcmp(set, "flags"))
		return flag_ops(s, word, ret);
	for (size_t i = 0; i < ARRAY_SIZE(status_words); i++) {
		if (token_text_is(word, status_words[i].name)) {
			*ret = (struct bit_word){.mask = status_words[i].bit,
						 .bits = status_words[i].bit};
			return true;
		}
	}
	return false;
}

/* ---- the nearest word ---- */

static const char *did_you_mean(const struct nearest *n, char buf[static 96])
{
	if (!n->best)
		return "";
	snprintf(buf, 96, "; did you mean %s?", n->best);
	return buf;
}

static void vocabulary_offer_flags(struct nearest *n)
{
	for (uint32_t code = 0; code < op_code_end(); code++) {
		enum word_set words = op_flag_words(code);
		const struct flag_set *set = words == WORDS_NONE ? NULL : flag_set(words);

		for (size_t i = 0; set && i < set->code_count; i++)
			nearest_offer(n, set->codes[i].name);
		for (size_t i = 0; set && i < set->bit_count; i++)
			nearest_offer(n, set->bits[i].name);
	}
}

const char *nearest_bit(const char *set, struct bytes word, char buf[static 96])
{
	char text[NEAREST_WORD_MAX + 2];
	struct nearest n = {.word = text};

	snprintf(text, sizeof(text), "%.*s", (int)MIN(word.len, sizeof(text)),
		 (const char *)word.data);
	if (!strcmp(set, "flags"))
		vocabulary_offer_flags(&n);
	for (size_t i = 0; strcmp(set, "flags") && i < ARRAY_SIZE(status_words); i++)
		nearest_offer(&n, status_words[i].name);
	return did_you_mean(&n, buf);
}

/* "; its values are syscall, io_uring", if all of them fit. */
static const char *all_words(const char *vocab, char buf[static 96])
{
	int len = snprintf(buf, 96, "; its values are ");

	for (size_t i = 0; vocab_at(vocab, i) >= 0; i++) {
		len += snprintf(buf + len, 96 - (size_t)len, "%s%s", i ? ", " : "",
				vocab_word(vocab, vocab_at(vocab, i)));
		if (len >= 96)
			return "";
	}
	return buf;
}

const char *nearest_code(const char *vocab, struct bytes word, char buf[static 96])
{
	char text[NEAREST_WORD_MAX + 2];
	struct nearest n = {.word = text};

	snprintf(text, sizeof(text), "%.*s", (int)MIN(word.len, sizeof(text)),
		 (const char *)word.data);
	for (size_t i = 0; vocab_at(vocab, i) >= 0; i++)
		nearest_offer(&n, vocab_word(vocab, vocab_at(vocab, i)));
	return n.best ? did_you_mean(&n, buf) : all_words(vocab, buf);
}
