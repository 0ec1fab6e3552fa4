/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over batches against the plain evaluator of reference.c: random expressions, random rows with
 * nulls, ids of two traces, names that change. WEIR_SEED repeats a run. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/eval/eval.h"
#include "reference.h"
#include "schema/vocab.h"

#define ROUNDS	    60
#define EXPRESSIONS 25
#define IDS	    40
#define TRACE(k)    ((int64_t)(k) << 40)

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = hash_u64(state);
	return state % below;
}

static bool chance(uint64_t in)
{
	return draw(in) == 0;
}

/* ---- memory of a round ---- */

static void *blocks[1 << 16];
static size_t block_count;

static void *make(size_t size)
{
	void *p = calloc(1, size);

	assert_non_null(p);
	assert_true(block_count < ARRAY_SIZE(blocks));
	blocks[block_count++] = p;
	return p;
}

static void forget(void)
{
	while (block_count)
		free(blocks[--block_count]);
}

/* ---- rows ---- */

static const char *const texts[] = {
	"",	 "a",	     "/",     "/var/db/1.sst", "/var/db/MANIFEST-2", "/var/log",
	"redis", "worker/1", "tcp:1", "unit.service",  "\xc3\xa9x"};

static struct bytes some_text(void)
{
	const char *t = texts[draw(ARRAY_SIZE(texts))];

	return (struct bytes){(const uint8_t *)t, strlen(t)};
}

static int64_t some_int(void)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1,	 -1, 0, 1, INT64_MAX - 1, INT64_MAX,
				      1ll << 53, (1ll << 53) + 1};

	switch (draw(6)) {
	case 0:
		return odd[draw(ARRAY_SIZE(odd))];
	case 1:
		return (int64_t)hash_u64(state);
	default:
		return (int64_t)draw(40) - 10;
	}
}

static int64_t some_id(void)
{
	return (chance(4) ? TRACE(1 + draw(2)) : 0) + (int64_t)draw(IDS + 5);
}

/* Values of a column that fit it: codes, ids, ... */
static int64_t some_value(enum table_id table, unsigned int column)
{
	switch (schema_table(table)->columns[column].type) {
	case COLUMN_CODE:
		return chance(10) ? (int64_t)draw(4096) : (int64_t)draw(12);
	case COLUMN_ID:
		return some_id();
	case COLUMN_UINT:
		return column == OP_STATUS && table == TABLE_OP ? (int64_t)draw(8) : some_int();
	default:
		return table == TABLE_OP ? some_int() : (int64_t)draw(20);
	}
}

static bool is_generation(enum table_id table, unsigned int column)
{
	return (table == TABLE_FILE && column == FILE_INODE) ||
	       (table == TABLE_THREAD && column == THREAD_TASK);
}

static void fill_row(struct batch *b, int64_t id)
{
	ssize_t row = batch_add_row(b);

	assert_true(row >= 0);
	for (unsigned int c = 0; c < b->def->column_count; c++) {
		if (b->def->columns[c].type == COLUMN_BYTES) {
			struct bytes t = some_text();

			if (!chance(4))
				assert_int_equal(batch_set_bytes(b, c, (size_t)row, t.data, t.len),
						 0);
		} else if (c == 0 && id >= 0) {
			assert_int_equal(batch_set(b, c, (size_t)row, id), 0);
		} else if (id >= 0 && is_generation(b->table, c)) {
			/* a version stays with its file or thread */
			assert_int_equal(batch_set(b, c, (size_t)row, id % 7), 0);
		} else if (!chance(4)) {
			assert_int_equal(batch_set(b, c, (size_t)row, some_value(b->table, c)), 0);
		}
	}
}

/* Dimension rows of all tables, of old ids and new. */
static void grow_dims(struct dims *d)
{
	static const enum table_id tables[] = {TABLE_HOST, TABLE_CGROUP, TABLE_PROCESS,
					       TABLE_THREAD, TABLE_FILE};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct batch *b;

		if (chance(3))
			continue;
		assert_int_equal(batch_new(&b, tables[i]), 0);
		for (size_t k = 0; k < 1 + draw(IDS); k++)
			fill_row(b, (chance(4) ? TRACE(1) : 0) + (int64_t)draw(IDS));
		assert_int_equal(dims_apply(d, b), 0);
		batch_free(b);
	}
}

