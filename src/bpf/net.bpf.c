// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.bpf.c: events of the TCP connections of recorded threads, and dropped packets.
 *
 * Figures that the kernel counts (bytes, segments, retransmits) are taken from its counters every 100 ms and when the
 * connection closes, so that they are exact even if events are missed. Time in a queue is the sum of bytes times the
 * time for which they were there, divided by the bytes that left (Little's law): no byte is tracked individually.
 * tcp_probe runs before a segment changes anything, tcp_rcv_space_adjust after each read, both under the socket's lock,
 * so that the receive queue in between is known exactly. Growth of the send queue between two arriving segments is not
 * seen, so that figure is an estimate. A program on every send would cost 110 ns.
 */
#include "bpf/lib/file/net.h"
#include "bpf/lib/side.h"

#define SAMPLE_NS    100000000
#define ETH_IPV4     0x0800
#define ETH_IPV6     0x86dd
#define CA_RECOVERY  3 /* enum tcp_ca_state */
#define CA_LOSS	     4
#define TCP_SYN_SENT 2
#define TCP_OPEN     1 /* established */
#define SKB_CONSUMED 1 /* enum skb_drop_reason */

/* enum net_event of schema/vocab.h, checked by capture/ebpf/side/net.c. */
#define NET_EVENT_RETRANSMIT	 0
#define NET_EVENT_RESET_SENT	 1
#define NET_EVENT_RESET_RECEIVED 2
#define NET_EVENT_DROP		 3
#define NET_EVENT_LISTEN_DROP	 4
#define NET_EVENT_ZERO_WINDOW	 5

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net_device {
	possible_net_t nd_net;
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	__be16 protocol;
	__u16 network_header, transport_header;
	unsigned int end;
	unsigned char *head, *data;
};

struct tcphdr {
	__be16 window;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

struct request_sock_queue {
	__u8 rskq_defer_accept;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	struct request_sock_queue icsk_accept_queue;
};

struct request_sock {
	struct sock_common __req_common;
};

struct trace_event_raw_kfree_skb {
	void *rx_sk; /* since 6.11 */
};

enum sk_rst_reason {
	SK_RST_REASON_NOT_SPECIFIED,
};

struct trace_event_raw_tcp_send_reset {
	enum sk_rst_reason reason; /* since 6.11 */
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	void *key, *value;
};

#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";

static __always_inline struct net_sock *net_of(__u64 sk)
{
	return bpf_map_lookup_elem(&net_socks, &sk);
}

/* ---- queues and samples ---- */

/* The receive queue has had this length since the last look. */
static __always_inline void queue_in(struct net_sock *s, __u64 sk, __u64 now)
{
	__u32 queued = kread(struct tcp_sock, sk, rcv_nxt) - s->copied,
	      copied = kread(struct tcp_sock, sk, copied_seq);

	if (queued && sk_fin_came(sk))
		queued--;
	if ((__s32)queued < 0)
		queued = 0;
	s->in_sum += queued * (now - s->in_at);
	s->in_at = now;
	if (queued > s->in_queued)
		s->in_queued = queued;
	if ((__s32)(copied - s->copied) > 0)
		s->in_read += copied - s->copied;
	s->copied = copied;
}

/* Whether the state is FIN_WAIT1, LAST_ACK or CLOSING: the FIN was sent and occupies a sequence number. */
static __always_inline bool fin_sent(__u8 state)
{
	return state == 4 || state == 9 || state == 11;
}

/*
 * The same for the send queue. If all known data had been acknowledged, what is queued now was sent later: not before
 * the socket's last send.
 */
static __always_inline void queue_out(struct net_sock *s, __u64 sk, __u64 now)
{
	__u32 written = kread(struct tcp_sock, sk, write_seq),
	      acked = kread(struct tcp_sock, sk, snd_una), queued = written - acked;
	__u64 from = s->out_at, sent;

	if (queued && fin_sent(sk_state(sk)))
		queued--;
	if ((__s32)queued < 0)
		queued = 0;
	if ((__s32)(acked - s->written) >= 0) {
		sent = kread(struct tcp_sock, sk, tcp_clock_cache);
		if (sent > from && sent < now)
			from = sent;
	}
	s->out_sum += queued * (now - from);
	s->out_at = now;
	s->written = written;
	if (queued > s->out_queued)
		s->out_queued = queued;
}

/* Completes a sample whose head is filled, and begins the next. */
static __always_inline void sample_fill(struct wire_net_sample *r, struct net_sock *s, __u64 sk,
					__u64 now)
{
	struct net_counters c;

	counters_read(&c, sk);
	r->start = s->since;
	r->file = s->file;
	r->thread = s->thread;
	r->state = sk_state(sk);
	r->bytes_out = c.bytes_out - s->was.bytes_out;
	r->bytes_in = c.bytes_in - s->was.bytes_in;
	r->retransmit_bytes = c.retransmit_bytes - s->was.retransmit_bytes;
	r->packets_out = c.packets_out - s->was.packets_out;
	r->packets_in = c.packets_in - s->was.packets_in;
	r->retransmits = c.retransmits - s->was.retransmits;
	r->out_acked = c.acked - s->was.acked;
	r->in_read = s->in_read;
	/* bytes that waited all the time, and still wait, count in the sample in which they leave their queue */
	r->in_sum = r->in_read ? s->in_sum : 0;
	r->out_sum = r->out_acked ? s->out_sum : 0;
	r->in_queued = s->in_queued;
	r->out_queued = s->out_queued;
	r->srtt_us = kread(struct tcp_sock, sk, srtt_us) >> 3;
	r->rtt_var_us = kread(struct tcp_sock, sk, mdev_us) >> 2;
	r->rtt_min_us = r->srtt_us ? kread(struct tcp_sock, sk, rtt_min.s[0].v) : 0;
	r->cwnd = kread(struct tcp_sock, sk, snd_cwnd);
	s->was = c;
	s->given = 1;
	s->since = now;
	s->in_sum -= r->in_sum;
	s->out_sum -= r->out_sum;
	s->in_queued = s->out_queued = s->in_read = 0;
}

/* Whether nothing happened since the last sample. */
static __always_inline bool sample_empty(struct net_sock *s, __u64 sk)
{
	return s->given && !s->in_read && s->was.acked == kread(struct tcp_sock, sk, snd_una) &&
	       s->was.packets_in == kread(struct tcp_sock, sk, data_segs_in) &&
	       s->was.packets_out == kread(struct tcp_sock, sk, data_segs_out) &&
	       s->was.retransmits == kread(struct tcp_sock, sk, total_retrans);
}

/* `last`: if there is no room it is lost; otherwise the next sample includes it. */
static noinline void sample_send(struct net_sock *s, __u64 sk, __u64 now, bool last)
{
	struct wire_net_sample *r;

	if (!s || sample_empty(s, sk))
		return;
	r = side_try(WIRE_NET_SAMPLE, sizeof(*r), now);
	if (!r) {
		if (last)
			side_lose(WIRE_SIDE_FULL, WIRE_NET_SAMPLE);
		return;
	}
	sample_fill(r, s, sk, now);
	side_commit(r);
}

/* ---- events ---- */

static __always_inline void event_fill(struct wire_net *r, struct net_sock *s, __u64 sk, __u8 event)
{
	r->start = 0;
	r->file = s->file;
	r->thread = s->thread;
	r->packets = 1;
	r->bytes = 0;
	r->srtt_us = 0;
	r->reason = 0;
	r->event = event;
	r->state = 0;
	if (s->proto == PROTO_TCP) {
		r->state = sk_state(sk);
		if (r->state != TCP_LISTENS)
			r->srtt_us = kread(struct tcp_sock, sk, srtt_us) >> 3;
	}
	r->family = s->family;
	r->src_port = s->tuple.local_port;
	r->dst_port = s->tuple.peer_port;
	r->pad = 0;
	__builtin_memcpy(&r->src, &s->tuple.local, sizeof(r->src));
	__builtin_memcpy(&r->dst, &s->tuple.peer, sizeof(r->dst));
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(weir_tcp_segment, struct sock *sock, struct sk_buff *skb)
{
	__u64 sk = (__u64)sock, now;
	struct net_sock *s = net_of(sk);
	struct wire_net *r;
	__be16 window;

	if (!s || !s->proto)
		return 0;
	now = bpf_ktime_get_ns();
	queue_in(s, sk, now);
	queue_out(s, sk, now);
	window = kread(struct tcphdr, (__u64)kread(struct sk_buff, (__u64)skb, data), window);
	if (unlikely(!window) && !s->closed_at) {
		s->closed_at = now;
	} else if (unlikely(s->closed_at) && window) {
		r = side_take(WIRE_NET, sizeof(*r), now);
		if (r) {
			event_fill(r, s, sk, NET_EVENT_ZERO_WINDOW);
			r->start = s->closed_at;
			side_commit(r);
		}
		s->closed_at = 0;
	}
	if (now - s->since >= SAMPLE_NS)
		sample_send(s, sk, now, false);
	return 0;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(weir_tcp_read, struct sock *sock)
{
	__u64 sk = (__u64)sock, now;
	struct net_sock *s = net_of(sk);

	if (!s || !s->proto)
		return 0;
	now = bpf_ktime_get_ns();
	queue_in(s, sk, now);
	if (now - s->since >= SAMPLE_NS)
		sample_send(s, sk, now, false);
	return 0;
}

/* Uses the kernel's counter, which also counts copies that could not be sent. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(weir_tcp_retransmit, struct sock *sock, struct sk_buff *skb)
{
	__u64 sk = (__u64)sock;
	struct net_sock *s = net_of(sk);
	struct wire_net *r;
	__u32 total;
	__u8 ca;

	if (!s)
		return 0;
	if (sk_state(sk) == TCP_SYN_SENT)
		net_rename(s, sk);
	total = kread(struct tcp_sock, sk, total_retrans);
	r = side_take(WIRE_NET, sizeof(*r), bpf_ktime_get_ns());
	if (!r)
		return 0; /* the next event includes it */
	event_fill(r, s, sk, NET_EVENT_RETRANSMIT);
	r->packets = total - s->retransmits;
	r->bytes = skb ? kread(struct sk_buff, (__u64)skb, len) : 0;
	ca = BPF_CORE_READ_BITFIELD_PROBED((struct inet_connection_sock *)sk, icsk_ca_state);
	r->reason = ca == CA_LOSS || r->state == TCP_SYN_SENT ? WIRE_RETRANSMIT_TIMEOUT
		    : ca == CA_RECOVERY			      ? WIRE_RETRANSMIT_FAST
							      : WIRE_RETRANSMIT_PROBE;
	s->retransmits = total;
	side_commit(r);
	return 0;
}

/* A SYN-ACK, retransmitted by a listening socket. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(weir_tcp_synack, struct sock *sock, struct request_sock *req)
{
	__u64 sk = (__u64)sock;
	struct net_sock *s = net_of(sk);
	struct wire_net *r = s ? side_take(WIRE_NET, sizeof(*r), bpf_ktime_get_ns()) : NULL;

	if (!s || !r)
		return 0;
	event_fill(r, s, sk, NET_EVENT_RETRANSMIT);
	r->reason = WIRE_RETRANSMIT_TIMEOUT;
	side_commit(r);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(weir_tcp_reset, struct sock *sock)
{
	__u64 sk = (__u64)sock;
	struct net_sock *s = net_of(sk);
	struct wire_net *r = s ? side_take(WIRE_NET, sizeof(*r), bpf_ktime_get_ns()) : NULL;

	if (!s || !r)
		return 0;
	if (sk_state(sk) == TCP_SYN_SENT) /* the next recorded call is connect() */
		net_rename(s, sk);
	event_fill(r, s, sk, NET_EVENT_RESET_RECEIVED);
	/* it came from the peer */
	r->src_port = s->tuple.peer_port;
	r->dst_port = s->tuple.local_port;
	__builtin_memcpy(&r->src, &s->tuple.peer, sizeof(r->src));
	__builtin_memcpy(&r->dst, &s->tuple.local, sizeof(r->dst));
	side_commit(r);
	return 0;
}

/* ---- packets ---- */

/* The headers of a packet, as an arriving one: the peer is the sender. */
struct packet {
	struct net_tuple tuple;
	struct net_tuple name; /* key for the socket look-up */
	__u32 bytes, segments;
	__u16 family;
};

/* A program cannot interrupt itself, but the other one can: each has its own. */
enum packet_user { PACKET_DROPPED, PACKET_RESET, PACKET_USERS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PACKET_USERS);
	__type(key, __u32);
	__type(value, struct packet);
} packets SEC(".maps");

static __always_inline void tuple_turn(struct net_tuple *to, const struct net_tuple *from)
{
	__builtin_memcpy(&to->peer, &from->local, sizeof(to->peer));
	__builtin_memcpy(&to->local, &from->peer, sizeof(to->local));
	to->peer_port = from->local_port;
	to->local_port = from->peer_port;
	to->proto = from->proto;
	to->pad = 0;
	to->net_ns = from->net_ns;
	to->pad2 = 0;
}

/* Reads the headers of TCP or UDP over IP. False: another protocol, or a later fragment, which has no ports. */
static noinline bool packet_read(struct packet *p, __u64 skb)
{
	__u16 protocol = bpf_ntohs(kread(struct sk_buff, skb, protocol)),
	      at = kread(struct sk_buff, skb, network_header);
	__u64 head = (__u64)kread(struct sk_buff, skb, head),
	      data = (__u64)kread(struct sk_buff, skb, data);
	__u8 header[40];
	__u16 ports[2], fragment;
	__u32 len;

	if (!p || at == 0xffff || (protocol != ETH_IPV4 && protocol != ETH_IPV6) ||
	    bpf_probe_read_kernel(header, sizeof(header), (void *)(head + at)))
		return false;
	__builtin_memset(&p->tuple, 0, sizeof(p->tuple));
	if (protocol == ETH_IPV4) {
		p->family = FAMILY_INET;
		len = (header[0] & 0xf) * 4;
		p->tuple.proto = header[9];
		__builtin_memcpy(&fragment, header + 6, sizeof(fragment));
		if (bpf_ntohs(fragment) & 0x1fff)
			return false;
		__builtin_memcpy(p->tuple.peer.ip, header + 12, 4);
		__builtin_memcpy(p->tuple.local.ip, header + 16, 4);
	} else {
		p->family = FAMILY_INET6;
		len = 40;
		p->tuple.proto = header[6];
		__builtin_memcpy(p->tuple.peer.ip, header + 8, 16);
		__builtin_memcpy(p->tuple.local.ip, header + 24, 16);
	}
	if ((p->tuple.proto != PROTO_TCP && p->tuple.proto != PROTO_UDP) ||
	    bpf_probe_read_kernel(ports, sizeof(ports), (void *)(head + at + len)))
		return false;
	p->tuple.peer_port = bpf_ntohs(ports[0]);
	p->tuple.local_port = bpf_ntohs(ports[1]);
	p->tuple.net_ns = kread(
		struct net,
		(__u64)kread(struct net_device, (__u64)kread(struct sk_buff, skb, dev), nd_net.net),
		ns.inum);
	p->bytes = kread(struct sk_buff, skb, len) + (__u32)(data - head - at);
	p->segments =
		kread(struct skb_shared_info, head + kread(struct sk_buff, skb, end), gso_segs);
	if (!p->segments)
		p->segments = 1;
	return true;
}

static __always_inline __u64 name_find(struct net_tuple *t)
{
	struct net_name *n = bpf_map_lookup_elem(&net_names, t);

	return n ? n->sk : 0;
}

/* The socket that a packet was for, or came from: one with a peer, or without one, with or without a local address. */
static noinline __u64 packet_owner(struct net_tuple *t)
{
	__u64 sk;

	if (!t)
		return 0;
	sk = name_find(t);
	if (sk)
		return sk;
	t->peer_port = 0;
	__builtin_memset(&t->peer, 0, sizeof(t->peer));
	sk = name_find(t);
	if (sk)
		return sk;
	__builtin_memset(&t->local, 0, sizeof(t->local));
	return name_find(t);
}

/* Whether everything is recorded: then packets without a known socket are included. */
static __always_inline bool everybody(void)
{
	return !selection.pids && !selection.tids && !selection.comms && !selection.uids &&
	       !selection.cgroups;
}

/* The end of a UDP socket is not seen: its memory may belong to another one. */
static __always_inline struct net_sock *net_certain(__u64 sk)
{
	struct net_sock *s = sk ? net_of(sk) : NULL;
	__u64 so;

	if (!s || s->proto == PROTO_TCP)
		return s;
	so = (__u64)kread(struct sock, sk, sk_socket);
	if (!so || kread(struct inode, so + bpf_core_field_offset(struct socket_alloc, vfs_inode),
			 i_ino) != s->ino)
		return NULL;
	return s;
}

/* For packets without a socket: by their addresses, as received or as sent. */
static __always_inline __u64 packet_socket(struct packet *p)
{
	__u64 sk;

	p->name = p->tuple;
	sk = packet_owner(&p->name);
	if (sk)
		return sk;
	tuple_turn(&p->name, &p->tuple);
	return packet_owner(&p->name);
}

static __always_inline void packet_fill(struct wire_net *r, struct packet *p, struct net_sock *s,
					__u64 sk, __u8 event)
{
	__builtin_memset((__u8 *)r + sizeof(r->head), 0, sizeof(*r) - sizeof(r->head));
	if (s)
		event_fill(r, s, sk, event);
	r->event = event;
	r->packets = p->segments;
	r->bytes = p->bytes;
	r->family = p->family;
	r->src_port = p->tuple.peer_port;
	r->dst_port = p->tuple.local_port;
	__builtin_memcpy(&r->src, &p->tuple.peer, sizeof(r->src));
	__builtin_memcpy(&r->dst, &p->tuple.local, sizeof(r->dst));
}

static noinline int drop_send(__u64 skb, __u32 reason, __u64 receiver)
{
	__u32 user = PACKET_DROPPED;
	struct packet *p = bpf_map_lookup_elem(&packets, &user);
	__u64 sk = receiver;
	struct net_sock *s;
	struct wire_net *r;

	if (!p || !packet_read(p, skb))
		return 0;
	s = net_certain(sk);
	if (!s) {
		sk = (__u64)kread(struct sk_buff, skb, sk);
		s = net_certain(sk);
	}
	if (!s) {
		sk = packet_socket(p);
		s = net_certain(sk);
	}
	if (!s && !everybody())
		return 0;
	r = side_take(WIRE_NET, sizeof(*r), bpf_ktime_get_ns());
	if (!r)
		return 0;
	packet_fill(r, p, s, sk, NET_EVENT_DROP);
	r->reason = reason;
	side_commit(r);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(weir_drop, struct sk_buff *skb, void *location, __u32 reason)
{
	__u64 receiver = 0;

	if (reason == SKB_CONSUMED)
		return 0;
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb, rx_sk))
		receiver = ctx[3];
	return drop_send((__u64)skb, reason, receiver);
}

