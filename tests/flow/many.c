// SPDX-License-Identifier: Apache-2.0
/*
 * many.c: MANY TO CALLS [MS [KINDS [ROUND]]]: a trace of so many calls for measuring `weir flow`, which grows by a block each so
 * many ms: in turn a thread sends to its partner over a unix socket, who receives, and writes a range of one of 1,000 files, of
 * which another reads. With KINDS all moved whole pieces, of so many kinds of data; with ROUND, ranges that begin and end at
 * multiples of it (8 or more), so that a read has several writers: parts of pieces, each of the same data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "schema/content_hash.h"
#include "schema/vocab.h"
#include "store/store.h"

#define THREADS 64
#define FILES	1000
#define PIECES	32   /* of a file */
#define STEP	5000 /* ns between calls */

static struct error err;
static struct store_writer *to;
static struct batch *calls;
static int64_t now = 1700000000000000000;
static struct batch *chunks;
static int64_t kinds; /* of data; 0: no content */
static int64_t cut;   /* ROUND; 0: whole pieces */
static long pace;     /* ms of rest behind each block */
static unsigned int data = 1;

static void need(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "many: %s: %d %s\n", what, r, err.message);
	exit(1);
}

static void set(struct batch *b, unsigned int column, int64_t value)
{
	need(batch_set(b, column, b->rows - 1, value), "set");
}

static struct batch *row_of(enum table_id table)
{
	struct batch *b;

	need(batch_new(&b, table), "batch");
	need((int)batch_add_row(b), "row");
	return b;
}

static void done(struct batch *b)
{
	need(store_append(to, b, &err), "append");
	batch_free(b);
}

static void dimensions(void)
{
	struct batch *b = row_of(TABLE_HOST);

	set(b, HOST_ID, 0);
	need(batch_set_str(b, HOST_NAME, 0, "many"), "name");
	done(b);
	for (int64_t i = 0; i < THREADS; i++) {
		b = row_of(TABLE_PROCESS);
		set(b, PROCESS_ID, i);
		set(b, PROCESS_PID, 100 + i);
		set(b, PROCESS_HOST_ID, 0);
		done(b);
		b = row_of(TABLE_THREAD);
		set(b, THREAD_ID, i);
		set(b, THREAD_TASK, i);
		set(b, THREAD_TID, 100 + i);
		set(b, THREAD_PROCESS_ID, i);
		done(b);
		b = row_of(TABLE_FILE);
		set(b, FILE_ID, FILES + i);
		set(b, FILE_INODE, FILES + i);
		set(b, FILE_TYPE, FILE_TYPE_SOCKET);
		set(b, FILE_FAMILY, AF_UNIX);
		set(b, FILE_PROTO, SOCK_STREAM << 16);
		set(b, FILE_INO, 5000 + i);
		set(b, FILE_PEER_INO, 5000 + (i ^ 1));
		done(b);
	}
	for (int64_t i = 0; i < FILES; i++) {
		b = row_of(TABLE_FILE);
		set(b, FILE_ID, i);
		set(b, FILE_INODE, i);
		set(b, FILE_TYPE, FILE_TYPE_REGULAR);
		set(b, FILE_INO, 10 + i);
		done(b);
	}
}

/* The hash of a row: pieces of a file read are those that were written before; those of buffers are other ones. */
static int64_t content_hash(int64_t file, int64_t pos, int64_t at, int64_t size, enum chunk_way way,
			    int64_t kind)
{
	static int64_t stored[FILES][PIECES];
	int64_t piece = (pos + at) / CONTENT_PIECE;

	if (pos < 0)
		return (int64_t)hash_u64((uint64_t)(kind * 4 + size / CONTENT_PIECE + 2));
	if (way == WAY_OUT || !stored[file][piece])
		stored[file][piece] = kind * 4 + at / CONTENT_PIECE + 1;
	return (int64_t)hash_u64((uint64_t)stored[file][piece]);
}

static void chunk(int64_t thread, int64_t file, int64_t dur, enum chunk_way way,
		  enum chunk_form form, int64_t pos, int64_t at, int64_t size, int64_t hash)
{
	need((int)batch_add_row(chunks), "chunk");
	set(chunks, CHUNK_START, now - dur);
	set(chunks, CHUNK_DUR, dur);
	set(chunks, CHUNK_THREAD_ID, thread);
	set(chunks, CHUNK_FILE_ID, file);
	set(chunks, CHUNK_WAY, way);
	set(chunks, CHUNK_FORM, form);
	if (pos >= 0)
		set(chunks, CHUNK_POS, pos);
	set(chunks, CHUNK_CALL_POS, at);
	set(chunks, CHUNK_SIZE, size);
	set(chunks, CHUNK_HASH, hash);
	set(chunks, CHUNK_OUTCOME, OUTCOME_HANDLED);
	if (chunks->rows < BATCH_ROWS_MAX)
		return;
	need(store_append(to, chunks, &err), "chunks");
	batch_clear(chunks);
}

