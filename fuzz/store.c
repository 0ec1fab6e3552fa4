/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of trace files against any bytes. Odd inputs are read as they are; even ones have magic, marks and
 * checksums put right first, so that the fuzzer gets past them to everything that they protect.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/file/block.h"
#include "store/file/check_trace.h"
#include "store/store.h"
#include "store/made/made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checksums of the sections that lie within the file, then the header's own; where the next block begins. */
static size_t mend_block(uint8_t *file, size_t size, size_t at)
{
	struct block_header h;

	memcpy(&h, file + at, sizeof(h));
	memset(h.mark, 7, sizeof(h.mark));
	h.header_len &= 0xfff8;
	if (h.header_len < sizeof(h) || h.header_len > size - at)
		return size;
	memcpy(file + at, &h, sizeof(h));
	for (size_t i = 0;
	     i < h.entries && sizeof(h) + (i + 1) * sizeof(struct block_entry) <= h.header_len;
	     i++) {
		uint8_t *place = file + at + sizeof(h) + i * sizeof(struct block_entry);
		uint64_t from = at + h.header_len;
		struct block_entry e;

		memcpy(&e, place, sizeof(e));
		if (e.offset > size - from || e.len > size - from - e.offset)
			continue;
		e.checksum = XXH3_64bits(file + from + e.offset, e.len);
		memcpy(place, &e, sizeof(e));
	}
	h.checksum = block_checksum(file + at, h.header_len);
	memcpy(file + at, &h, sizeof(h));
	if (h.payload_len > size - at - h.header_len)
		return size;
	return at + h.header_len + h.payload_len;
}

static void mend(uint8_t *file, size_t size)
{
	struct file_header h = {.version = STORE_VERSION, .header_len = sizeof(h)};

	memcpy(h.magic, STORE_MAGIC, sizeof(h.magic));
	memset(h.mark, 7, sizeof(h.mark));
	h.checksum = XXH3_64bits(&h, offsetof(struct file_header, checksum));
	memcpy(file, &h, sizeof(h));
	for (size_t at = sizeof(h); at + sizeof(struct block_header) <= size;)
		at = mend_block(file, size, at);
}

/* Made tables: the blocks that are in force are theirs. */
static void read_made(const struct store *s)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);
		uint64_t rows = 0;

		for (size_t k = 0; m && k < m->block_count; k++) {
			const struct store_block *b = store_block(s, m->first_block + k);

			rows += b->rows;
			if (b->def != m->def || b->replaced)
				abort();
		}
		if (m && rows != m->rows)
			abort();
	}
}

/* What `weir check` does with a trace. */
static void check(struct store *s)
{
	struct check_options opt = {0};
	struct check_result found;

	(void)store_check(s, 0, &opt, &found, NULL);
}

static void read_all(const char *path)
{
	struct store_cursor *c = NULL;
	struct store_events events;
	struct error err = {0};
	struct store *s;

	if (store_open(&s, &path, 1, &err) < 0)
		return;
	store_events(s, &events);
	if (store_cursor_new(&c, s) < 0)
		abort();
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);
		const struct batch *rows;

		store_block_has_id(s, i, 0, b->min[0]);
		for (unsigned int pass = 0; pass < 2; pass++) {
			struct error bad = {0};

			if (store_decode(c, i, pass ? 0x5555 : ~0ull, &rows, &bad) >= 0 &&
			    rows->rows != b->rows)
				abort();
		}
	}
	read_made(s);
	store_cursor_free(c);
	check(s);
	store_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	uint8_t *file;
	int fd;

	if (size < 1 + sizeof(struct file_header))
		return 0;
	file = malloc(size - 1);
	if (!file)
		return 0;
	memcpy(file, data + 1, size - 1);
	if (!(data[0] & 1))
		mend(file, size - 1);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_all(path);
	close(fd);
	free(file);
	return 0;
}