static noinline int reset_send(__u64 sk, __u64 skb, __u32 reason)
{
	__u32 user = PACKET_RESET;
	struct packet *p = bpf_map_lookup_elem(&packets, &user);
	struct net_sock *s = net_certain(sk);
	struct wire_net *r;

	/* a reset to an unknown or closed connection has the packet's addresses */
	if ((!s || sk_state(sk) == TCP_LISTENS) && p && skb && packet_read(p, skb)) {
		if (!s) {
			p->name = p->tuple;
			sk = packet_owner(&p->name);
			s = net_certain(sk);
		}
	} else {
		p = NULL;
	}
	if (!s && (!p || !everybody()))
		return 0;
	r = side_take(WIRE_NET, sizeof(*r), bpf_ktime_get_ns());
	if (!r)
		return 0;
	if (p) {
		packet_fill(r, p, s, sk, NET_EVENT_RESET_SENT);
		r->src_port = p->tuple.local_port;
		r->dst_port = p->tuple.peer_port;
		__builtin_memcpy(&r->src, &p->tuple.local, sizeof(r->src));
		__builtin_memcpy(&r->dst, &p->tuple.peer, sizeof(r->dst));
	} else if (s) {
		event_fill(r, s, sk, NET_EVENT_RESET_SENT);
	}
	r->bytes = 0;
	r->packets = 1;
	r->reason = reason;
	side_commit(r);
	return 0;
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(weir_tcp_send_reset, struct sock *sock, struct sk_buff *skb)
{
	__u32 reason = 0;

	if (bpf_core_field_exists(struct trace_event_raw_tcp_send_reset, reason))
		reason = (__u32)ctx[2];
	return reset_send((__u64)sock, (__u64)skb, reason);
}

/* ---- beginning and end ---- */

static __always_inline bool listener_full(__u64 sk)
{
	return kread(struct sock, sk, sk_ack_backlog) > kread(struct sock, sk, sk_max_ack_backlog);
}

/*
 * What a listening socket has dropped since the last look: the kernel has no tracepoint there. 0: nothing. With
 * TCP_DEFER_ACCEPT it also counts the last packet of each handshake, as it drops that one on purpose.
 */
static __always_inline __u32 listener_drops(struct net_sock *s, __u64 sk)
{
	__u32 drops = kread(struct sock, sk, sk_drops.counter), was;

	/* the recorder's look and the socket's end may coincide */
	was = __sync_lock_test_and_set(&s->drops, drops);
	if (BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_accept_queue.rskq_defer_accept) &&
	    !listener_full(sk))
		return 0;
	return drops - was;
}

