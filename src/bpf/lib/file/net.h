/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * net.h: the TCP and UDP sockets of recorded threads, for the net object, whose programs mostly run in interrupts,
 * where the current thread is a bystander: a socket is identified by its address. The calls object adds a socket when
 * it sends the socket's addresses (sock.h), in the thread that uses it; the net object removes it when the kernel
 * destroys it.
 */
#pragma once

#include "bpf/lib/thread/selected.h"
#include "bpf/lib/thread/thread_state.h"

#define FAMILY_INET   2
#define FAMILY_INET6  10
#define PROTO_TCP     6
#define TCP_LISTENS   10 /* include/net/tcp_states.h */
#define TCP_CLOSED    7
#define PROTO_UDP     17
#define SOCK_DONE_BIT 1 /* enum sock_flags, unchanged since 2.6: the peer has finished sending */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct minmax_sample {
	__u32 t, v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	__u32 snd_wnd, snd_cwnd, copied_seq, write_seq, rcv_nxt, snd_una;
	__u32 data_segs_out, data_segs_in, total_retrans, srtt_us, mdev_us;
	__u64 bytes_sent, bytes_retrans, bytes_received;
	__u64 tcp_clock_cache; /* time of the last send or receive, ns */
	struct minmax rtt_min;
};

#pragma clang attribute pop

/* Identifies a connection, as in an arriving packet: the peer first. */
struct net_tuple {
	struct wire_ip peer, local;
	__u16 peer_port, local_port; /* host order */
	__u16 proto, pad;
	__u32 net_ns, pad2;
};

/* Previous values of a connection's counters. */
struct net_counters {
	__u64 bytes_out, bytes_in, retransmit_bytes;
	__u32 packets_out, packets_in, retransmits;
	__u32 acked; /* acknowledged sequence number */
};

struct net_sock {
	__u64 file;
	__u64 ino; /* of the socket: differs if the memory was reused */
	__u32 thread;
	__u32 proto; /* 0: the rest is not filled yet */
	__u16 family;
	__u16 given; /* a sample was sent */
	__u32 drops; /* of a listening socket, at the last look */
	__u64 since; /* the last sample, or when it was added */
	struct net_counters was;
	__u32 retransmits; /* at the last event */
	__u32 copied;	   /* position read up to at the last look */
	__u32 written;	   /* position written up to when the last segment arrived */
	__u32 in_queued, out_queued;
	__u32 in_read;
	__u64 in_at, out_at; /* when these were taken */
	__u64 in_sum, out_sum;
	__u64 closed_at; /* when the peer closed its window; 0: open */
	struct net_tuple tuple;
};

struct net_name {
	__u64 sk;
};

/* By address of struct sock. The loader sets the size of all three maps. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct net_sock);
} net_socks SEC(".maps");

/* Addresses by connection, for packets without a socket. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct net_tuple);
	__type(value, struct net_name);
} net_names SEC(".maps");

/* Connections opened while recording, by address of struct sock: seen by the net object, whatever thread owns them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} net_opened SEC(".maps");

static __always_inline __u8 sk_state(__u64 sk)
{
	return kread(struct sock, sk, __sk_common.skc_state);
}

static __always_inline bool sk_fin_came(__u64 sk)
{
	return kread(struct sock, sk, __sk_common.skc_flags) >> SOCK_DONE_BIT & 1;
}

static __always_inline void counters_read(struct net_counters *c, __u64 sk)
{
	c->retransmit_bytes = kread(struct tcp_sock, sk, bytes_retrans);
	c->bytes_out = kread(struct tcp_sock, sk, bytes_sent) - c->retransmit_bytes;
	c->bytes_in = kread(struct tcp_sock, sk, bytes_received);
	if (c->bytes_in && sk_fin_came(sk)) /* the kernel counts the FIN as a byte */
		c->bytes_in--;
	c->packets_out = kread(struct tcp_sock, sk, data_segs_out);
	c->packets_in = kread(struct tcp_sock, sk, data_segs_in);
	c->retransmits = kread(struct tcp_sock, sk, total_retrans);
	c->acked = kread(struct tcp_sock, sk, snd_una);
}

/* Reads an address of a socket; an IPv4 address used by an IPv6 socket is stored as IPv4. 1: IPv4. */
static __always_inline bool ip_read(struct wire_ip *ip, __u64 v4, __u64 v6, __u16 family)
{
	__u32 *word = (__u32 *)ip->ip;

	if (family == FAMILY_INET6) {
		bpf_probe_read_kernel(ip, sizeof(*ip), (void *)v6);
		if (word[0] || word[1] || word[2] != bpf_htonl(0xffff))
			return false;
		v4 = v6 + 12;
	}
	bpf_probe_read_kernel(&word[0], sizeof(word[0]), (void *)v4);
	word[1] = word[2] = word[3] = 0;
	return true;
}

static __always_inline void tuple_read(struct net_sock *s, __u64 sk)
{
	__u64 common = sk + bpf_core_field_offset(struct sock, __sk_common);
	struct net_tuple *t = &s->tuple;

	s->family = kread(struct sock, sk, __sk_common.skc_family);
	if (ip_read(&t->local, common + bpf_core_field_offset(struct sock_common, skc_rcv_saddr),
		    common + bpf_core_field_offset(struct sock_common, skc_v6_rcv_saddr),
		    s->family))
		s->family = FAMILY_INET;
	ip_read(&t->peer, common + bpf_core_field_offset(struct sock_common, skc_daddr),
		common + bpf_core_field_offset(struct sock_common, skc_v6_daddr),
		kread(struct sock, sk, __sk_common.skc_family));
	t->local_port = kread(struct sock, sk, __sk_common.skc_num);
	t->peer_port = bpf_ntohs(kread(struct sock, sk, __sk_common.skc_dport));
	t->proto = (__u16)s->proto;
	t->net_ns =
		kread(struct net, (__u64)kread(struct sock, sk, __sk_common.skc_net.net), ns.inum);
}

/* Removes the mapping from name to socket, unless it belongs to another one by now. */
static __always_inline void net_unname(struct net_sock *s, __u64 sk)
{
	struct net_name *n = bpf_map_lookup_elem(&net_names, &s->tuple);

	if (n && n->sk == sk)
		bpf_map_delete_elem(&net_names, &s->tuple);
}

/* Updates the name of a socket. */
static noinline int net_rename(struct net_sock *s, __u64 sk)
{
	struct net_name name = {.sk = sk};

	if (!s)
		return 0;
	net_unname(s, sk);
	tuple_read(s, sk);
	if (s->tuple.local_port)
		bpf_map_update_elem(&net_names, &s->tuple, &name, BPF_ANY);
	return 0;
}
