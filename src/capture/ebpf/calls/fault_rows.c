/* SPDX-License-Identifier: Apache-2.0 */
/* fault_rows.c: turns records of page faults into rows of op. */
#include <errno.h>
#include <unistd.h>

#include "capture/ebpf/side/content.h"

_Static_assert(KIND_FAULT == 3, "src/bpf/lib/content/content_fault.h repeats it");

/* The part of the page that is in its file; for swap a whole page. */
static int64_t fault_bytes(const struct wire_fault *w, int64_t page)
{
	int64_t rest = (int64_t)(w->file_bytes - w->pos);

	if (w->flags & (WIRE_FAULT_SWAP | WIRE_FAULT_UNREAD) || rest > page)
		return page;
	return MAX(rest, (int64_t)0);
}

int decode_fault(struct decode *d, const struct wire_fault *w, uint32_t cpu, struct batch_set *out)
{
	const uint32_t words = WIRE_FAULT_IN_CALL | WIRE_FAULT_EXEC | WIRE_FAULT_SWAP;
	int64_t page = sysconf(_SC_PAGESIZE), moved = fault_bytes(w, page);
	struct batch_row row;
	int r;

	if (w->head.size < sizeof(*w) || w->hashed > (uint64_t)moved)
		return -EBADMSG;
	if (!names_selected(d->names, w->file)) {
		d->filtered++;
		return 0;
	}
	row = batch_set_row(out, TABLE_OP);
	if (w->start) {
		row_set(&row, OP_START, (int64_t)w->start + d->opt.clock_offset);
		row_set(&row, OP_DUR, (int64_t)(w->head.time - w->start));
	}
	row_set(&row, OP_THREAD_ID, w->thread);
	row_set(&row, OP_TID, (int32_t)w->tid);
	row_set(&row, OP_CPU, cpu);
	row_set(&row, OP_KIND, KIND_FAULT);
	row_set(&row, OP_OP, OP_CODE_FAULT);
	row_set(&row, OP_RET, moved);
	row_set(&row, OP_FLAGS, w->flags & words);
	row_set(&row, OP_A2, (int64_t)w->address);
	if (w->file) {
		row_set(&row, OP_FILE_ID, decode_file_key(d, w->file));
		row_set(&row, OP_POS, (int64_t)w->pos);
	}
	row_set_if(&row, w->flags & WIRE_FAULT_UNREAD, OP_STATUS, STATUS_ARG_UNREAD);
	r = row.r ? row.r
		  : decode_content_unseen(
			    d,
			    &(struct content_unseen){.start = w->start,
						     .end = w->head.time,
						     .file = w->file,
						     .pos = w->file ? (int64_t)w->pos : WIRE_NONE,
						     .bytes = (uint64_t)moved - w->hashed,
						     .thread = w->thread,
						     .op = OP_CODE_FAULT,
						     .done = w->hashed,
						     .lost = w->flags & WIRE_FAULT_HASHED},
			    out);
	return r < 0 ? r : 1;
}
