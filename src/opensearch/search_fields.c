// SPDX-License-Identifier: Apache-2.0
#include "opensearch/search_fields.h"

#include <string.h>

/* Names that are looked up by an id. Excludes entities, which are ids, and texts that are too long for an index. */
static const struct {
	const char *name, *id, *vocab;
	enum query_name of;
	enum query_type type;
} search_names[] = {
#define VOCAB_OF_TEXT(name)   NULL
#define VOCAB_OF_INT(name)    NULL
#define VOCAB_OF_UINT(name)   NULL
#define VOCAB_OF_ENTITY(name) NULL
#define VOCAB_OF_CODE(name)   "type"
#define N(NAME, name, id, type, more, doc) \
	{#name, id, VOCAB_OF_##type(name), QNAME_##NAME, QUERY_##type},
	QUERY_NAMES(N)
#undef N
};

bool search_has_table(enum table_id table)
{
	return table < TABLE_COUNT && schema_table(table)->kind == TABLE_IS_EVENTS;
}

static bool is_kept(enum query_name of, enum query_type type)
{
	return type != QUERY_ENTITY && of != QNAME_ARGV && of != QNAME_STACK && of != QNAME_KSTACK;
}

static void search_add_field(struct search_fields *f, struct search_field field)
{
	assert(f->count < SEARCH_FIELDS_MAX);
	f->list[f->count++] = field;
}

void search_fields_of(enum table_id table, struct search_fields *ret)
{
	const struct table_def *t = schema_table(table);

	*ret = (struct search_fields){.table = table};
	for (unsigned int c = 0; c < t->column_count; c++) {
		enum column_type type = t->columns[c].type;

		if (type != COLUMN_ID)
			search_add_field(ret, (struct search_field){.name = t->columns[c].name,
								    .kind = type == COLUMN_CODE
										    ? SEARCH_WORD
									    : column_is_bytes(type)
										    ? SEARCH_TEXT
										    : SEARCH_NUMBER,
								    .column = c,
								    .vocab = t->columns[c].name});
	}
	for (size_t i = 0; i < ARRAY_SIZE(search_names); i++) {
		int id = schema_column_find(table, search_names[i].id);
		enum query_type type = search_names[i].type;

		if (id >= 0 && is_kept(search_names[i].of, type))
			search_add_field(ret, (struct search_field){
						      .name = search_names[i].name,
						      .kind = type == QUERY_CODE   ? SEARCH_WORD
							      : type == QUERY_TEXT ? SEARCH_TEXT
										   : SEARCH_NUMBER,
						      .column = (unsigned int)id,
						      .is_name = true,
						      .of = search_names[i].of,
						      .vocab = search_names[i].vocab});
	}
}

const struct search_field *search_field_find(const struct search_fields *f, const struct expr *e)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct search_field *x = &f->list[i];

		if (x->column == e->column && x->is_name == (e->kind == EXPR_NAME) &&
		    (!x->is_name || x->of == e->name))
			return x;
	}
	return NULL;
}

/* The fields searched most: an index costs a third more than a column. */
static bool is_indexed(const char *name)
{
	static const char *const names[] = {"rec", "op", "err", "comm", "path", "host", "cgroup"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

static void search_map(json_t *all, const char *name, const char *type, bool finds_columns)
{
	json_object_set_new(all, name,
			    finds_columns && !is_indexed(name)
				    ? json_pack("{ss,sb}", "type", type, "index", 0)
				    : json_pack("{ss}", "type", type));
}

static json_t *search_mapping(const struct search_fields *f, bool finds_columns)
{
	json_t *all = json_pack("{s{ss},s{ss},s{ss},s{ss}}", "@timestamp", "type", "date_nanos",
				"unended", "type", "boolean", "second", "type", "boolean",
				"omitted", "type", "keyword");

	search_map(all, "rec", "keyword", finds_columns);
	search_map(all, "end", "long", finds_columns);
	search_map(all, "part", "long", finds_columns);
	search_map(all, "n", "long", finds_columns);
	for (size_t i = 0; all && i < f->count; i++)
		search_map(all, f->list[i].name,
			   f->list[i].kind == SEARCH_NUMBER ? "long" : "keyword", finds_columns);
	return all;
}

json_t *search_template(const struct search_fields *f, const char *prefix, bool finds_columns,
			const char *policy, bool elastic)
{
	const char *table = schema_table(f->table)->name;
	json_t *settings =
		json_pack("{ss,ss}", "index.refresh_interval", "10s", "index.codec", "default");
	json_t *t;

	if (policy)
		json_object_set_new(settings,
				    elastic ? "index.lifecycle.name"
					    : "index.plugins.index_state_management.policy_id",
				    json_string(policy));
	t = json_pack("{s[o],s{},si,s{so,s{sb,so}}}", "index_patterns",
		      json_sprintf("%s-%s", prefix, table), "data_stream", "priority", 200,
		      "template", "settings", settings, "mappings", "dynamic", 0, "properties",
		      search_mapping(f, finds_columns));
	return t;
}
