/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/csv_out.h"

#include "base/csv.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

static void csv_out_print(FILE *out, const struct buf *cell)
{
	fwrite(cell->data ? cell->data : (const uint8_t *)"", 1, cell->len, out);
}

void csv_print(FILE *out, const char *value, size_t len)
{
	_cleanup_buf_ struct buf cell = {0};

	if (csv_put(&cell, value, len) >= 0)
		csv_out_print(out, &cell);
}

/* Asked once: tables have many cells. */
static bool on_terminal(void)
{
	static int known = -1;

	if (known < 0)
		known = text_terminal();
	return known;
}

void csv_print_text(FILE *out, const char *text, size_t len)
{
	_cleanup_buf_ struct buf cell = {0}, safe = {0};
	int r = 0;

	if (out == stdout && on_terminal()) {
		r = format_safe(&safe, text, len);
		text = buf_str(&safe);
		len = safe.len;
	}
	if (r >= 0 && csv_put_text(&cell, text, len) >= 0)
		csv_out_print(out, &cell);
}
