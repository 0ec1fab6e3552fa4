/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/ring/loss.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"

static const enum loss_cause cpu_causes[] = {
	[LOSS_CPU_RING] = CAUSE_RING_FULL,	 [LOSS_CPU_COMPAT] = CAUSE_COMPAT,
	[LOSS_CPU_STORAGE] = CAUSE_STORAGE_FULL, [LOSS_CPU_UNREAD] = CAUSE_ARG_UNREAD,
	[LOSS_CPU_UNSENT] = CAUSE_UNSENT,
};

/* The CPU counter to which a thread's losses contribute. */
static const enum loss_cpu_counter thread_counters[WIRE_MISSING_KINDS] = {
	[WIRE_MISSING_RING] = LOSS_CPU_RING,
	[WIRE_MISSING_COMPAT] = LOSS_CPU_COMPAT,
};

static const enum loss_cause all_causes[] = {
	[LOSS_ALL_RECURSION] = CAUSE_RECURSION,
	[LOSS_ALL_HOLD] = CAUSE_HOLD_LIMIT,
	[LOSS_ALL_DECODE] = CAUSE_DECODE,
	[LOSS_ALL_PATH_CUT] = CAUSE_PATH_CUT,
	[LOSS_ALL_ARGV_CUT] = CAUSE_ARG_UNREAD,
	[LOSS_ALL_UNPAIRED] = CAUSE_UNPAIRED,
	[LOSS_ALL_FAULTS] = CAUSE_RECURSION,
	[LOSS_ALL_REQUESTS] = CAUSE_UNPAIRED,
	[LOSS_ALL_REQUESTS_FULL] = CAUSE_STORAGE_FULL,
	[LOSS_ALL_STACKS] = CAUSE_STACK,
};

int losses_init(struct losses *l, size_t cpus)
{
	l->now = calloc(cpus, sizeof(*l->now));
	l->seen = calloc(cpus, sizeof(*l->seen));
	l->cpus = cpus;
	return l->now && l->seen ? 0 : -ENOMEM;
}

void losses_free(struct losses *l)
{
	free(l->now);
	free(l->seen);
	map_free(&l->seen_threads);
	map_free(&l->seen_beside);
	*l = (struct losses){0};
}

bool losses_due(const struct losses *l, int64_t now)
{
	return now - l->since >= LOSS_WINDOW_NS;
}

#define COUNT_UNKNOWN (-1)

static int loss_row(const struct losses *l, struct batch_set *out, enum loss_cause cause,
		    int64_t cpu, int64_t thread, int64_t count, int64_t now)
{
	struct batch_row row = batch_set_row(out, TABLE_LOSS);

	row_set(&row, LOSS_START, l->since);
	row_set(&row, LOSS_STOP, now);
	row_set_if(&row, cpu >= 0, LOSS_CPU, cpu);
	row_set_if(&row, thread >= 0, LOSS_THREAD_ID, thread);
	row_set(&row, LOSS_CAUSE, cause);
	row_set_if(&row, count != COUNT_UNKNOWN, LOSS_EVENTS, count);
	return row.r;
}

static int loss_row_of(const struct losses *l, struct batch_set *out, enum loss_cause cause,
		       enum table_id table, int64_t count, int64_t now)
{
	const char *name = schema_table(table)->name;
	struct batch *b = NULL;
	int r = loss_row(l, out, cause, -1, -1, count, now);

	if (r || table == TABLE_OP)
		return r;
	b = out->tables[TABLE_LOSS];
	return batch_set_bytes(b, LOSS_OF, b->rows - 1, name, strlen(name));
}

int losses_give_unknown(const struct losses *l, enum loss_cause cause, enum table_id table,
			int64_t now, struct batch_set *out)
{
	return loss_row_of(l, out, cause, table, COUNT_UNKNOWN, now);
}

int losses_give_unread(const struct losses *l, uint64_t threads, int64_t now, struct batch_set *out)
{
	return loss_row_of(l, out, CAUSE_RUNNING_UNREAD, TABLE_OP,
			   threads ? (int64_t)threads : COUNT_UNKNOWN, now);
}