/* Some columns absent, some without nulls, as blocks of a trace are. */
static struct batch *make_rows(void)
{
	size_t rows = chance(8) ? 3000 + draw(3000) : draw(200);
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < rows; i++)
		fill_row(b, -1);
	for (unsigned int c = 0; c < OP_COLUMNS; c++) {
		if (chance(8))
			batch_drop_column(b, c);
		else if (chance(3) && b->columns[c].val) {
			free(b->columns[c].nulls);
			b->columns[c].nulls = NULL;
		}
	}
	return b;
}

/* ---- expressions ---- */

static struct expr *node(enum expr_kind kind, enum query_type type, unsigned int args, ...)
{
	struct expr *e = make(sizeof(*e));
	va_list list;

	e->kind = kind;
	e->type.type = type;
	e->arg_count = args;
	va_start(list, args);
	for (unsigned int i = 0; i < args; i++)
		e->arg[i] = va_arg(list, struct expr *);
	va_end(list);
	return e;
}

static struct expr *constant(enum query_type type, struct value v)
{
	struct expr *e = node(EXPR_CONST, type, 0);

	e->value = v;
	return e;
}

static struct expr *column(unsigned int c)
{
	static const enum query_type types[] = {
		[COLUMN_INT] = QUERY_INT,   [COLUMN_UINT] = QUERY_UINT, [COLUMN_ID] = QUERY_INT,
		[COLUMN_TIME] = QUERY_TIME, [COLUMN_DUR] = QUERY_DUR,	[COLUMN_SIZE] = QUERY_SIZE,
		[COLUMN_CODE] = QUERY_CODE,
	};
	const struct column_def *def = &schema_table(TABLE_OP)->columns[c];
	struct expr *e = node(EXPR_COLUMN, types[def->type], 0);

	e->column = c;
	e->type.vocab = def->name;
	return e;
}

static struct expr *name(enum query_name n)
{
	static const struct {
		const char *id;
		enum query_type type;
		int64_t more;
		const char *vocab;
	} names[] = {
#define N(NAME, name, id, type, more, doc) {id, QUERY_##type, (int64_t)(intptr_t)(more), NULL},
		QUERY_NAMES(N)
#undef N
	};
	struct expr *e = node(EXPR_NAME, names[n].type, 0);

	e->name = n;
	e->column = (unsigned int)schema_column_find(TABLE_OP, names[n].id);
	if (names[n].type == QUERY_CODE)
		e->type.vocab = "type";
	else
		e->type.entity = (enum table_id)names[n].more;
	return e;
}

/* A name, a code or a call of the type wanted. */
static struct expr *name_of(enum query_type type)
{
	for (;;) {
		struct expr *e = name((enum query_name)draw(QNAME_COUNT));

		if (e->type.type == type)
			return e;
	}
}

static struct expr *make_bool(unsigned int depth);
static struct expr *make_int(unsigned int depth);
static struct expr *make_float(unsigned int depth);

static enum query_type int_type(void)
{
	static const enum query_type types[] = {QUERY_INT, QUERY_DUR, QUERY_SIZE, QUERY_UINT};

	return types[draw(ARRAY_SIZE(types))];
}

static struct expr *make_text(unsigned int depth)
{
	static const enum query_function functions[] = {FUNCTION_DIR, FUNCTION_BASE, FUNCTION_EXT,
							FUNCTION_LOWER};
	struct expr *e;

	switch (depth ? draw(7) : draw(2)) {
	case 0:
		return constant(QUERY_TEXT, (struct value){.t = some_text()});
	case 1:
	case 2:
		return name_of(QUERY_TEXT);
	case 3:
		e = node(EXPR_CALL, QUERY_TEXT, 1, make_text(depth - 1));
		e->function = functions[draw(4)];
		return e;
	case 4:
		e = node(EXPR_CALL, QUERY_TEXT, 1,
			 chance(2)   ? name_of(QUERY_ENTITY)
			 : chance(2) ? column(OP_OP)
				     : make_int(depth - 1));
		e->function = FUNCTION_TEXT;
		return e;
	case 5:
		e = node(EXPR_CALL, QUERY_TEXT, 2, make_text(depth - 1), make_text(depth - 1));
		e->function = FUNCTION_COALESCE;
		return e;
	default:
		return node(EXPR_CASE, QUERY_TEXT, 3, make_bool(depth - 1), make_text(depth - 1),
			    make_text(depth - 1));
	}
}

