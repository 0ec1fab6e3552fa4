/* SPDX-License-Identifier: GPL-2.0-only */
/* sock.h: the addresses of a socket. */
#pragma once

#include "bpf/file.h"

#define FAMILY_UNIX    1
#define FAMILY_INET    2
#define FAMILY_INET6   10
#define INET_MAPPED    0xffff0000u /* bytes 8 to 11 of an IPv4 address in an IPv6 one; little-endian */
#define TYPE_STREAM    1
#define TYPE_SEQPACKET 5
/* Of enum tcp_state, which unix sockets share: ESTABLISHED and what follows it, but for CLOSE. */
#define SOCK_CONNECTED (1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11)
#define UNIX_NAME_MAX  110 /* sun_family and sun_path, as unix_address holds them */

/* The name that a unix socket is bound to, at data[at]; its length. */
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

/* bpf_loop: one of the filter's tests of an address. A glob over names of unix sockets is for the recorder. */
static long peer_test(__u32 i, struct walk_ctx *ctx)
{
	const volatile struct wire_name_test *t = &name_tests[i & FILTER_NAMES_MAX];
	const volatile __u64 *with = (const volatile __u64 *)t->names;
	struct scratch *s = ctx->s;
	__u16 family = s->peer_family;
	bool fits = false;

	if (t->field != FILTER_PEER)
		return 0;
	if (family == FAMILY_UNIX && (t->pattern || t->how == PEER_ANY)) {
		fits = !t->opposite;
	} else if (family == FAMILY_UNIX && t->how == PEER_UNIX) {
		__u32 at = s->peer_at, len = t->len;

		fits = len <= s->peer_len && names_same(s, at, t->names, len) &&
		       (len == s->peer_len ||
			!s->data[sizeof(struct wire_file) + ((at + len) & (WIRE_WALK_MAX - 1))]);
	} else if (family != FAMILY_UNIX && t->how != PEER_UNIX) {
		fits = (t->how == PEER_ANY || (t->how == PEER_INET) == (family == FAMILY_INET)) &&
		       !((s->peer[0] ^ with[0]) & t->mask[0]) &&
		       !((s->peer[1] ^ with[1]) & t->mask[1]) &&
		       (!t->len || t->len == s->peer_port + 1u);
	}
	if (fits != !!t->opposite)
		s->peer_tests |= 1u << (i & FILTER_NAMES_MAX);
	return 0;
}

/* The filter's tests of the address in the scratch, as bits. */
verified_alone __u32 peer_tests(struct scratch *s)
{
	struct walk_ctx ctx = {.s = s};

	if (!s)
		return 0;
	/* ::ffff:10.0.0.1 is 10.0.0.1 */
	if (s->peer_family == FAMILY_INET6 && !s->peer[0] && (__u32)s->peer[1] == INET_MAPPED) {
		s->peer_family = FAMILY_INET;
		s->peer[0] = s->peer[1] >> 32;
		s->peer[1] = 0;
	}
	s->peer_tests = 0;
	if (filter.name_count)
		bpf_loop(filter.name_count, peer_test, &ctx, 0);
	/* a file may be called as an abstract name is written */
	if (s->peer_family == FAMILY_UNIX &&
	    s->data[sizeof(struct wire_file) + (s->peer_at & (WIRE_WALK_MAX - 1))] == '@')
		return ~(PEER_NAMED | PEER_STREAM);
	return s->peer_tests;
}

/* Remembers them of a socket, whose record is in the scratch. */
verified_alone int peer_note(struct scratch *s)
{
	struct wire_sock *r;
	__u32 said = 0;
	__u64 key;

	if (!s)
		return 0;
	r = (struct wire_sock *)s->data;
	key = r->file;
	s->peer_family = r->family;
	s->peer_port = r->peer_port;
	s->peer[0] = *(__u64 *)r->peer;
	s->peer[1] = *(__u64 *)(r->peer + 8);
	s->peer_at = __builtin_offsetof(struct wire_sock, peer) - sizeof(struct wire_file);
	s->peer_len = r->peer_len;
	if (r->family == FAMILY_UNIX ? r->peer_len != 0 : r->peer_port != 0)
		said = PEER_NAMED | peer_tests(s);
	if (r->type == TYPE_STREAM || r->type == TYPE_SEQPACKET)
		said |= PEER_STREAM;
	bpf_map_update_elem(&peers, &key, &said, BPF_ANY);
	return 0;
}

/* Whether a socket is connected for good: another peer takes another socket. */
verified_alone int sock_connected(__u64 file, int fd)
{
	struct socket *so;

	if (!file || fd_file_apart(fd) != file)
		return 0;
	so = kread(struct file, file, private_data);
	return SOCK_CONNECTED >> (BPF_CORE_READ(so, sk, __sk_common.skc_state) & 31) & 1;
}

verified_alone int sock_send(__u64 file, __u64 key)
{
	struct socket *so = kread(struct file, file, private_data);
	struct scratch *s = scratch_get();
	struct wire_sock *r;
	__u64 sk;

	if (!s) {
		__sync_fetch_and_add(&this_cpu()->unsent, 1);
		return 0;
	}
	r = (struct wire_sock *)s->data;
	__builtin_memset(r, 0, sizeof(*r));
	head_fill(&r->head, WIRE_SOCK, 0, 0, 0, bpf_ktime_get_ns());
	r->file = key;
	r->type = BPF_CORE_READ(so, type);
	sk = (__u64)BPF_CORE_READ(so, sk);
	if (sk) {
		r->family = BPF_CORE_READ((struct sock *)sk, __sk_common.skc_family);
		r->proto = BPF_CORE_READ((struct sock *)sk, sk_protocol);
		if (r->family == FAMILY_INET || r->family == FAMILY_INET6)
			inet_names(s, sk);
		if (r->family == FAMILY_UNIX) {
			r->local_len =
				unix_name(s, sk, __builtin_offsetof(struct wire_sock, local));
			r->peer_len =
				unix_name(s, (__u64)BPF_CORE_READ((struct unix_sock *)sk, peer),
					  __builtin_offsetof(struct wire_sock, peer));
		}
	}
	if (filter.fields & 1 << FILTER_PEER)
		peer_note(s);
	if (!ring_send(s, sizeof(*r)))
		__sync_fetch_and_add(&this_cpu()->unsent, 1);
	scratch_put(s);
	return 0;
}

/* A call that is not recorded gave a socket other addresses: recorded calls show it later, where they know the socket. */
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
	k = d->k; /* on the stack, as a key of a map */
	v = bpf_map_lookup_elem(&files, &k);
	if (v)
		sock_send(file, v->key);
	return 0;
}
