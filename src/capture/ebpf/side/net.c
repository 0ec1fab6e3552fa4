/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/side/net.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "capture/ebpf/calls/running.h"
#include "privilege/privilege.h"

#define LISTENERS_NS (NSEC_PER_SEC / 2) /* between two looks */

_Static_assert(NET_EVENT_RETRANSMIT == 0 && NET_EVENT_RESET_SENT == 1 &&
		       NET_EVENT_RESET_RECEIVED == 2 && NET_EVENT_DROP == 3 &&
		       NET_EVENT_LISTEN_DROP == 4 && NET_EVENT_ZERO_WINDOW == 5,
	       "as in src/bpf/net.bpf.c");
_Static_assert(TCP_STATE_ESTABLISHED == 1 && TCP_STATE_CLOSE == 7 && TCP_STATE_LISTEN == 10,
	       "the kernel's numbers");

/* ---- names ---- */

/* The name of a number in an enumeration of this kernel, without the prefix; NULL: it has none. */
static const char *kernel_word(struct decode *d, const char *enumeration, const char *prefix,
			       uint32_t number)
{
	const struct btf_type *t;
	const struct btf_enum *e;
	int id;

	if (!d->btf && !d->btf_failed) {
		d->btf = btf__load_vmlinux_btf();
		d->btf_failed = !d->btf;
	}
	id = d->btf ? btf__find_by_name_kind(d->btf, enumeration, BTF_KIND_ENUM) : -ENOENT;
	if (id < 0)
		return NULL;
	t = btf__type_by_id(d->btf, (uint32_t)id);
	e = btf_enum(t);
	for (unsigned int i = 0; i < btf_vlen(t); i++) {
		const char *word = btf__name_by_offset(d->btf, e[i].name_off);

		if ((uint32_t)e[i].val == number && word)
			return strncmp(word, prefix, strlen(prefix)) ? word : word + strlen(prefix);
	}
	return NULL;
}

/* "" if there is none. */
static const char *reason_word(struct decode *d, const struct wire_net *w, char buf[static 32])
{
	static const char *const retransmits[] = {[WIRE_RETRANSMIT_TIMEOUT] = "timeout",
						  [WIRE_RETRANSMIT_FAST] = "fast",
						  [WIRE_RETRANSMIT_PROBE] = "probe"};
	const char *word = NULL;

	buf[0] = '\0';
	switch (w->event) {
	case NET_EVENT_RETRANSMIT:
		return w->reason < ARRAY_SIZE(retransmits) && w->reason ? retransmits[w->reason]
									: buf;
	case NET_EVENT_LISTEN_DROP:
		return w->reason ? "backlog full" : buf;
	case NET_EVENT_DROP:
		word = kernel_word(d, "skb_drop_reason", "SKB_DROP_REASON_", w->reason);
		break;
	case NET_EVENT_RESET_SENT:
		if (w->reason)
			word = kernel_word(d, "sk_rst_reason", "SK_RST_REASON_", w->reason);
		break;
	default:
		return buf;
	}
	if (!word && w->reason)
		snprintf(buf, 32, "%u", w->reason);
	return word ? word : buf;
}

/* ---- rows ---- */

static void net_address(struct batch_row *row, unsigned int column, const struct wire_net *w,
			const struct wire_ip *ip, uint16_t port)
{
	char text[64];
	size_t n = address_text(w->family, ip->ip, w->family == AF_INET ? 4 : sizeof(ip->ip), port,
				text, sizeof(text));

	if (n)
		row_set_bytes(row, column, text, n);
}

int decode_net(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_net *w = (const void *)h;
	/* the file's row contains the addresses once it is connected */
	bool named = w->file && w->state != TCP_STATE_SYN_SENT;
	const char *reason;
	char buf[32];
	struct batch_row row;

	if (h->size != sizeof(*w) || w->event >= NET_EVENT_COUNT || w->state >= TCP_STATE_COUNT)
		return -EBADMSG;
	reason = reason_word(d, w, buf);
	row = batch_set_row(out, TABLE_NET);
	row_set(&row, NET_START, (int64_t)(w->start ? w->start : h->time) + d->opt.clock_offset);
	if (w->start)
		row_set(&row, NET_DUR, (int64_t)(h->time - w->start));
	row_set(&row, NET_EVENT, w->event);
	if (w->file)
		row_set(&row, NET_FILE_ID, decode_file_key(d, w->file));
	row_set_if(&row, w->thread, NET_THREAD_ID, w->thread);
	row_set_if(&row, w->state, NET_TCP_STATE, w->state);
	row_set(&row, NET_PACKETS, w->packets);
	row_set_if(&row, w->bytes, NET_BYTES, w->bytes);
	if (*reason)
		row_set_str(&row, NET_REASON, reason);
	if (w->srtt_us)
		row_set(&row, NET_SRTT, w->srtt_us * NSEC_PER_USEC);
	if (!named) {
		net_address(&row, NET_SRC, w, &w->src, w->src_port);
		net_address(&row, NET_DST, w, &w->dst, w->dst_port);
	}
	return row.r;
}

