// SPDX-License-Identifier: GPL-2.0-only
/* net_drop.bpf.c: drops four of a hundred packets that arrive, at random: loaded by tc(8), where the kernel has no netem. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tc")
int drop(struct __sk_buff *skb)
{
	return bpf_get_prandom_u32() % 100 < 4 ? TC_ACT_SHOT : TC_ACT_OK;
}
