// SPDX-License-Identifier: GPL-2.0-only
/* signals.bpf.c: whether a signal to the recorder was sent to it alone, or to the command as well. */
#include "bpf/lib/thread/selected.h"

char LICENSE[] SEC("license") = "GPL";

/* The last signal of each number: first those to the recorder, then those to the command. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * WIRE_SIGNALS);
	__type(key, __u32);
	__type(value, struct wire_signal);
} signals SEC(".maps");

SEC("tp_btf/signal_generate")
int BPF_PROG(weir_signal, int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	int tgid = tgid_of(task);
	struct wire_signal *s;
	__u32 key = sig;

	if (sig < 1 || sig >= WIRE_SIGNALS ||
	    (tgid != selection.own_tgid && tgid != selection.command_tgid))
		return 0;
	if (tgid != selection.own_tgid)
		key += WIRE_SIGNALS;
	s = bpf_map_lookup_elem(&signals, &key);
	if (!s)
		return 0;
	s->sender = tgid_of(bpf_get_current_task_btf());
	s->at = bpf_ktime_get_ns();
	return 0;
}