static struct expr *make_leaf_int(void)
{
	static const unsigned int columns[] = {OP_DUR, OP_RET,	   OP_POS,   OP_SIZE, OP_A0,
					       OP_CPU, OP_FILE_ID, OP_START, OP_FLAGS};

	switch (draw(6)) {
	case 0:
		return constant(int_type(), (struct value){.i = some_int()});
	case 1:
		return node(EXPR_STOP, QUERY_TIME, 0);
	case 2:
		return name_of(chance(2) ? QUERY_INT : QUERY_ENTITY);
	default:
		return column(columns[draw(ARRAY_SIZE(columns))]);
	}
}

static struct expr *make_int(unsigned int depth)
{
	static const enum query_function functions[] = {
		FUNCTION_BUCKET, FUNCTION_LOG2,	  FUNCTION_HOUR, FUNCTION_MINUTE,
		FUNCTION_ABS,	 FUNCTION_BITAND, FUNCTION_BITOR};
	struct expr *e;

	switch (depth ? draw(9) : 0) {
	case 0:
	case 1:
	case 2:
		return make_leaf_int();
	case 3:
		e = node(EXPR_ARITH, int_type(), 2, make_int(depth - 1), make_int(depth - 1));
		e->arith = (enum expr_arith)draw(5);
		return e;
	case 4:
		return node(EXPR_NEG, int_type(), 1, make_int(depth - 1));
	case 5:
		e = node(EXPR_CALL, int_type(), 2, make_int(depth - 1), make_int(depth - 1));
		e->function = functions[draw(ARRAY_SIZE(functions))];
		if (e->function != FUNCTION_BUCKET && e->function < FUNCTION_BITAND)
			e->arg_count = 1;
		return e;
	case 6:
		e = node(EXPR_CALL, QUERY_INT, 1, make_text(depth - 1));
		e->function = FUNCTION_LEN;
		return e;
	case 7:
		e = node(EXPR_CALL, QUERY_INT, 2, make_int(depth - 1),
			 chance(8) ? constant(QUERY_NULL, (struct value){0}) : make_int(depth - 1));
		e->function = FUNCTION_COALESCE;
		return e;
	default:
		return node(EXPR_CASE, QUERY_INT, 3, make_bool(depth - 1), make_int(depth - 1),
			    make_int(depth - 1));
	}
}

static struct expr *make_float(unsigned int depth)
{
	static const enum query_function functions[] = {FUNCTION_BUCKET, FUNCTION_LOG2,
							FUNCTION_ABS};
	struct expr *e;

	switch (depth ? draw(4) : 0) {
	case 0:
		return constant(QUERY_FLOAT,
				(struct value){.f = chance(3)	? (double)some_int()
						    : chance(4) ? 1e300
								: (double)some_int() / 4});
	case 1:
		e = node(EXPR_CALL, QUERY_FLOAT, 2, make_float(depth - 1), make_int(depth - 1));
		e->function = functions[draw(3)];
		if (e->function != FUNCTION_BUCKET)
			e->arg_count = 1;
		return e;
	case 2:
		return node(EXPR_CASE, QUERY_FLOAT, 3, make_bool(depth - 1), make_float(depth - 1),
			    make_int(depth - 1));
	default:
		e = node(EXPR_ARITH, QUERY_FLOAT, 2,
			 chance(2) ? make_float(depth - 1) : make_int(depth - 1),
			 chance(2) ? make_float(depth - 1) : make_int(depth - 1));
		e->arith = (enum expr_arith)draw(5);
		return e;
	}
}

static int compare_values(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return x->i < y->i ? -1 : x->i > y->i;
}

static int compare_unsigned(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return (uint64_t)x->i < (uint64_t)y->i ? -1 : (uint64_t)x->i > (uint64_t)y->i;
}

