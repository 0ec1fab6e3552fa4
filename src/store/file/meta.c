/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.c: the names of tables, columns and codes as lines of text, so that a reader of another version can map them
 * to its own. Fields are separated by tabs:
 *
 *   weir	0.1.0
 *   table	0	op
 *   column	0	1	dur	dur	ns
 *   code	class	0	data
 */
#include "store/file/meta.h"

#include <errno.h>
#include <string.h>

#include "schema/vocab.h"

#define FIELDS_MAX 6

static_assert(TABLE_COUNT < UINT8_MAX && SCHEMA_COLUMNS_MAX < UINT8_MAX, "0xff is none of them");

static int write_table(struct buf *out, unsigned int t)
{
	const struct table_def *def = schema_table((enum table_id)t);

	buf_printf(out, "table\t%u\t%s\n", t, def->name);
	for (unsigned int i = 0; i < def->column_count; i++) {
		const struct column_def *c = &def->columns[i];

		assert(column_type_name(c->type));
		buf_printf(out, "column\t%u\t%u\t%s\t%s\t%s\n", t, i, c->name,
			   column_type_name(c->type), c->unit);
	}
	return buf_status(out);
}

static int write_codes(struct buf *out, const char *vocabulary)
{
	for (size_t i = 0;; i++) {
		int64_t code = vocab_at(vocabulary, i);

		if (code < 0)
			break;
		buf_printf(out, "code\t%s\t%lld\t%s\n", vocabulary, (long long)code,
			   vocab_word(vocabulary, code));
	}
	return buf_status(out);
}

int meta_write(struct buf *out)
{
	static const char *const vocabularies[] = {"kind",   "op",    "class", "err",	"type",
						   "family", "cause", "via",   "origin"};

	buf_printf(out, "weir\t%s\n", WEIR_VERSION);
	for (unsigned int t = 0; t < TABLE_COUNT; t++)
		write_table(out, t);
	for (size_t i = 0; i < ARRAY_SIZE(vocabularies); i++)
		write_codes(out, vocabularies[i]);
	return buf_status(out);
}

void meta_default(struct meta *m)
{
	memset(m, 0xff, sizeof(*m));
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		m->table[t] = (uint8_t)t;
		for (unsigned int i = 0; i < schema_table((enum table_id)t)->column_count; i++)
			m->column[t][i] = (uint8_t)i;
	}
}

/* Splits a line at its tabs, in place. Returns the number of fields. */
static unsigned int split(char *line, char *fields[FIELDS_MAX])
{
	unsigned int n = 0;

	while (line && n < FIELDS_MAX) {
		fields[n++] = line;
		line = strchr(line, '\t');
		if (line)
			*line++ = '\0';
	}
	return n;
}

static bool small_number(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!*text || *end || v > 255)
		return false;
	*ret = (unsigned int)v;
	return true;
}

/* Reads a table or column line. Other lines are for people and later versions. */
static bool read_line(struct meta *m, char *line)
{
	unsigned int table, column, n;
	char *f[FIELDS_MAX];
	int ours;

	n = split(line, f);
	if (n >= 3 && !strcmp(f[0], "table")) {
		if (!small_number(f[1], &table))
			return false;
		m->table[table] = (uint8_t)schema_table_find(f[2]);
	} else if (n >= 4 && !strcmp(f[0], "column")) {
		if (!small_number(f[1], &table) || !small_number(f[2], &column))
			return false;
		if (m->table[table] == 0xff)
			return true;
		assert(m->table[table] < TABLE_COUNT);
		ours = schema_column_find((enum table_id)m->table[table], f[3]);
		m->column[m->table[table]][column] = (uint8_t)ours;
	}
	return true;
}

int meta_read(struct meta *m, struct bytes text)
{
	_cleanup_free_ char *copy = malloc(text.len + 1);
	char *line, *next;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	memset(m, 0xff, sizeof(*m));
	for (line = copy; *line; line = next) {
		next = strchr(line, '\n');
		if (!next)
			return -EBADMSG;
		*next++ = '\0';
		if (!read_line(m, line))
			return -EBADMSG;
	}
	return 0;
}
