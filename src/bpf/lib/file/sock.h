/* SPDX-License-Identifier: GPL-2.0-only */
/* sock.h: the addresses of a socket. */
#pragma once

#include "bpf/lib/file/file.h"
#include "bpf/lib/file/net.h"

#define FAMILY_UNIX   1
#define UNIX_NAME_MAX 110 /* sun_family and sun_path, as in unix_address */

/* Reads the name that a unix socket is bound to, to data[at]; returns its length. */
verified_alone int unix_name(struct scratch *s, __u64 sk, __u32 at)
{
	struct unix_address *a;
	__u32 len;

	if (!s || !sk || at > 512)
		return 0;
	a = BPF_CORE_READ((struct unix_sock *)sk, addr);
	if (!a)
		return 0;
	len = BPF_CORE_READ(a, len);
	if (len <= 2 || len > UNIX_NAME_MAX)
		return 0;
	len = (len - 2) & 0x7f; /* without sun_family */
	barrier_var(len);
	if (len > UNIX_NAME_MAX - 2 ||
	    bpf_probe_read_kernel(
		    s->data + at, len,
		    (void *)((__u64)a + bpf_core_field_offset(struct unix_address, name) + 2)))
		return 0;
	return len;
}

verified_alone int inet_names(struct scratch *s, __u64 sk_)
{
	struct sock *sk = (void *)sk_;
	struct wire_sock *r;

	if (!s)
		return 0;
	r = (struct wire_sock *)s->data;
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (r->family == FAMILY_INET) {
		r->local_len = r->peer_len = 4;
		BPF_CORE_READ_INTO((__u32 *)r->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)r->peer, sk, __sk_common.skc_daddr);
	} else {
		r->local_len = r->peer_len = 16;
		BPF_CORE_READ_INTO((struct in6_addr *)r->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)r->peer, sk, __sk_common.skc_v6_daddr);
	}
	return 0;
}

/* The inode of a socket, if any: it has none between connect() and accept(), or after it was closed. */
static __always_inline __u64 sock_ino(__u64 sk)
{
	__u64 so = sk ? (__u64)BPF_CORE_READ((struct sock *)sk, sk_socket) : 0;

	return so ? kread(struct inode, so + bpf_core_field_offset(struct socket_alloc, vfs_inode),
			  i_ino)
		  : 0;
}

verified_alone int unix_names(struct scratch *s, __u64 sk)
{
	struct wire_sock *r;
	__u64 peer;

	if (!s || !sk)
		return 0;
	r = (struct wire_sock *)s->data;
	peer = (__u64)BPF_CORE_READ((struct unix_sock *)sk, peer);
	r->local_len = unix_name(s, sk, __builtin_offsetof(struct wire_sock, local));
	r->peer_len = unix_name(s, peer, __builtin_offsetof(struct wire_sock, peer));
	r->ino = sock_ino(sk);
	r->peer_ino = sock_ino(peer);
	return 0;
}

/* Set before loading: the net object needs to know sockets. */
OPTION bool net_wanted = 0;

/* Copied when a socket is added, as it does not fit on the stack. */
static const volatile struct net_sock net_nothing;

/*
 * The initial state of a socket. A connection opened while recording is counted from its beginning, others from now on.
 * Segments may arrive on another CPU meanwhile: until `proto` is set they are ignored.
 */
verified_alone int net_begin(__u64 sk, __u32 proto)
{
	struct net_sock *s = bpf_map_lookup_elem(&net_socks, &sk);
	__u64 now = bpf_ktime_get_ns();

	if (!s)
		return 0;
	s->since = s->in_at = s->out_at = now;
	s->drops = kread(struct sock, sk, sk_drops.counter);
	if (proto == PROTO_TCP && sk_state(sk) != TCP_LISTENS) {
		s->copied = kread(struct tcp_sock, sk, copied_seq);
		counters_read(&s->was, sk);
		if (bpf_map_lookup_elem(&net_opened, &sk)) {
			s->copied = kread(struct tcp_sock, sk, rcv_nxt) - (__u32)s->was.bytes_in -
				    sk_fin_came(sk);
			__builtin_memset(&s->was, 0,
					 __builtin_offsetof(struct net_counters, acked));
		}
		s->retransmits = s->was.retransmits;
		s->written = kread(struct tcp_sock, sk, write_seq);
	}
	barrier();
	s->proto = proto;
	return 0;
}

/* Adds a TCP or UDP socket to those that the net object observes, or updates its addresses. */
verified_alone int net_note(__u64 sk, __u64 key)
{
	__u16 family = kread(struct sock, sk, __sk_common.skc_family),
	      proto = kread(struct sock, sk, sk_protocol);
	struct thread_state *ts;
	struct net_sock *s;
	__u64 ino;

	if ((family != FAMILY_INET && family != FAMILY_INET6) ||
	    (proto != PROTO_TCP && proto != PROTO_UDP))
		return 0;
	ino = sock_ino(sk);
	s = bpf_map_lookup_elem(&net_socks, &sk);
	if (!s || s->ino != ino) {
		if (s) /* the memory belonged to another socket */
			net_unname(s, sk);
		if (bpf_map_update_elem(&net_socks, &sk, (void *)&net_nothing, BPF_ANY)) {
			side_lose(WIRE_SIDE_STORAGE, WIRE_NET_SAMPLE);
			return 0;
		}
		s = bpf_map_lookup_elem(&net_socks, &sk);
		if (!s)
			return 0;
		ts = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
		s->thread = ts ? ts->version : 0;
		s->ino = ino;
		s->file = key;
		net_begin(sk, proto);
	}
	s->file = key;
	return net_rename(s, sk);
}

verified_alone int sock_send(__u64 file, __u64 key)
{
	struct socket *so = kread(struct file, file, private_data);
	struct scratch *s = scratch_get();
	struct wire_sock *r;
	__u64 sk;

	if (!s) {
		cpu_count(unsent);
		return 0;
	}
	r = (struct wire_sock *)s->data;
	__builtin_memset(r, 0, sizeof(*r));
	head_fill(&r->head, WIRE_SOCK, 0, 0, 0, bpf_ktime_get_ns());
	r->file = key;
	r->type = BPF_CORE_READ(so, type);
	sk = (__u64)BPF_CORE_READ(so, sk);
	if (sk && net_wanted)
		net_note(sk, key);
	if (sk) {
		r->family = BPF_CORE_READ((struct sock *)sk, __sk_common.skc_family);
		r->proto = BPF_CORE_READ((struct sock *)sk, sk_protocol);
		if (r->family == FAMILY_INET || r->family == FAMILY_INET6)
			inet_names(s, sk);
		if (r->family == FAMILY_UNIX)
			unix_names(s, sk);
	}
	if (!ring_send(s, sizeof(*r)))
		cpu_count(unsent);
	scratch_put(s);
	return 0;
}

/* A call that is not recorded changed a socket's addresses: later recorded calls show them, if they know the socket. */
verified_alone int sock_skipped(struct thread_state *ts, int fd)
{
	__u64 file = fd_file_apart(fd);
	struct file_version *v;
	struct file_ident *d;
	struct file_key k;

	if (!ts || !file)
		return 0;
	d = &ts->ident;
	ident_fill(d, (__u64)kread(struct file, file, f_inode),
		   (__u64)kread(struct file, file, f_path.dentry),
		   (__u64)kread(struct file, file, f_path.mnt));
	if (d->magic != MAGIC_SOCKFS)
		return 0;
	k = d->k; /* map keys must be on the stack */
	v = bpf_map_lookup_elem(&files, &k);
	if (v)
		sock_send(file, v->key);
	return 0;
}