static int compare_texts(const void *a, const void *b)
{
	const struct value *x = a, *y = b;
	int o = memcmp(x->t.data, y->t.data, MIN(x->t.len, y->t.len));

	return o ? o : x->t.len < y->t.len ? -1 : x->t.len > y->t.len;
}

static struct expr *make_in(unsigned int depth)
{
	bool text = chance(3);
	struct expr *arg = text	       ? make_text(depth)
			   : chance(3) ? column(chance(2) ? OP_OP : OP_ERR)
				       : make_int(depth);
	struct expr *e = node(EXPR_IN, QUERY_BOOL, 1, arg);
	bool words = text || (arg->type.type == QUERY_ENTITY && chance(2));

	e->count = 1 + draw(8);
	e->list = make(e->count * sizeof(*e->list));
	for (size_t i = 0; i < e->count; i++)
		e->list[i] =
			words ? (struct value){.t = some_text()}
			      : (struct value){.i = arg->type.type == QUERY_CODE ? (int64_t)draw(12)
										 : some_int()};
	qsort(e->list, e->count, sizeof(*e->list),
	      words			     ? compare_texts
	      : arg->type.type == QUERY_UINT ? compare_unsigned
					     : compare_values);
	return e;
}

static struct expr *make_pattern(unsigned int depth)
{
	static const struct {
		enum expr_kind kind;
		const char *text;
	} patterns[] = {
		{EXPR_GLOB, "*.sst"},  {EXPR_GLOB, "/var/**"},	  {EXPR_GLOB, "/var/*"},
		{EXPR_GLOB, "/var"},   {EXPR_GLOB, "re[a-d]*"},	  {EXPR_REGEX, "^/var/.*[0-9]"},
		{EXPR_REGEX, "e"},     {EXPR_REGEX, "(a|b)*c?$"}, {EXPR_LIKE, "%db%"},
		{EXPR_LIKE, "_"},      {EXPR_LIKE, "%"},	  {EXPR_LIKE, "/var/___/%.sst"},
		{EXPR_GLOB, "*write"}, {EXPR_REGEX, "read|E"},	  {EXPR_LIKE, "p%64"},
	};
	size_t i = draw(ARRAY_SIZE(patterns));
	struct expr *arg = chance(3)   ? column(chance(2) ? OP_OP : OP_ERR)
			   : chance(3) ? name_of(QUERY_ENTITY)
				       : make_text(depth);
	struct expr *e = node(patterns[i].kind, QUERY_BOOL, 1, arg);

	e->pattern = (struct bytes){(const uint8_t *)patterns[i].text, strlen(patterns[i].text)};
	return e;
}

static struct expr *make_compare(unsigned int depth)
{
	struct expr *a, *b, *e;

	switch (draw(5)) {
	case 0:
		a = make_text(depth);
		b = chance(4) ? name_of(QUERY_ENTITY) : make_text(depth);
		break;
	case 1:
		a = make_float(depth);
		b = chance(2) ? make_int(depth) : make_float(depth);
		break;
	case 2:
		a = column(OP_OP);
		b = chance(5) ? constant(QUERY_TEXT,
					 (struct value){.t = {(const uint8_t *)"read", 4}})
			      : constant(QUERY_CODE, (struct value){.i = (int64_t)draw(12)});
		b->type.vocab = a->type.vocab;
		break;
	default:
		a = make_int(depth);
		b = chance(12) ? constant(QUERY_NULL, (struct value){0}) : make_int(depth);
		break;
	}
	e = chance(2) ? node(EXPR_COMPARE, QUERY_BOOL, 2, a, b)
		      : node(EXPR_COMPARE, QUERY_BOOL, 2, b, a);
	e->cmp = (enum expr_compare)draw(6);
	return e;
}

static struct expr *make_bool(unsigned int depth)
{
	unsigned int less = depth ? depth - 1 : 0;
	struct expr *e;

