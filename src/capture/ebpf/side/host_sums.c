/* SPDX-License-Identifier: Apache-2.0 */
/* host_sums.c: turns records of threads without a CPU, interrupts and pages into rows. */
#include "capture/ebpf/side/host_sums.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/calls/running.h"
#include "privilege/privilege.h"

_Static_assert(WHY_SLEEP == 0 && WHY_IO == 1 && WHY_PREEMPTED == 2 && WHY_YIELD == 3 &&
		       WOKEN_BY_THREAD == 0 && WOKEN_BY_SOFTIRQ == 1 && WOKEN_BY_INTERRUPT == 2,
	       "as in src/bpf/sched.bpf.c and lib/context.h");
_Static_assert(IRQ_KIND_HARD == 0 && IRQ_KIND_SOFT == 1, "as in src/bpf/irq.bpf.c");

/* Refers to another thread: by its version, or by its tid and name. */
static void set_other(struct batch_row *row, unsigned int id, uint32_t version, int32_t tid,
		      const char comm[static WIRE_COMM])
{

	_Static_assert(SCHED_WAKER_TID == SCHED_WAKER_ID + 1 &&
			       SCHED_WAKER_COMM == SCHED_WAKER_ID + 2 &&
			       SCHED_INSTEAD_TID == SCHED_INSTEAD_ID + 1 &&
			       SCHED_INSTEAD_COMM == SCHED_INSTEAD_ID + 2,
		       "columns of one thread stand together");
	row_set_if(row, version, id, version);
	row_set_if(row, tid, id + 1, tid);
	if (!version && comm[0])
		row_set_bytes(row, id + 2, comm, strnlen(comm, WIRE_COMM));
}

int decode_sched(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_sched *w = (const void *)h;
	bool woken = w->woken || w->why >= WHY_PREEMPTED;
	uint64_t ready = w->why >= WHY_PREEMPTED ? w->start : MAX(w->woken, w->start);
	struct batch_row row;

	if (h->size != sizeof(*w) || w->why >= WHY_COUNT || w->woken_by > WOKEN_BY_COUNT ||
	    w->nr >= WIRE_CALLS_MAX || w->start > h->time)
		return -EBADMSG;
	ready = MIN(ready, h->time);
	row = batch_set_row(out, TABLE_SCHED);
	row_set(&row, SCHED_START, (int64_t)w->start + d->opt.clock_offset);
	row_set(&row, SCHED_DUR, (int64_t)(h->time - w->start));
	row_set(&row, SCHED_THREAD_ID, w->thread);
	row_set(&row, SCHED_CPU, h->seq);
	row_set(&row, SCHED_WHY, w->why);
	if (woken) {
		row_set(&row, SCHED_BLOCKED, (int64_t)(ready - w->start));
		row_set(&row, SCHED_RUNQ, (int64_t)(h->time - ready));
	}
	row_set_if(&row, w->woken_by, SCHED_WOKEN_BY, w->woken_by - 1);
	if (w->woken_by)
		set_other(&row, SCHED_WAKER_ID, w->waker, w->waker_tid, w->waker_comm);
	set_other(&row, SCHED_INSTEAD_ID, w->instead, w->instead_tid, w->instead_comm);
	row_set(&row, SCHED_PRIO, w->prio);
	if (w->op_start) {
		row_set(&row, SCHED_OP, d->codes[w->nr]);
		row_set(&row, SCHED_OP_START, (int64_t)w->op_start + d->opt.clock_offset);
	}
	return row.r;
}

int decode_irq(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};
	const struct wire_irq *w = (const void *)h;
	struct batch_row row;

	if (h->size != sizeof(*w) || w->kind >= IRQ_KIND_COUNT || w->start > h->time)
		return -EBADMSG;
	row = batch_set_row(out, TABLE_IRQ);
	row_set(&row, IRQ_START, (int64_t)w->start + d->opt.clock_offset);
	row_set(&row, IRQ_DUR, (int64_t)(h->time - w->start));
	row_set(&row, IRQ_CPU, h->seq);
	row_set(&row, IRQ_IRQ_KIND, w->kind);
	row_set(&row, IRQ_NUMBER, w->number);
	if (w->kind == IRQ_KIND_SOFT && w->number < ARRAY_SIZE(softirqs))
		row_set_bytes(&row, IRQ_HANDLER, softirqs[w->number], strlen(softirqs[w->number]));
	if (w->kind == IRQ_KIND_HARD && w->handler[0])
		row_set_bytes(&row, IRQ_HANDLER, w->handler,
			      strnlen(w->handler, sizeof(w->handler)));
	row_set(&row, IRQ_RUNS, w->runs);
	row_set(&row, IRQ_TIME, (int64_t)w->time);
	row_set(&row, IRQ_SHORTEST, (int64_t)w->shortest);
	row_set(&row, IRQ_LONGEST, (int64_t)w->longest);
	if (w->kind == IRQ_KIND_SOFT) {
		row_set(&row, IRQ_RAISED, w->raised);
		row_set(&row, IRQ_RAISE_TIME, (int64_t)w->raise_time);
		row_set(&row, IRQ_RAISE_LONGEST, (int64_t)w->raise_longest);
	}
	return row.r;
}

