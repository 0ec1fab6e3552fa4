/* SPDX-License-Identifier: GPL-2.0-only */
/* sock.h: the addresses of a socket. */
#pragma once

#include "bpf/file.h"

#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define UNIX_NAME_MAX 110 /* sun_family and sun_path, as unix_address holds them */

static __always_inline __u16 unix_name(struct sock *sk, __u8 *to)
{
	struct unix_address *a;
	__u32 len;

	if (!sk)
		return 0;
	a = BPF_CORE_READ((struct unix_sock *)sk, addr);
	if (!a)
		return 0;
	len = BPF_CORE_READ(a, len);
	if (len <= 2 || len > UNIX_NAME_MAX)
		return 0;
	len = (len - 2) & 0x7f; /* without sun_family */
	if (len > 108)
		return 0;
	if (bpf_probe_read_kernel(to, len, (void *)((__u64)a + bpf_core_field_offset(struct unix_address, name) + 2)))
		return 0;
	return len;
}

verified_alone int sock_send(__u64 file, __u64 key)
{
	struct socket *so = kread(struct file, file, private_data);
	struct wire_cpu *c = this_cpu();
	void *ring = ring_of_cpu();
	struct wire_sock *r;
	struct sock *sk;
	__u32 seq;

	if (!ring || !so)
		return 0;
	sk = BPF_CORE_READ(so, sk);
	seq = __sync_fetch_and_add(&c->seq, 1);
	r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&c->lost, 1);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	head_fill(&r->head, WIRE_SOCK, 0, sizeof(*r), seq, bpf_ktime_get_ns());
	r->file = key;
	r->type = BPF_CORE_READ(so, type);
	if (sk) {
		r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
		r->proto = BPF_CORE_READ(sk, sk_protocol);
		if (r->family == FAMILY_INET || r->family == FAMILY_INET6) {
			r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
			r->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
		}
		if (r->family == FAMILY_INET) {
			r->local_len = r->peer_len = 4;
			BPF_CORE_READ_INTO((__u32 *)r->local, sk, __sk_common.skc_rcv_saddr);
			BPF_CORE_READ_INTO((__u32 *)r->peer, sk, __sk_common.skc_daddr);
		} else if (r->family == FAMILY_INET6) {
			r->local_len = r->peer_len = 16;
			BPF_CORE_READ_INTO((struct in6_addr *)r->local, sk, __sk_common.skc_v6_rcv_saddr);
			BPF_CORE_READ_INTO((struct in6_addr *)r->peer, sk, __sk_common.skc_v6_daddr);
		} else if (r->family == FAMILY_UNIX) {
			r->local_len = unix_name(sk, r->local);
			r->peer_len = unix_name(BPF_CORE_READ((struct unix_sock *)sk, peer), r->peer);
		}
	}
	bpf_ringbuf_submit(r, ring_wakeup(ring, c, seq));
	return 0;
}
