/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_seeds FOLDER: small traces of every table to begin from. */
#include <stdio.h>
#include <string.h>

#include "../tests/store/common.h"
#include "store/user/user.h"

/* A user's table of two types, and one that is dropped. */
static int annotate(const char *trace, struct draw *d)
{
	static const struct user_column columns[] = {{(char *)"row_id", USER_INT},
						     {(char *)"text", USER_TEXT}};
	struct error err = {0};
	int r = 0;

	for (unsigned int i = 0; i < 3 && r >= 0; i++) {
		struct store *s = open_trace(trace);
		struct user_writer *w = NULL;

		r = user_writer_new(&w, i ? "b" : "a", columns, i < 2 ? 2 : 0, &err);
		for (unsigned int k = 0; k < 20 && r >= 0 && i < 2; k++) {
			r = draw(d, 4) ? user_put(w, draw(d, 0)) : user_put_null(w);
			if (r >= 0)
				r = user_put_bytes(w, (struct bytes){(const uint8_t *)"annotation",
								     draw(d, 10)});
		}
		if (r >= 0)
			r = user_append(w, s, &err);
		user_writer_free(w);
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

		if (t != TABLE_SUMMARY && store_append(w, b, &err) < 0)
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
