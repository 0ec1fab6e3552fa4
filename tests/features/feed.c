// SPDX-License-Identifier: Apache-2.0
#include "feed.h"

#include <sys/socket.h>

struct feature_rows {
	struct batch *batch;
	const struct feed *feed;
};

struct batch_row feature_row(struct feature_rows *out)
{
	if (out->batch->rows == BATCH_ROWS_MAX && out->feed->take) {
		out->feed->take(out->feed);
		batch_clear(out->batch);
	}
	return batch_row(out->batch);
}

void feed_init(struct feed *f, const struct feature *feature)
{
	memset(f, 0, sizeof(*f));
	f->feature = feature;
	f->now = FEED_START;
	must(dims_new(&f->dims));
	for (size_t i = 0; i < FEED_THINGS; i++)
		f->ids[i] = (int64_t)i;
	for (size_t i = 0; i < FEED_THINGS; i += FEATURE_IDS)
		f->id_parts[i / FEATURE_IDS] = f->ids + i;
	f->world = (struct feature_world){
		.dims = f->dims,
		.first = FEED_START,
		.last = FEED_START,
		.tasks = f->id_parts,
		.processes = f->id_parts,
		.files = f->id_parts,
		.task_count = FEED_THINGS,
		.process_count = FEED_THINGS,
		.file_count = FEED_THINGS,
	};
	must(feature->begin(&f->self, &f->world));
}

void feed_file(struct feed *f, int64_t number, enum file_type type, const char *path,
	       const char *peer, int64_t deleted)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_FILE));
	must(batch_add_row(b));
	must(batch_set(b, FILE_ID, 0, number - 1));
	must(batch_set(b, FILE_INODE, 0, number - 1));
	must(batch_set(b, FILE_TYPE, 0, type));
	must(batch_set(b, FILE_INO, 0, 4711));
	must(batch_set(b, FILE_SINCE, 0, FEED_START - 1));
	if (deleted)
		must(batch_set(b, FILE_DELETED, 0, deleted));
	if (type == FILE_TYPE_SOCKET) {
		must(batch_set(b, FILE_FAMILY, 0,
			       strncmp(path, "unix:", 5) == 0 ? AF_UNIX : AF_INET));
		must(batch_set(b, FILE_PROTO, 0, SOCK_STREAM << 16));
		must(batch_set_str(b, FILE_LOCAL, 0, path));
		if (peer)
			must(batch_set_str(b, FILE_PEER, 0, peer));
	} else {
		must(batch_set_str(b, FILE_PATH, 0, path));
	}
	must(dims_apply(f->dims, b));
}

void feed_datagrams(struct feed *f, int64_t number, const char *local, const char *peer)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_FILE));
	must(batch_add_row(b));
	must(batch_set(b, FILE_ID, 0, number - 1));
	must(batch_set(b, FILE_INODE, 0, number - 1));
	must(batch_set(b, FILE_TYPE, 0, FILE_TYPE_SOCKET));
	must(batch_set(b, FILE_FAMILY, 0, AF_INET));
	must(batch_set(b, FILE_PROTO, 0, SOCK_DGRAM << 16));
	if (local)
		must(batch_set_str(b, FILE_LOCAL, 0, local));
	if (peer)
		must(batch_set_str(b, FILE_PEER, 0, peer));
	must(dims_apply(f->dims, b));
}

void feed_device(struct feed *f, int64_t number, const char *path, int64_t dev, const char *fs)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_FILE));
	must(batch_add_row(b));
	must(batch_set(b, FILE_ID, 0, number - 1));
	must(batch_set(b, FILE_INODE, 0, number - 1));
	must(batch_set(b, FILE_TYPE, 0, FILE_TYPE_REGULAR));
	must(batch_set(b, FILE_DEV, 0, dev));
	must(batch_set_str(b, FILE_FS, 0, fs));
	must(batch_set_str(b, FILE_PATH, 0, path));
	must(dims_apply(f->dims, b));
}

void feed_thread(struct feed *f, uint32_t task, const char *comm)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_THREAD));
	must(batch_add_row(b));
	must(batch_set(b, THREAD_ID, 0, task));
	must(batch_set_str(b, THREAD_COMM, 0, comm));
	must(dims_apply(f->dims, b));
}

void feed_since(struct feed *f, int64_t number, enum file_type type, const char *path,
		int64_t since)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_FILE));
	must(batch_add_row(b));
	must(batch_set(b, FILE_ID, 0, number - 1));
	must(batch_set(b, FILE_INODE, 0, number - 1));
	must(batch_set(b, FILE_TYPE, 0, type));
	must(batch_set(b, FILE_SINCE, 0, since));
	must(batch_set_str(b, FILE_PATH, 0, path));
	must(dims_apply(f->dims, b));
}

static void feed_flush(struct feed *f)
{
	must(f->feature->calls(f->self, f->calls, f->count));
	f->count = 0;
}

