// SPDX-License-Identifier: Apache-2.0
#include "server/sums/who.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/shell.h"
#include "schema/vocab.h"
#include "server/sums/catalog.h"

#define NAMES_STEP 16384u /* files per step: about 10 ms */

struct names_text names_code(const char *vocab, int64_t code)
{
	const char *word = vocab_word(vocab, code);
	struct names_text t;

	if (word)
		snprintf(t.s, sizeof(t.s), "%s", word);
	else
		snprintf(t.s, sizeof(t.s), "%s_%" PRId64, vocab, code);
	return t;
}

void names_put_comm(struct js *j, const char *key, const struct dims *d, int64_t thread_id)
{
	const struct dims_thread *t = thread_id < 0 ? NULL : dims_thread(d, thread_id);

	js_key_bytes(j, key, t ? t->comm : (struct bytes){0});
}

void names_put_file(struct js *j, const char *key, const struct dims *d, int64_t file_id)
{
	js_key_bytes(j, key,
		     dims_has(d, TABLE_FILE, file_id) ? dims_file_name(d, file_id)
						      : (struct bytes){0});
}

void names_put_line(const struct server *s, struct js *j, const char *key, int64_t line)
{
	_cleanup_buf_ struct buf name = {0};
	int r = line < 0 ? 0 : file_lines_name(s->lines, store_dims(s->store), line, &name);

	if (r < 0)
		j->error = r;
	js_key_bytes(j, key, buf_bytes(&name));
}

const char *names_line_kind(const struct server *s, int64_t line)
{
	struct bytes name = dims_file_name(store_dims(s->store), line);

	if (file_lines_kind(s->lines, line) != FILE_LINE_FILES)
		return "connections";
	return name.len && name.data[0] == '/' ? "files" : "alike";
}

void names_put_call(const struct server *s, struct js *j, const struct batch *b, size_t row)
{
	js_key_known(j, "start", !batch_is_null(b, OP_START, row),
		     clock_between(s->origin, batch_get(b, OP_START, row, 0)));
	js_key_known(j, "dur", !batch_is_null(b, OP_DUR, row), batch_get(b, OP_DUR, row, 0));
}

void names_put_program(struct js *j, const char *key, const struct dims *d, int64_t process_id)
{
	struct bytes name = names_program(d, process_id);

	js_key_bytes(j, key, name.len ? name : (struct bytes){0});
}

void names_put_argv(struct js *j, const char *key, const struct dims_process *p)
{
	struct bytes argv = p ? p->argv : (struct bytes){0};
	_cleanup_buf_ struct buf text = {0};
	int r = shell_words(&text, argv.data, argv.len);

	if (r < 0)
		j->error = r;
	js_key_bytes(j, key, argv.data ? buf_bytes(&text) : argv);
}

int64_t names_one_file(const struct server *s, int64_t file_id)
{
	return file_lines_file(s->lines, store_dims(s->store), file_id);
}

bool names_next_other(const struct server *s, struct file_lines_walk *w, int64_t *ret_id,
		      int64_t *ret_file)
{
	return file_lines_next_other(s->lines, store_dims(s->store), w, ret_id, ret_file);
}

int64_t names_one_line(const struct server *s, int64_t file_id)
{
	return file_lines_line(s->lines, store_dims(s->store), file_id);
}

bool names_next_line(const struct server *s, struct file_lines_walk *w, int64_t *ret_id,
		     int64_t *ret_line)
{
	return file_lines_next_line(s->lines, store_dims(s->store), w, ret_id, ret_line);
}

static int names_prepare_part(struct server *s, enum file_lines_part part)
{
	int r;

	admission_want_names(s);
	pthread_mutex_lock(&s->names_lock);
	do
		r = file_lines_step(s->lines, store_dims(s->store), part, SIZE_MAX);
	while (r > 0);
	pthread_mutex_unlock(&s->names_lock);
	return r;
}

int names_prepare(struct server *s)
{
	return names_prepare_part(s, FILE_LINES_ALL);
}

int names_prepare_files(struct server *s)
{
	return names_prepare_part(s, FILE_LINES_FILES);
}

int names_prepare_folders(struct server *s)
{
	int r;

	admission_want_names(s);
	pthread_mutex_lock(&s->catalog_lock);
	r = catalog_update(s->catalog, store_dims(s->store));
	pthread_mutex_unlock(&s->catalog_lock);
	return r < 0 ? r : names_prepare_files(s);
}

int names_step(struct server *s)
{
	int r;

	pthread_mutex_lock(&s->names_lock);
	r = file_lines_step(s->lines, store_dims(s->store), FILE_LINES_ALL, NAMES_STEP);
	pthread_mutex_unlock(&s->names_lock);
	return r;
}

int names_find_file(struct question *q, int64_t *ret)
{
	const struct dims *d = store_dims(q->server->store);
	const char *text = http_part(q->request, 0);
	int64_t id;
	int r = names_prepare_files(q->server);

	if (r < 0)
		return r;
	if (question_parse(text, &id) < 0 || id < 0 || !dims_has(d, TABLE_FILE, id))
		return question_error(q, -ENOENT, "this trace has no file %.40s", text);
	*ret = names_one_file(q->server, id);
	return 0;
}
