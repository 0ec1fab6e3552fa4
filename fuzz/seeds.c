/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_seeds FOLDER: small traces of every recorded table and of users' own to begin from. */
#include <stdio.h>
#include <string.h>

#include "../tests/store/common.h"
#include "store/made/made.h"

/* A user's table of two types, and one that is dropped. */
static int annotate(const char *trace, struct draw *d)
{
	static const struct column_def columns[] = {{"row_id", COLUMN_INT, ">op", ""},
						    {"text", COLUMN_TEXT, "", ""}};
	struct error err = {0};
	int r = 0;

	for (unsigned int i = 0; i < 3 && r >= 0; i++) {
		const struct table_def def = made_own(i ? "b" : "a", columns, i < 2 ? 2 : 0);
		const struct store_making what = {
			.table = TABLE_OWN, .own = &def, .origin = "seed"};
		struct store *s = open_trace(trace);
		struct store_writer *w;
		struct batch *b;

		if (batch_new_of(&b, TABLE_OWN, &def) < 0 || store_reopen(&w, s, &err) < 0)
			return -1;
		for (unsigned int k = 0; k < 20 && i < 2; k++) {
			size_t row = (size_t)batch_add_row(b);

			if (draw(d, 4) && batch_set(b, 0, row, (int64_t)draw(d, 0)) < 0)
				return -1;
			if (batch_set_bytes(b, 1, row, "annotation", draw(d, 10)) < 0)
				return -1;
		}
		r = store_made_begin(w, &what, &err);
		if (r >= 0 && i < 2)
			r = store_made_rows(w, b, &err);
		if (r >= 0)
			r = store_made_end(w, i == 1, &err);
		if (r >= 0)
			r = store_close(w, &err);
		batch_free(b);
		store_free(s);
	}
	return r;
}

static int write_seed(const char *folder, unsigned int number)
{
	struct draw d = {number};
	char trace[4096], seed[4096];
	struct store_writer *w;
	struct error err = {0};
	size_t len;
	uint8_t *data;
	FILE *f;

	snprintf(trace, sizeof(trace), "%s/%u.trace", folder, number);
	snprintf(seed, sizeof(seed), "%s/%u", folder, number);
	unlink(trace);
	if (store_create(&w, trace, NULL, &err) < 0)
		return -1;
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		struct batch *b = random_rows(&d, (enum table_id)t, 1 + draw(&d, 80));
		/* the writer makes the one, others come after recording */
		bool made = t == TABLE_SUMMARY || b->def->kind == TABLE_IS_MADE;

		if (!made && store_append(w, b, &err) < 0)
			return -1;
		batch_free(b);
	}
	if (number / 4 % 2 &&
	    store_note_events(w, &(struct event_count){.next = 900, .came = 890, .filtered = 7},
			      1) < 0)
		return -1;
	if (store_close(w, &err) < 0 || (number % 4 > 1 && annotate(trace, &d) < 0))
		return -1;
	data = load_file(trace, &len);
	unlink(trace);
	f = fopen(seed, "wb");
	if (!f || fputc((int)(number & 1), f) < 0 || fwrite(data, 1, len, f) != len ||
	    fclose(f) < 0)
		return -1;
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	for (unsigned int i = 0; argc == 2 && i < 16; i++) {
		if (write_seed(argv[1], i) < 0)
			return 1;
	}
	return argc != 2;
}