	switch (depth ? draw(11) : 5 + draw(4)) {
	case 0:
	case 1:
		return node(EXPR_AND, QUERY_BOOL, 2, make_bool(less), make_bool(less));
	case 2:
	case 3:
		return node(EXPR_OR, QUERY_BOOL, 2, make_bool(less), make_bool(less));
	case 4:
		return node(EXPR_NOT, QUERY_BOOL, 1, make_bool(less));
	case 5:
		return make_in(less);
	case 6:
		return make_pattern(less);
	case 7:
		e = node(EXPR_HAS, QUERY_BOOL, 1, column(OP_FLAGS));
		e->mask = draw(8);
		e->bits = e->mask & draw(8);
		return e;
	case 8:
		return node(EXPR_RANGE, QUERY_BOOL, 3, make_int(less), make_int(0), make_int(0));
	case 9:
		return node(EXPR_IS_NULL, QUERY_BOOL, 1,
			    chance(3)	? make_text(less)
			    : chance(3) ? make_bool(less)
					: make_int(less));
	default:
		return make_compare(less);
	}
}

/* ---- checks ---- */

static bool is_true(struct reference *r, const struct expr *e, size_t row)
{
	struct value v;

	r->row = row;
	v = reference_value(r, e);
	return !v.null && v.i;
}

static size_t some_rows(size_t rows, uint32_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < rows; i++) {
		if (!chance(3))
			to[n++] = (uint32_t)i;
	}
	return n;
}

static void check_filter(struct eval *e, struct eval_scratch *s, size_t k, const struct expr *x,
			 struct reference *ref)
{
	const struct batch *b = ref->batch;
	uint32_t *in = make((b->rows + 1) * sizeof(*in)), *out = make((b->rows + 1) * sizeof(*out));
	size_t n = some_rows(b->rows, in), at = 0;
	ssize_t got = eval_filter(e, s, k, b, NULL, b->rows, out);

	assert_true(got >= 0);
	for (size_t row = 0; row < b->rows; row++) {
		if (is_true(ref, x, row)) {
			assert_true(at < (size_t)got);
			assert_int_equal(out[at++], row);
		}
	}
	assert_int_equal(at, got);
	memcpy(out, in, n * sizeof(*out));
	got = eval_filter(e, s, k, b, out, n, out);
	assert_true(got >= 0);
	at = 0;
	for (size_t j = 0; j < n; j++) {
		if (is_true(ref, x, in[j]))
			assert_int_equal(out[at++], in[j]);
	}
	assert_int_equal(at, got);
}

static void check_value(struct eval *e, size_t k, const struct vector *v, size_t j,
			const struct value *want)
{
	bool null = v->nulls && (v->nulls[j / 64] >> (j % 64) & 1);
	const struct bytes *words;

	assert_int_equal(null, want->null);
	if (null)
		return;
	if (v->type.type == QUERY_FLOAT) {
		assert_true(v->f[j] == want->f);
	} else if (v->type.type == QUERY_TEXT) {
		struct bytes t;

		if (v->words) {
			assert_true((size_t)v->i[j] < eval_words(e, k, &words));
			t = words[v->i[j]];
		} else {
			t = v->t[j];
		}
		assert_int_equal(t.len, want->t.len);
		assert_memory_equal(t.data ? t.data : (const uint8_t *)"",
				    want->t.data ? want->t.data : (const uint8_t *)"", t.len);
	} else {
		assert_int_equal(v->i[j], want->i);
	}
}

static void check_rows(struct eval *e, struct eval_scratch *s, size_t k, const struct expr *x,
		       struct reference *ref)
{
	const struct batch *b = ref->batch;
	uint32_t *in = make((b->rows + 1) * sizeof(*in));
	size_t n = some_rows(b->rows, in);
	bool all = chance(2);
	struct vector v;

	n = all ? b->rows : n;
	assert_int_equal(eval_rows(e, s, k, b, all ? NULL : in, n, &v), 0);
	for (size_t j = 0; j < n; j++) {
		struct value want;

		ref->row = all ? j : in[j];
		want = reference_value(ref, x);
		check_value(e, k, &v, j, &want);
	}
}

static bool has_id(void *arg, unsigned int column_number, int64_t id)
{
	const struct batch *b = arg;

	for (size_t i = 0; i < b->rows; i++) {
		if (batch_get(b, column_number, i, -1) == id)
			return true;
	}
	return false;
}

