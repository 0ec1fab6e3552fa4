/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_seeds FOLDER: small traces of every table to begin from. */
#include <stdio.h>
#include <string.h>

#include "../tests/store/common.h"

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
	if (store_close(w, &err) < 0)
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