int decode_mem(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_mem *w = (const void *)h;
	struct batch_row row;

	if (h->size != sizeof(*w) || w->start > h->time)
		return -EBADMSG;
	row = batch_set_row(out, TABLE_MEM);
	row_set(&row, MEM_START, (int64_t)w->start + d->opt.clock_offset);
	row_set(&row, MEM_DUR, (int64_t)(h->time - w->start));
	if (w->thread)
		row_set(&row, MEM_THREAD_ID, w->thread);
	else
		row_set(&row, MEM_CPU, h->seq);
	row_set(&row, MEM_ALLOCATED, (int64_t)w->allocated);
	row_set(&row, MEM_FREED, (int64_t)w->freed);
	row_set(&row, MEM_LARGEST, w->largest);
	row_set(&row, MEM_RECLAIMS, w->reclaims);
	row_set(&row, MEM_RECLAIM_TIME, (int64_t)w->reclaim_time);
	row_set(&row, MEM_RECLAIMED, (int64_t)w->reclaimed);
	return row.r;
}

/* ---- detecting interrupts ---- */

/* The offset of a per-CPU variable. False: there is none. */
static bool percpu_offset(const struct btf *btf, const char *name, int64_t *ret,
			  const struct btf_type **ret_type)
{
	int var = btf__find_by_name_kind(btf, name, BTF_KIND_VAR),
	    section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *t = section < 0 ? NULL : btf__type_by_id(btf, (uint32_t)section);
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;

	for (unsigned int i = 0; var >= 0 && t && i < btf_vlen(t); i++) {
		if (v[i].type != (uint32_t)var)
			continue;
		*ret = v[i].offset;
		*ret_type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)var)->type);
		return true;
	}
	return false;
}

/* In Linux 6.2 to 6.14 it is in a struct. */
static bool percpu_preempt(const struct btf *btf, int64_t *ret)
{
	const struct btf_type *t = NULL;
	const struct btf_member *m;

	if (percpu_offset(btf, "__preempt_count", ret, &t))
		return true;
	if (!percpu_offset(btf, "pcpu_hot", ret, &t) || !btf_is_composite(t))
		return false;
	/* struct pcpu_hot { union { struct { ... }; ... } } */
	while (btf_is_composite(t)) {
		m = btf_members(t);
		for (unsigned int i = 0; i < btf_vlen(t); i++) {
			if (!strcmp(btf__name_by_offset(btf, m[i].name_off), "preempt_count")) {
				*ret += btf_member_bit_offset(t, i) / 8;
				return true;
			}
		}
		if (!btf_vlen(t))
			return false;
		*ret += btf_member_bit_offset(t, 0) / 8;
		t = btf__type_by_id(btf, m[0].type);
	}
	return false;
}

int64_t sums_preempt_from_rq(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t;
	int64_t rq = 0, count = 0;
	bool known = btf && percpu_offset(btf, "runqueues", &rq, &t) && percpu_preempt(btf, &count);

	btf__free(btf);
	return known ? count - rq : 0;
}

/* ---- remaining sums ---- */

/* Appends the record at the start of a value, with its head, unless it is empty. */
static int left_add(struct buf *out, void *record, uint8_t type, size_t size, uint64_t start,
		    uint32_t cpu, uint64_t over)
{
	*(struct wire_head *)record = (struct wire_head){
		.type = type, .size = (uint16_t)size, .seq = cpu, .time = MAX(start, over)};
	return start ? buf_append(out, record, size) : 0;
}

static int irq_left(const struct wire_irq_sum *values, size_t cpus, uint64_t over, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < cpus && r >= 0; i++) {
		struct wire_irq w = values[i].sum;

		r = left_add(out, &w, WIRE_IRQ, sizeof(w), w.runs ? w.start : 0, (uint32_t)i, over);
	}
	return r;
}

/* All keys of a per-CPU map; each has a value for every possible CPU. */
static int irqs_left(int map, size_t cpus, uint64_t over, struct buf *out)
{
	_cleanup_free_ struct wire_irq_sum *values = calloc(cpus, sizeof(*values));
	uint32_t key, *at = NULL;
	int r = map < 0 || values ? 0 : -ENOMEM;

	while (!r && map >= 0 && !bpf_map_get_next_key(map, at, &key)) {
		at = &key;
		if (!bpf_map_lookup_elem(map, &key, values))
			r = irq_left(values, cpus, over, out);
	}
	return r;
}

static int others_left(int map, size_t cpus, uint64_t over, struct buf *out)
{
	_cleanup_free_ struct wire_mem *values = calloc(cpus, sizeof(*values));
	uint32_t zero = 0;
	int r = 0;

	if (map < 0)
		return 0;
	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(map, &zero, values))
		return -errno;
	for (size_t i = 0; i < cpus && r >= 0; i++)
		r = left_add(out, &values[i], WIRE_MEM, sizeof(values[i]), values[i].start,
			     (uint32_t)i, over);
	return r;
}

int sums_last(const struct objects *o, uint64_t over, struct buf *out)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);
	int n = libbpf_num_possible_cpus(), prog = object_program(o, OBJECT_MEM, "weir_mem_left"),
	    r = n < 1 ? -EINVAL : 0;
	size_t cpus = n < 1 ? 0 : (size_t)n;

	r = r ? r : irqs_left(object_map(o, OBJECT_IRQ, "irqs"), cpus, over, out);
	r = r ? r : irqs_left(object_map(o, OBJECT_IRQ, "softirqs"), cpus, over, out);
	r = r ? r : others_left(object_map(o, OBJECT_MEM, "mem_others"), cpus, over, out);
	return r || prog < 0 ? r : running_read(prog, out);
}