int decode_net_sample(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_net_sample *w = (const void *)h;
	struct batch_row row;

	if (h->size != sizeof(*w) || w->state >= TCP_STATE_COUNT || w->start > h->time)
		return -EBADMSG;
	row = batch_set_row(out, TABLE_NET_SAMPLE);
	row_set(&row, NET_SAMPLE_START, (int64_t)w->start + d->opt.clock_offset);
	row_set(&row, NET_SAMPLE_DUR, (int64_t)(h->time - w->start));
	if (w->file)
		row_set(&row, NET_SAMPLE_FILE_ID, decode_file_key(d, w->file));
	row_set_if(&row, w->thread, NET_SAMPLE_THREAD_ID, w->thread);
	row_set(&row, NET_SAMPLE_TCP_STATE, w->state);
	row_set(&row, NET_SAMPLE_BYTES_OUT, (int64_t)w->bytes_out);
	row_set(&row, NET_SAMPLE_BYTES_IN, (int64_t)w->bytes_in);
	row_set(&row, NET_SAMPLE_PACKETS_OUT, w->packets_out);
	row_set(&row, NET_SAMPLE_PACKETS_IN, w->packets_in);
	row_set(&row, NET_SAMPLE_RETRANSMITS, w->retransmits);
	row_set(&row, NET_SAMPLE_RETRANSMIT_BYTES, (int64_t)w->retransmit_bytes);
	if (w->srtt_us) {
		row_set(&row, NET_SAMPLE_SRTT, w->srtt_us * NSEC_PER_USEC);
		row_set(&row, NET_SAMPLE_RTT_MIN, w->rtt_min_us * NSEC_PER_USEC);
		row_set(&row, NET_SAMPLE_RTT_VAR, w->rtt_var_us * NSEC_PER_USEC);
	}
	if (w->in_read)
		row_set(&row, NET_SAMPLE_IN_WAIT, (int64_t)(w->in_sum / w->in_read));
	if (w->out_acked)
		row_set(&row, NET_SAMPLE_OUT_WAIT, (int64_t)(w->out_sum / w->out_acked));
	row_set(&row, NET_SAMPLE_IN_READ, (int64_t)w->in_read);
	row_set(&row, NET_SAMPLE_OUT_ACKED, w->out_acked);
	row_set(&row, NET_SAMPLE_IN_QUEUED, w->in_queued);
	row_set(&row, NET_SAMPLE_OUT_QUEUED, w->out_queued);
	row_set(&row, NET_SAMPLE_CWND, w->cwnd);
	return row.r;
}

/* ---- polling ---- */

static int look(const struct objects *o, const char *program, struct buf *out)
{
	_privileged_(PRIVILEGE_BPF);
	int prog = object_program(o, OBJECT_NET, program);

	return prog < 0 ? 0 : running_read_map(prog, object_map(o, OBJECT_NET, "net_socks"), out);
}

int net_look(struct net_looks *l, const struct objects *o, struct decode *d, int64_t until,
	     struct batch_set *out, uint64_t *malformed)
{
	int64_t now = clock_monotonic_ns();
	int r = 0;

	if (l->records.len && l->at <= until) {
		r = decode_side_all(d, &l->records, out, malformed);
		buf_clear(&l->records);
	}
	if (r < 0 || now - l->at < LISTENERS_NS || l->records.len)
		return r;
	/* the next look counts what could not be read */
	r = look(o, "weir_listeners", &l->records);
	l->at = clock_monotonic_ns();
	return r == -ENOMEM ? r : 0;
}

int net_last(struct net_looks *l, const struct objects *o)
{
	int r = look(o, "weir_listeners", &l->records),
	    s = look(o, "weir_connections", &l->records);

	return r < 0 ? r : s;
}

int net_give(struct net_looks *l, struct decode *d, struct batch_set *out, uint64_t *malformed)
{
	int r = decode_side_all(d, &l->records, out, malformed);

	buf_clear(&l->records);
	return r;
}