static __always_inline void listener_fill(struct wire_net *r, struct net_sock *s, __u64 sk,
					  __u32 drops, __u64 now)
{
	event_fill(r, s, sk, NET_EVENT_LISTEN_DROP);
	r->start = s->since;
	r->packets = drops;
	r->reason = listener_full(sk);
	s->since = now;
}

static noinline void listener_send(struct net_sock *s, __u64 sk, __u64 now)
{
	__u32 drops = s ? listener_drops(s, sk) : 0;
	struct wire_net *r = drops ? side_take(WIRE_NET, sizeof(*r), now) : NULL;

	if (!s || !r)
		return;
	listener_fill(r, s, sk, drops, now);
	side_commit(r);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(weir_tcp_state, struct sock *sock, int before, int state)
{
	__u64 sk = (__u64)sock, now;
	struct net_sock *s = net_of(sk);
	__u8 opened = 1;

	if (state == TCP_OPEN)
		bpf_map_update_elem(&net_opened, &sk, &opened, BPF_ANY);
	if (!s || s->proto != PROTO_TCP)
		return 0;
	now = bpf_ktime_get_ns();
	if (state == TCP_OPEN) {
		s->copied = kread(struct tcp_sock, sk, copied_seq);
		s->written = kread(struct tcp_sock, sk, write_seq);
		s->was.acked = kread(struct tcp_sock, sk, snd_una);
		s->in_at = s->out_at = now;
		net_rename(s, sk);
	}
	if (before == TCP_LISTENS) {
		listener_send(s, sk, now);
	} else if (state == TCP_CLOSED) {
		if (before != TCP_SYN_SENT) {
			queue_in(s, sk, now);
			queue_out(s, sk, now);
		}
		sample_send(s, sk, now, true);
	}
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(weir_tcp_end, struct sock *sock)
{
	__u64 sk = (__u64)sock;
	struct net_sock *s = net_of(sk);

	bpf_map_delete_elem(&net_opened, &sk);
	if (!s)
		return 0;
	net_unname(s, sk);
	bpf_map_delete_elem(&net_socks, &sk);
	return 0;
}

/* Runs during recording and at the stop. */
SEC("iter/bpf_map_elem")
int weir_listeners(struct bpf_iter__bpf_map_elem *ctx)
{
	struct net_sock *s = ctx->value;
	__u64 *sk = ctx->key, now = bpf_ktime_get_ns();
	struct wire_net r;
	__u32 drops;

	if (!sk || !s || s->proto != PROTO_TCP || sk_state(*sk) != TCP_LISTENS)
		return 0;
	drops = listener_drops(s, *sk);
	if (!drops) {
		s->since = now;
		return 0;
	}
	__builtin_memset(&r, 0, sizeof(r));
	r.head.type = WIRE_NET;
	r.head.size = sizeof(r);
	r.head.time = now;
	listener_fill(&r, s, *sk, drops, now);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/* At the stop, when no other program runs: the last samples of open connections. */
SEC("iter/bpf_map_elem")
int weir_connections(struct bpf_iter__bpf_map_elem *ctx)
{
	struct net_sock *s = ctx->value;
	__u64 *sk = ctx->key, now = bpf_ktime_get_ns();
	struct wire_net_sample r;
	__u8 state;

	if (!sk || !s || s->proto != PROTO_TCP)
		return 0;
	state = sk_state(*sk);
	if (state == TCP_LISTENS || state == TCP_CLOSED)
		return 0;
	__builtin_memset(&r, 0, sizeof(r));
	r.head.type = WIRE_NET_SAMPLE;
	r.head.size = sizeof(r);
	r.head.time = now;
	if (state != TCP_SYN_SENT) {
		queue_in(s, *sk, now);
		queue_out(s, *sk, now);
	}
	if (sample_empty(s, *sk))
		return 0;
	sample_fill(&r, s, *sk, now);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