/* Parts of the pieces of a file, of the same data at all times: as many times a number as they have bytes, so that they add up. */
static void parts(int64_t thread, int64_t file, int64_t pos, int64_t bytes, int64_t dur,
		  enum chunk_way way)
{
	for (int64_t at = 0, size; at < bytes; at += size) {
		int64_t piece = (pos + at) / CONTENT_PIECE;

		size = MIN(bytes - at, (piece + 1) * CONTENT_PIECE - pos - at);
		chunk(thread, file, dur, way, size == CONTENT_PIECE ? FORM_PIECE : FORM_PART,
		      pos + at, at, size,
		      (int64_t)(hash_u64((uint64_t)(file * PIECES + piece + 1)) * (uint64_t)size));
	}
}

/* What the call moved, of so many kinds of data: pieces of 4 KiB of a file, or one buffer of a socket (pos -1). */
static void content(int64_t thread, int64_t file, int64_t pos, int64_t bytes, int64_t dur,
		    enum chunk_way way, int64_t kind)
{
	int64_t piece = pos < 0 ? bytes : CONTENT_PIECE;

	if (pos >= 0 && cut) {
		parts(thread, file, pos, bytes, dur, way);
		return;
	}
	for (int64_t at = 0; at < bytes; at += piece)
		chunk(thread, file, dur, way, pos < 0 ? FORM_BUFFER : FORM_PIECE,
		      pos < 0 ? pos : pos + at, at, MIN(bytes - at, piece),
		      content_hash(file, pos, at, MIN(bytes - at, piece), way, kind));
}

static void call(const char *op, int64_t thread, int64_t file, int64_t pos, int64_t bytes,
		 int64_t dur)
{
	static int64_t kind;

	need((int)batch_add_row(calls), "call");
	set(calls, OP_START, now - dur);
	set(calls, OP_DUR, dur);
	set(calls, OP_THREAD_ID, thread);
	set(calls, OP_TID, 100 + thread);
	set(calls, OP_OP, vocab_code("op", op));
	set(calls, OP_CLASS, CLASS_DATA);
	set(calls, OP_RET, bytes);
	set(calls, OP_BYTES, bytes);
	set(calls, OP_FILE_ID, file);
	if (pos >= 0)
		set(calls, OP_POS, pos);
	if (kinds && strcmp(op, "recvfrom") != 0) /* which is of what was sent */
		kind = rand_r(&data) % kinds;
	if (kinds && bytes)
		content(thread, file, pos, bytes, dur,
			strstr(op, "read") || strstr(op, "recv") ? WAY_IN : WAY_OUT, kind);
	now += STEP;
	if (calls->rows < BATCH_ROWS_MAX)
		return;
	need(store_append(to, calls, &err), "calls");
	store_note_until(to, now);
	batch_clear(calls);
	if (pace)
		nanosleep(&(struct timespec){pace / 1000, pace % 1000 * 1000000}, NULL);
}

int main(int argc, char **argv)
{
	int64_t count = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
	unsigned int seed = 1;
	int64_t round;

	pace = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	need(store_create(&to, argv[1], &(struct store_options){.owner = (uid_t)-1}, &err),
	     argv[1]);
	dimensions();
	kinds = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
	cut = argc > 5 ? strtoll(argv[5], NULL, 10) : 0;
	round = cut ? cut : kinds ? CONTENT_PIECE : 1;
	need(batch_new(&calls, TABLE_OP), "calls");
	need(batch_new(&chunks, TABLE_CHUNK), "chunks");
	for (int64_t i = 0; i < THREADS; i++)
		call("connect", i, FILES + i, -1, 0, 100);
	for (int64_t i = 0; i < count / 4; i++) {
		int64_t a = rand_r(&seed) % (THREADS / 2) * 2, size = 100 + rand_r(&seed) % 5000,
			file = rand_r(&seed) % FILES, pos = rand_r(&seed) % 100000;

		size = (size + round - 1) / round * round;
		pos = pos / round * round;
		call("sendto", a, FILES + a, -1, size, 200);
		call("recvfrom", a + 1, FILES + a + 1, -1, size, 300);
		call("pwrite64", a + 1, file, pos, size, 100);
		call("pread64", rand_r(&seed) % THREADS, file, pos / 2 / round * round, 4096, 100);
	}
	need(store_append(to, calls, &err), "calls");
	need(store_append(to, chunks, &err), "chunks");
	need(store_close(to, &err), "close");
	return 0;
}