int losses_give_beside(struct losses *l, const struct source_beside *now_missing, size_t count,
		       int64_t now, struct batch_set *out)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		const struct source_beside *m = &now_missing[i];
		uint64_t key = (uint64_t)m->table << 32 | m->cause, seen = 0;

		map_get(&l->seen_beside, key, &seen);
		if (m->count <= seen)
			continue;
		r = loss_row_of(l, out, m->cause, m->table, (int64_t)(m->count - seen), now);
		r = r ? r : map_set(&l->seen_beside, key, m->count);
	}
	return r;
}

/* Adds a row if the counter increased. */
static int give_grown(struct losses *l, struct batch_set *out, enum loss_cause cause, int64_t cpu,
		      uint64_t *seen, uint64_t count, int64_t now)
{
	int r = 0;

	if (count > *seen)
		r = loss_row(l, out, cause, cpu, -1, (int64_t)(count - *seen), now);
	*seen = count;
	return r;
}

int loss_threads(int map, struct loss_thread **ret, size_t *ret_count)
{
	struct loss_thread t, *list = NULL;
	size_t count = 0, cap = 0;
	void *at = NULL;

	while (!bpf_map_get_next_key(map, at, &t.key)) {
		at = &t.key;
		if (bpf_map_lookup_elem(map, &t.key, &t.count))
			continue;
		if (array_add(list, count, cap, t) < 0) {
			free(list);
			return -ENOMEM;
		}
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

bool losses_look(struct losses *l, const struct wire_cpu *counters)
{
	bool shared = false;

	for (size_t i = 0; i < l->cpus; i++) {
		const struct wire_cpu *c = &counters[i];

		/* Read each once: the programs keep counting. */
		l->now[i][LOSS_CPU_RING] = __atomic_load_n(&c->lost, __ATOMIC_ACQUIRE) +
					   __atomic_load_n(&c->faults, __ATOMIC_RELAXED);
		l->now[i][LOSS_CPU_COMPAT] = __atomic_load_n(&c->compat, __ATOMIC_ACQUIRE);
		l->now[i][LOSS_CPU_STORAGE] = __atomic_load_n(&c->storage, __ATOMIC_RELAXED) +
					      __atomic_load_n(&c->scratch, __ATOMIC_RELAXED);
		l->now[i][LOSS_CPU_UNREAD] = __atomic_load_n(&c->unread, __ATOMIC_RELAXED);
		l->now[i][LOSS_CPU_UNSENT] = __atomic_load_n(&c->unsent, __ATOMIC_RELAXED);
		for (int k = 0; k < WIRE_MISSING_KINDS; k++)
			shared |= l->now[i][thread_counters[k]] > l->seen[i][thread_counters[k]];
	}
	return shared;
}

/* A thread's share of its CPU's increase. Increases after the counter was read wait for the next window. */
static int give_thread(struct losses *l, struct batch_set *out, const struct loss_thread *t,
		       int64_t now)
{
	uint64_t key, seen = 0, count;
	enum loss_cpu_counter counter;
	int r;

	if (t->key.kind >= WIRE_MISSING_KINDS || t->key.cpu >= l->cpus)
		return 0;
	memcpy(&key, &t->key, sizeof(key));
	map_get(&l->seen_threads, key, &seen);
	counter = thread_counters[t->key.kind];
	count = MIN(t->count - seen, l->now[t->key.cpu][counter] - l->seen[t->key.cpu][counter]);
	if (!count)
		return 0;
	r = map_set(&l->seen_threads, key, seen + count);
	r = r ? r
	      : loss_row(l, out, cpu_causes[counter], t->key.cpu, t->key.thread, (int64_t)count,
			 now);
	l->seen[t->key.cpu][counter] += count;
	return r;
}

int losses_give(struct losses *l, const struct loss_thread *threads, size_t count,
		const uint64_t all[LOSS_COUNTERS], int64_t now, struct batch_set *out)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++)
		r = give_thread(l, out, &threads[i], now);
	for (size_t i = 0; i < l->cpus && !r; i++) {
		for (int k = 0; k < LOSS_CPU_COUNTERS && !r; k++)
			r = give_grown(l, out, cpu_causes[k], (int64_t)i, &l->seen[i][k],
				       l->now[i][k], now);
	}
	for (int k = 0; k < LOSS_COUNTERS && !r; k++)
		r = give_grown(l, out, all_causes[k], -1, &l->seen_all[k], all[k], now);
	l->since = now;
	return r;
}
