// SPDX-License-Identifier: GPL-2.0-only
/*
 * irq.bpf.c: sums of interrupt handlers and softirqs, for each on each CPU; a record is sent with the first run that
 * ends 100 ms or more after the first of the record. One record for each run would exceed everything that a program
 * does.
 */
#include "bpf/lib/side.h"

#define SUM_NS	 100000000
#define SOFTIRQS 16
#define IRQS	 4096

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct irqaction {
	const char *name;
};

#pragma clang attribute pop

/* Devices that share an interrupt line share an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, IRQS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct wire_irq_sum);
} irqs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOFTIRQS);
	__type(key, __u32);
	__type(value, struct wire_irq_sum);
} softirqs SEC(".maps");

static const struct wire_irq_sum nothing;

static __always_inline void handler_end(struct wire_irq_sum *s, __u64 now)
{
	struct wire_irq *r = &s->sum, *to;
	__u64 took;

	if (!s->began) /* before recording */
		return;
	took = now - s->began;
	if (!r->runs) {
		r->start = s->began;
		r->shortest = took;
		r->longest = 0;
		r->time = 0;
	}
	r->runs++;
	r->time += took;
	if (took < r->shortest)
		r->shortest = took;
	if (took > r->longest)
		r->longest = took;
	s->began = 0;
	if (now - r->start < SUM_NS)
		return;
	to = side_try(WIRE_IRQ, sizeof(*to), now);
	if (!to)
		return; /* the next run tries again */
	__builtin_memcpy((__u8 *)to + sizeof(to->head), (__u8 *)r + sizeof(r->head),
			 sizeof(*r) - sizeof(r->head));
	side_commit(to);
	r->runs = r->raised = 0;
	r->raise_time = r->raise_longest = 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(weir_irq_begin, int irq, struct irqaction *action)
{
	__u32 key = irq;
	struct wire_irq_sum *s = bpf_map_lookup_elem(&irqs, &key);

	if (shared.over)
		return 0;
	if (!s) {
		if (bpf_map_update_elem(&irqs, &key, (void *)&nothing, BPF_NOEXIST))
			side_lose(WIRE_SIDE_STORAGE, WIRE_IRQ);
		s = bpf_map_lookup_elem(&irqs, &key);
		if (!s)
			return 0;
	}
	if (!s->sum.runs) {
		s->sum.number = irq;
		bpf_probe_read_kernel_str(s->sum.handler, sizeof(s->sum.handler),
					  BPF_CORE_READ(action, name));
	}
	s->began = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(weir_irq_end, int irq)
{
	__u32 key = irq;
	struct wire_irq_sum *s = bpf_map_lookup_elem(&irqs, &key);

	if (s)
		handler_end(s, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(weir_softirq_raise, unsigned int nr)
{
	__u32 key = nr;
	struct wire_irq_sum *s = bpf_map_lookup_elem(&softirqs, &key);

	if (s && !s->raised_at && !shared.over)
		s->raised_at = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(weir_softirq_begin, unsigned int nr)
{
	__u32 key = nr;
	struct wire_irq_sum *s = bpf_map_lookup_elem(&softirqs, &key);
	__u64 now, raised, waited;

	if (!s || shared.over)
		return 0;
	/* before reading the clock: an interrupt may raise it again for the next run */
	raised = __sync_lock_test_and_set(&s->raised_at, 0);
	now = bpf_ktime_get_ns();
	s->began = now;
	s->sum.number = nr;
	s->sum.kind = 1; /* IRQ_KIND_SOFT, checked by capture/ebpf/side/host_sums.c */
	if (!raised)
		return 0;
	waited = now - raised;
	s->sum.raised++;
	s->sum.raise_time += waited;
	if (waited > s->sum.raise_longest)
		s->sum.raise_longest = waited;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(weir_softirq_end, unsigned int nr)
{
	__u32 key = nr;
	struct wire_irq_sum *s = bpf_map_lookup_elem(&softirqs, &key);

	if (s)
		handler_end(s, bpf_ktime_get_ns());
	return 0;
}
