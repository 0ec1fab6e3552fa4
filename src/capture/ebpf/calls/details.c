/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/calls/details.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "schema/structs.h"
#include "details.skel.h"

static void detail_plan(uint32_t code, bool argv, struct wire_detail_plan *ret)
{
	for (unsigned int i = 0; i < OP_ARGS; i++) {
		struct struct_arg a = struct_arg(code, i);

		_Static_assert(WIRE_DETAIL_STEPS >= OP_ARGS, "a step for each argument");
		if (a.type == STRUCT_NONE || (a.type == STRUCT_STRINGS && !argv))
			continue;
		ret->steps[ret->count++] = a.step;
	}
}

int details_prepare(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct bpf_map *map;
	size_t size;

	bpf_object__for_each_map(map, bpf)
	{
		const char *end = strstr(bpf_map__name(map), ".rodata");
		const struct details_bpf__rodata *ro;

		if (!bpf_map__is_internal(map) || !end || strcmp(end, ".rodata") != 0)
			continue;
		ro = bpf_map__initial_value(map, &size);
		if (!ro || size < sizeof(*ro))
			return -EINVAL;
		memcpy((void *)&ro->detail_limit, &opt->detail_bytes, sizeof(opt->detail_bytes));
		memcpy((void *)&ro->detail_argv, &opt->detail_argv, sizeof(opt->detail_argv));
		for (uint32_t nr = 0; nr < WIRE_CALLS_KNOWN; nr++) {
			uint32_t code = op_code_of_native(nr);

			if (select_op(opt->select, code))
				detail_plan(code, opt->detail_argv,
					    (struct wire_detail_plan *)&ro->detail_plans[nr]);
		}
		return 0;
	}
	return -ENOENT;
}

int decode_detail(struct decode *d, const struct wire_detail *w)
{
	if (w->head.size < sizeof(*w) || w->nr >= WIRE_CALLS_MAX)
		return -EBADMSG;
	/* replaces one left by a call that was lost or rejected */
	return kept_put(&d->details, w->thread, w, w->head.size);
}

static int detail_row(struct decode *d, const struct wire_op *w, const struct wire_region *g,
		      struct batch_set *out)
{
	struct batch_row row = batch_set_row(out, TABLE_DETAIL);

	if (w->start) {
		row_set(&row, DETAIL_START, (int64_t)w->start + d->opt.clock_offset);
		row_set(&row, DETAIL_DUR, (int64_t)(w->head.time - w->start));
	}
	row_set(&row, DETAIL_THREAD_ID, w->thread);
	row_set(&row, DETAIL_OP, d->codes[w->nr]);
	row_set(&row, DETAIL_ADDRESS, (int64_t)g->address);
	row_set_if(&row, g->was, DETAIL_WAS, g->was);
	row_set_bytes(&row, DETAIL_CONTENT, (const void *)(g + 1), g->len);
	return row.r;
}

static int detail_rows(struct decode *d, const struct wire_op *w, const struct wire_detail *t,
		       struct batch_set *out)
{
	const uint8_t *at = (const uint8_t *)(t + 1), *end = (const uint8_t *)t + t->head.size;
	int r = 0;

	while (end - at >= (ssize_t)sizeof(struct wire_region) && r == 0) {
		const struct wire_region *g = (const void *)at;

		at += sizeof(*g);
		if (g->len > (size_t)(end - at))
			return -EBADMSG;
		at += align_up(g->len, 8);
		r = detail_row(d, w, g, out);
	}
	return r;
}

int decode_take_detail(struct decode *d, const struct wire_op *w, struct batch_set *out)
{
	struct wire_detail *t = kept_get(&d->details, w->thread);
	int r = 0;

	if (!t)
		return 0;
	if (t->call == w->call && !(w->status & STATUS_UNFINISHED))
		r = detail_rows(d, w, t, out);
	kept_forget(&d->details, w->thread);
	return r;
}

int decode_signal(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_signal_taken *w = (const void *)h;
	bool sent, child;
	struct batch_row row;

	if (h->size < sizeof(*w))
		return -EBADMSG;
	/* the other codes have a timer or descriptor instead of the sender */
	sent = w->code == SI_USER || w->code == SI_QUEUE || w->code == SI_TKILL ||
	       w->code == SI_MESGQ;
	child = w->number == SIGCHLD && w->code > 0;
	row = batch_set_row(out, TABLE_SIGNAL);
	row_set(&row, SIGNAL_AT, (int64_t)h->time + d->opt.clock_offset);
	row_set(&row, SIGNAL_THREAD_ID, w->thread);
	row_set(&row, SIGNAL_NUMBER, w->number);
	row_set(&row, SIGNAL_CODE, w->code);
	row_set_if(&row, w->error, SIGNAL_ERROR, w->error);
	if (sent || child) {
		row_set(&row, SIGNAL_PID, w->pid);
		row_set(&row, SIGNAL_UID, w->uid);
	} else {
		row_set(&row, SIGNAL_ADDRESS, (int64_t)w->address);
	}
	if (child) {
		row_set(&row, SIGNAL_STATUS, w->status);
		row_set(&row, SIGNAL_UTIME, w->utime);
		row_set(&row, SIGNAL_STIME, w->stime);
	}
	row_set_if(&row, w->ignored, SIGNAL_IGNORED, 1);
	return row.r;
}
