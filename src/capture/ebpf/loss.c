/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/loss.h"

#include <errno.h>

static const enum loss_cause cpu_causes[] = {
	[LOSS_CPU_RING] = CAUSE_RING_FULL,
	[LOSS_CPU_COMPAT] = CAUSE_COMPAT,
	[LOSS_CPU_STORAGE] = CAUSE_STORAGE_FULL,
	[LOSS_CPU_UNREAD] = CAUSE_ARG_UNREAD,
};

static const enum loss_cause all_causes[] = {
	[LOSS_ALL_RECURSION] = CAUSE_RECURSION,
	[LOSS_ALL_HOLD] = CAUSE_HOLD_LIMIT,
	[LOSS_ALL_DECODE] = CAUSE_DECODE,
	[LOSS_ALL_PATH_CUT] = CAUSE_PATH_CUT,
};

int losses_init(struct losses *l, size_t cpus)
{
	l->seen = calloc(cpus, sizeof(*l->seen));
	l->cpus = cpus;
	return l->seen ? 0 : -ENOMEM;
}

void losses_free(struct losses *l)
{
	free(l->seen);
	*l = (struct losses){0};
}

bool losses_due(const struct losses *l, int64_t now)
{
	return now - l->since >= LOSS_WINDOW_NS;
}

static int loss_row(const struct losses *l, struct batch_set *out, enum loss_cause cause,
		    int64_t cpu, uint64_t count, int64_t now)
{
	struct batch *b;
	ssize_t row;
	int r = batch_set_table(out, TABLE_LOSS, &b);

	if (r < 0)
		return r;
	row = batch_add_row(b);
	if (row < 0)
		return row;
	r = batch_set(b, LOSS_START, row, l->since);
	r = r ? r : batch_set(b, LOSS_STOP, row, now);
	if (cpu >= 0)
		r = r ? r : batch_set(b, LOSS_CPU, row, cpu);
	r = r ? r : batch_set(b, LOSS_CAUSE, row, cause);
	return r ? r : batch_set(b, LOSS_EVENTS, row, (int64_t)count);
}

/* A row if the counter grew. */
static int give_grown(struct losses *l, struct batch_set *out, enum loss_cause cause, int64_t cpu,
		      uint64_t *seen, uint64_t count, int64_t now)
{
	int r = 0;

	if (count > *seen)
		r = loss_row(l, out, cause, cpu, count - *seen, now);
	*seen = count;
	return r;
}

int losses_give(struct losses *l, const struct wire_cpu *counters,
		const uint64_t all[LOSS_COUNTERS], int64_t now, struct batch_set *out)
{
	int r = 0;

	for (size_t i = 0; i < l->cpus && !r; i++) {
		const struct wire_cpu *c = &counters[i];
		/* Each once: the programs go on counting. */
		const uint64_t counts[LOSS_CPU_COUNTERS] = {
			[LOSS_CPU_RING] = __atomic_load_n(&c->lost, __ATOMIC_RELAXED),
			[LOSS_CPU_COMPAT] = __atomic_load_n(&c->compat, __ATOMIC_RELAXED),
			[LOSS_CPU_STORAGE] = __atomic_load_n(&c->storage, __ATOMIC_RELAXED) +
					     __atomic_load_n(&c->scratch, __ATOMIC_RELAXED),
			[LOSS_CPU_UNREAD] = __atomic_load_n(&c->unread, __ATOMIC_RELAXED),
		};

		for (int k = 0; k < LOSS_CPU_COUNTERS && !r; k++)
			r = give_grown(l, out, cpu_causes[k], (int64_t)i, &l->seen[i][k], counts[k],
				       now);
	}
	for (int k = 0; k < LOSS_COUNTERS && !r; k++)
		r = give_grown(l, out, all_causes[k], -1, &l->seen_all[k], all[k], now);
	l->since = now;
	return r;
}
