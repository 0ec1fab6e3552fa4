// SPDX-License-Identifier: Apache-2.0
/* enum_types.c: vocabularies as ENUM types. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/internal.h"
#include "engine/duckdb/library/enum_types.h"
#include "schema/ops.h"
#include "schema/vocab.h"

/* codes of the small vocabularies; unknown ones up to here are named "<column>_N" */
#define VOCAB_CODES_MAX 128
#define ERRNO_CODES_MAX 4096 /* the kernel's MAX_ERRNO */

void words_free(const struct duckdb_api *d, struct words *w)
{
	if (w->type)
		d->destroy_logical_type(&w->type);
	free(w->ordinals);
	*w = (struct words){0};
}

struct sort_entry {
	const char *text;
	uint32_t id;
};

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct sort_entry *)a)->text, ((const struct sort_entry *)b)->text);
}

int words_declare(const struct duckdb_api *d, struct intern *texts, struct words *w)
{
	/* An ENUM needs at least one member; an empty one has no internal type. */
	size_t count = MAX(texts->count, (size_t)1);
	_cleanup_free_ struct sort_entry *entries = calloc(count, sizeof(*entries));
	_cleanup_free_ const char **values = calloc(count, sizeof(*values));
	_cleanup_free_ uint32_t *ranks = calloc(count, sizeof(*ranks));
	_cleanup_free_ char *flat = malloc(texts->len + texts->count + 1);
	size_t at = 0;

	if (!entries || !values || !ranks || !flat)
		return -ENOMEM;
	entries[0].text = "";
	for (size_t i = 0; i < texts->count; i++) {
		struct bytes text = intern_get(texts, (uint32_t)i);

		entries[i] = (struct sort_entry){flat + at, (uint32_t)i};
		memcpy(flat + at, text.data, text.len);
		flat[at + text.len] = '\0';
		at += text.len + 1;
	}
	qsort(entries, texts->count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++) {
		values[i] = entries[i].text;
		ranks[entries[i].id] = (uint32_t)i;
	}
	w->type = d->create_enum_type(values, count);
	if (!w->type)
		return -ENOMEM;
	w->internal = d->enum_internal_type(w->type);
	for (size_t i = 0; i < w->ordinal_count; i++)
		w->ordinals[i] = ranks[w->ordinals[i]];
	return 0;
}

/* The word of a code, generated if the vocabulary has none. */
static const char *enum_types_code_word(const char *column, int64_t code, char buf[static 64])
{
	const char *word;

	if (!strcmp(column, "op") && code < OP_CODE_MAX)
		return op_name((uint32_t)code, buf);
	word = vocab_word(column, code);
	if (word)
		return word;
	snprintf(buf, 64, "%s_%lld", column, (long long)code);
	return buf;
}

static size_t vocab_codes(const char *column)
{
	if (!strcmp(column, "op"))
		return OP_CODE_MAX;
	if (!strcmp(column, "err"))
		return ERRNO_CODES_MAX;
	return VOCAB_CODES_MAX;
}

int words_of_vocab(const struct duckdb_api *d, const char *column, struct words *ret)
{
	_cleanup_(intern_free) struct intern texts = {0};
	size_t codes = vocab_codes(column);
	struct words w = {.ordinals = calloc(codes, sizeof(*w.ordinals)), .ordinal_count = codes};
	int r = w.ordinals ? 0 : -ENOMEM;

	for (size_t code = 0; code < codes && r >= 0; code++) {
		char buf[64];
		const char *word = enum_types_code_word(column, (int64_t)code, buf);

		r = intern_add(&texts, word, strlen(word), &w.ordinals[code]);
	}
	if (r >= 0)
		r = words_declare(d, &texts, &w);
	if (r < 0)
		words_free(d, &w);
	else
		*ret = w;
	return r;
}