static bool check_block(struct eval *e, size_t k, const struct expr *x, struct reference *ref)
{
	const struct batch *b = ref->batch;
	int64_t min[OP_COLUMNS], max[OP_COLUMNS];
	uint32_t nulls[OP_COLUMNS] = {0};
	struct eval_block block = {
		.rows = b->rows, .min = min, .max = max, .nulls = nulls, .arg = (void *)b};

	block.has_id = chance(2) ? has_id : NULL;
	for (unsigned int c = 0; c < OP_COLUMNS; c++) {
		min[c] = INT64_MAX;
		max[c] = INT64_MIN;
		for (size_t i = 0; i < b->rows; i++) {
			nulls[c] += batch_is_null(b, c, i);
			if (batch_is_null(b, c, i))
				continue;
			min[c] = MIN(min[c], batch_get(b, c, i, 0));
			max[c] = MAX(max[c], batch_get(b, c, i, 0));
		}
	}
	if (eval_block(e, k, &block))
		return false;
	for (size_t row = 0; row < b->rows; row++)
		assert_false(is_true(ref, x, row));
	return true;
}

static size_t round_of(void)
{
	const struct expr *exprs[EXPRESSIONS];
	struct eval_scratch *s;
	struct eval *e;
	struct dims *d;
	struct error err = {0};
	size_t skipped = 0;

	for (size_t k = 0; k < EXPRESSIONS; k++)
		exprs[k] = k % 2	? make_bool(k % 5)
			   : k % 3 == 0 ? make_text(k % 4)
			   : k % 3 == 1 ? make_int(k % 4)
					: make_float(k % 4);
	assert_int_equal(dims_new(&d), 0);
	assert_int_equal(eval_new(&e, exprs, EXPRESSIONS, &err), 0);
	assert_int_equal(eval_scratch_new(&s, e), 0);
	for (int step = 0; step < 3; step++) {
		struct batch *b = make_rows();
		struct reference ref = {.dims = d, .batch = b};

		grow_dims(d);
		assert_int_equal(eval_names(e, d, &err), 0);
		for (size_t k = 0; k < EXPRESSIONS; k++) {
			if (exprs[k]->type.type == QUERY_BOOL) {
				check_filter(e, s, k, exprs[k], &ref);
				skipped += check_block(e, k, exprs[k], &ref);
			}
			check_rows(e, s, k, exprs[k], &ref);
			reference_free(&ref);
		}
		batch_free(b);
	}
	eval_scratch_free(s);
	eval_free(e);
	dims_free(d);
	forget();
	return skipped;
}

static void random_expressions(void **unused)
{
	const char *given = getenv("WEIR_SEED");
	size_t skipped = 0;

	for (size_t i = 0; i < (given ? 1 : ROUNDS); i++) {
		uint64_t seed = given ? strtoull(given, NULL, 0) : hash_u64(i);

		state = seed;
		/* The last line names the seed of a failure. */
		fprintf(stderr, "\rseed %#018llx", (unsigned long long)seed);
		skipped += round_of();
	}
	fprintf(stderr, "\n");
	assert_true(given || skipped > 0);
}

/* ---- hostile patterns ---- */

static void hostile_regex(void **unused)
{
	struct expr *e = node(EXPR_REGEX, QUERY_BOOL, 1, name(QNAME_PATH));
	const struct expr *list[] = {e};
	char path[64];
	struct error err = {0};
	struct eval *v;
	struct dims *d;
	struct batch *b;

	memset(path, 'a', sizeof(path));
	e->pattern = (struct bytes){(const uint8_t *)"^(a+)+$", 7};
	assert_int_equal(dims_new(&d), 0);
	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	assert_int_equal(batch_add_row(b), 0);
	assert_int_equal(batch_set(b, FILE_ID, 0, 0), 0);
	path[63] = '!';
	assert_int_equal(batch_set_bytes(b, FILE_PATH, 0, path, sizeof(path)), 0);
	assert_int_equal(dims_apply(d, b), 0);
	assert_int_equal(eval_new(&v, list, 1, &err), 0);
	assert_int_equal(eval_names(v, d, &err), -EOVERFLOW);
	assert_non_null(strstr(err.message, "aaaa"));
	eval_free(v);
	batch_free(b);
	dims_free(d);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_expressions),
		cmocka_unit_test(hostile_regex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
