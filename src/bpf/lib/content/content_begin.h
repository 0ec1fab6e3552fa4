/* SPDX-License-Identifier: GPL-2.0-only */
/* content_begin.h: what the calls object saves at the beginning of a call for the content object (content.bpf.c). */
#pragma once

#include "bpf/lib/file/net.h"
#include "bpf/lib/state.h"

/* The next sequence numbers that a TCP socket will receive and send; false: not TCP. */
static __always_inline bool content_sequences(__u64 file, struct thread_content *c)
{
	__u64 so = knum(struct file, file, private_data), sk;
	__u16 family;

	sk = so ? knum(struct socket, so, sk) : 0;
	if (!sk || kread(struct sock, sk, sk_protocol) != PROTO_TCP)
		return false;
	family = kread(struct sock, sk, __sk_common.skc_family);
	if (family != FAMILY_INET && family != FAMILY_INET6)
		return false;
	c->in = kread(struct tcp_sock, sk, copied_seq);
	c->out = kread(struct tcp_sock, sk, write_seq);
	return true;
}

/* For a call on a socket. */
verified_alone int content_begin(struct thread_state *ts)
{
	if (!ts)
		return 0;
	ts->content.tcp = content_sequences(ts->call.file, &ts->content);
	return 0;
}