void feed_ready(struct feed *f, uint32_t task, int64_t number, bool found)
{
	_cleanup_(batch_freep) struct batch *b = NULL;
	uint32_t file = (uint32_t)number - 1;

	feed_flush(f);
	must(batch_new(&b, TABLE_POLL));
	must(batch_add_row(b));
	must(batch_set(b, POLL_START, 0, f->now));
	must(batch_set(b, POLL_THREAD_ID, 0, task));
	must(batch_set(b, POLL_FILE_ID, 0, number - 1));
	must(batch_set(b, POLL_EVENTS, 0, 1));
	if (found)
		must(batch_set(b, POLL_REVENTS, 0, 1));
	must(f->feature->events(f->self, b, &file, 0, 1));
}

static int64_t feed_or_null(int64_t v)
{
	return v ? v : FEATURE_NULL;
}

void feed_one(struct feed *f, const char *op, const struct feed_call *c)
{
	int code = op_find(op);
	int64_t dur = c->dur ? c->dur : 1000, start;

	if (code < 0)
		fail_msg("%s is no operation", op);
	if (c->at)
		f->now = c->at;
	start = f->now - c->back;
	f->now += dur;
	f->rests[f->count] = (struct feature_rest){
		.pos2 = FEATURE_NULL,
		.fd2 = feed_or_null(c->fd2),
		.peer_id = c->peer ? c->peer - 1 : FEATURE_NULL,
		.a0 = c->a0,
		.a1 = c->a1,
		.a2 = c->a2,
		.waker_id = feed_or_null(c->waker),
		.runq = feed_or_null(c->runq),
	};
	f->calls[f->count] = (struct feature_call){
		.start = c->no_start ? FEATURE_NULL : start,
		.stop = c->no_stop ? FEATURE_NULL : f->now,
		.dur = dur + c->back,
		.bytes = c->bytes,
		.flags = c->flags,
		.thread_id = c->task,
		.file_id = c->file ? c->file - 1 : FEATURE_NULL,
		.ret = c->err ? -c->err : c->ret,
		.pos = c->place ? c->place - 1 : FEATURE_NULL,
		.size = c->size ? c->size : FEATURE_NULL,
		.fd = feed_or_null(c->fd),
		.file_size = FEATURE_NULL,
		.task = c->task,
		.process = c->process,
		.file = c->file ? (uint32_t)c->file - 1 : FEATURE_NONE,
		.file2 = c->file2 ? (uint32_t)c->file2 - 1 : FEATURE_NONE,
		.status = (uint16_t)c->status,
		.op = (uint16_t)code,
		.err = c->err,
		.class = c->waits ? CLASS_WAIT : op_def((uint32_t)code)->class,
		.rest = &f->rests[f->count],
	};
	f->count++;
	f->world.last = f->now;
	f->now += 1000;
	if (f->count == FEATURE_CALLS_MAX)
		feed_flush(f);
}

void feed_end(struct feed *f, enum table_id table)
{
	feed_flush(f);
	batch_free(f->rows);
	f->rows = NULL;
	must(batch_new(&f->rows, table));
	must(f->feature->end(f->self, table, &(struct feature_rows){f->rows, f}));
	if (f->take)
		f->take(f);
}

void feed_free(struct feed *f)
{
	f->feature->free(f->self);
	batch_free(f->rows);
	dims_free(f->dims);
}

static bool feed_is(const struct feed *f, size_t row, unsigned int column, const char *text)
{
	struct bytes have = batch_get_bytes(f->rows, column, row);

	return have.len == strlen(text) && !memcmp(have.data, text, have.len);
}

size_t feed_rows(const struct feed *f, unsigned int column, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < f->rows->rows; i++)
		n += feed_is(f, i, column, text);
	return n;
}

size_t feed_row(const struct feed *f, unsigned int column, const char *text)
{
	return feed_row2(f, column, text, column, text);
}

size_t feed_row2(const struct feed *f, unsigned int column, const char *text, unsigned int column2,
		 const char *text2)
{
	size_t found = SIZE_MAX, n = 0;

	for (size_t i = 0; i < f->rows->rows; i++) {
		if (feed_is(f, i, column, text) && feed_is(f, i, column2, text2)) {
			found = i;
			n++;
		}
	}
	if (n != 1) {
		feed_print(f);
		fail_msg("%zu rows of '%s' '%s'", n, text, text2);
	}
	return found;
}

void feed_print(const struct feed *f)
{
	const struct table_def *def = f->rows->def;

	for (size_t i = 0; i < f->rows->rows; i++) {
		for (unsigned int k = 0; k < def->column_count; k++) {
			struct bytes text;

			if (batch_is_null(f->rows, k, i))
				continue;
			printf("%s=", def->columns[k].name);
			if (f->rows->columns[k].ends) {
				text = batch_get_bytes(f->rows, k, i);
				printf("\"%.*s\" ", (int)text.len, (const char *)text.data);
			} else {
				printf("%lld ", (long long)batch_get(f->rows, k, i, 0));
			}
		}
		printf("\n");
	}
}
