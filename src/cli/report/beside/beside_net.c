/* SPDX-License-Identifier: Apache-2.0 */
/* beside_net.c: `weir report net`: traffic and problems of each connection, from the tables net_sample and net. */
#include <errno.h>
#include <string.h>

#include "cli/report/beside/beside.h"

const struct answer_column beside_net_columns[BESIDE_NET_COLUMNS] = {
	BESIDE_SIZE("bytes", .programs = true),
	BESIDE_SIZE("sent"),
	BESIDE_SIZE("received"),
	BESIDE_DUR("rtt", .gives = 3),
	BESIDE_DUR("rtt_min", .gives = 8),
	BESIDE_COUNT("retransmits", .alarm = true, .gives = 1),
	{"share", {QUERY_TEXT}, .people = true, .fixed = true, .gives = 7},
	{"retransmit_share", {QUERY_FLOAT}, .programs = true},
	BESIDE_DUR("in_wait", .gives = 4),
	BESIDE_DUR("~out_wait", .people = true, .gives = 5),
	BESIDE_DUR("out_wait", .programs = true),
	BESIDE_COUNT("resets", .alarm = true, .gives = 2),
	BESIDE_COUNT("drops", .alarm = true, .gives = 1),
	BESIDE_DUR("closed", .gives = 6),
	{"process", {QUERY_TEXT}, .gives = 9},
	{"connection", {QUERY_TEXT}},
};

struct connection {
	int64_t file, thread;  /* + 1; 0: none */
	struct bytes src, dst; /* without a file; owned */
	int64_t sent, received, packets_out;
	int64_t rtt_packets, rtt_min;	 /* 0: none */
	double rtt_sum, in_sum, out_sum; /* weighted by the next and by rtt_packets */
	int64_t in_bytes, out_bytes;
	int64_t retransmits, resets, drops, closed;
};

static int take_sample(void *arg, const struct batch *b, size_t row)
{
	struct beside_groups *all = arg;
	int64_t file = batch_get(b, NET_SAMPLE_FILE_ID, row, -1), packets, n;
	struct connection *c;

	c = beside_group(all, (uint64_t)file);
	if (!c)
		return -ENOMEM;
	c->file = file + 1;
	c->thread = batch_get(b, NET_SAMPLE_THREAD_ID, row, -1) + 1;
	c->sent += batch_get(b, NET_SAMPLE_BYTES_OUT, row, 0);
	c->received += batch_get(b, NET_SAMPLE_BYTES_IN, row, 0);
	packets = batch_get(b, NET_SAMPLE_PACKETS_OUT, row, 0);
	c->packets_out += packets;
	c->retransmits += batch_get(b, NET_SAMPLE_RETRANSMITS, row, 0);
	if (!batch_is_null(b, NET_SAMPLE_SRTT, row)) {
		packets += batch_get(b, NET_SAMPLE_PACKETS_IN, row, 0) + 1;
		c->rtt_packets += packets;
		c->rtt_sum += (double)batch_get(b, NET_SAMPLE_SRTT, row, 0) * (double)packets;
		n = batch_get(b, NET_SAMPLE_RTT_MIN, row, 0);
		c->rtt_min = c->rtt_min ? MIN(c->rtt_min, n) : n;
	}
	n = batch_get(b, NET_SAMPLE_IN_READ, row, 0);
	c->in_bytes += n;
	c->in_sum += (double)batch_get(b, NET_SAMPLE_IN_WAIT, row, 0) * (double)n;
	n = batch_get(b, NET_SAMPLE_OUT_ACKED, row, 0);
	c->out_bytes += n;
	c->out_sum += (double)batch_get(b, NET_SAMPLE_OUT_WAIT, row, 0) * (double)n;
	return 0;
}

/* The group of both addresses, for packets without a socket. */
static struct connection *of_addresses(struct beside_groups *all, const struct batch *b, size_t row)
{
	struct bytes src = batch_get_bytes(b, NET_SRC, row), dst = batch_get_bytes(b, NET_DST, row);
	uint64_t hash = hash_bytes(src.data, src.len) * 31 ^ hash_bytes(dst.data, dst.len);
	struct connection *c = beside_group(all, hash | 1ull << 63);
	uint8_t *copy;

	if (!c || c->src.data || c->file || !src.len || !dst.len)
		return c;
	copy = malloc(src.len + dst.len);
	if (!copy)
		return NULL;
	memcpy(copy, src.data, src.len);
	memcpy(copy + src.len, dst.data, dst.len);
	c->src = (struct bytes){copy, src.len};
	c->dst = (struct bytes){copy + src.len, dst.len};
	return c;
}

static int take_event(void *arg, const struct batch *b, size_t row)
{
	struct beside_groups *all = arg;
	int64_t file = batch_get(b, NET_FILE_ID, row, -1),
		packets = batch_get(b, NET_PACKETS, row, 0);
	struct connection *c;

	c = file >= 0 ? beside_group(all, (uint64_t)file) : of_addresses(all, b, row);
	if (!c)
		return -ENOMEM;
	c->file = file + 1;
	if (!c->thread)
		c->thread = batch_get(b, NET_THREAD_ID, row, -1) + 1;
	switch (batch_get(b, NET_EVENT, row, -1)) {
	case NET_EVENT_RETRANSMIT:
		/* the samples of a connection include its own */
		if (batch_get(b, NET_TCP_STATE, row, -1) == TCP_STATE_LISTEN)
			c->retransmits += packets;
		break;
	case NET_EVENT_RESET_SENT:
	case NET_EVENT_RESET_RECEIVED:
		c->resets++;
		break;
	case NET_EVENT_DROP:
	case NET_EVENT_LISTEN_DROP:
		c->drops += packets;
		break;
	case NET_EVENT_ZERO_WINDOW:
		c->closed += batch_get(b, NET_DUR, row, 0);
		break;
	default:
		break;
	}
	return 0;
}

static void put_mean(struct answer_list *t, double sum, int64_t weight)
{
	beside_put_known(t, weight > 0 ? (int64_t)(sum / (double)weight) : -1);
}

static void put_share(struct answer_list *t, const struct connection *c)
{
	double share = c->packets_out ? (double)c->retransmits / (double)c->packets_out : 0;
	char text[32] = "-";

	if (c->retransmits && c->packets_out)
		snprintf(text, sizeof(text), "%.1f%%", 100 * share);
	answer_list_str(t, text);
	if (c->packets_out)
		answer_list_float(t, share);
	else
		answer_list_null(t);
}

static int put_addresses(struct answer_list *t, const struct connection *c)
{
	_cleanup_buf_ struct buf b = {0};
	int e = buf_append(&b, c->src.data, c->src.len);

	e = e < 0 ? e : buf_printf(&b, "->");
	e = e < 0 ? e : buf_append(&b, c->dst.data, c->dst.len);
	if (e >= 0)
		answer_list_text(t, (struct bytes){b.data, b.len});
	return e;
}

static int put_connection(struct report *r, struct answer_list *t, const struct connection *c)
{
	int e;

	answer_list_int(t, c->sent + c->received);
	answer_list_int(t, c->sent);
	answer_list_int(t, c->received);
	put_mean(t, c->rtt_sum, c->rtt_packets);
	beside_put_known(t, c->rtt_min ? c->rtt_min : -1);
	answer_list_int(t, c->retransmits);
	put_share(t, c);
	put_mean(t, c->in_sum, c->in_bytes);
	put_mean(t, c->out_sum, c->out_bytes);
	put_mean(t, c->out_sum, c->out_bytes);
	answer_list_int(t, c->resets);
	answer_list_int(t, c->drops);
	answer_list_int(t, c->closed);
	e = beside_put_process(r, t, c->thread - 1);
	if (e < 0)
		return e;
	if (!c->file)
		return put_addresses(t, c);
	answer_list_text(t, dims_file_version_name(r->dims, c->file - 1));
	return 0;
}

static void connections_free(struct beside_groups *all)
{
	struct connection *c = all->all;

	for (size_t i = 0; i < all->count; i++)
		free((void *)c[i].src.data);
	beside_groups_free(all);
}

int beside_net(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(connections_free) struct beside_groups all = {.size = sizeof(struct connection)};
	int e = beside_scan(r, TABLE_NET_SAMPLE, ~0ull, BESIDE_FILES, NET_SAMPLE_FILE_ID,
			    take_sample, &all);

	e = e < 0 ? e
		  : beside_scan(r, TABLE_NET, ~0ull, BESIDE_FILES, NET_FILE_ID, take_event, &all);
	for (size_t i = 0; e >= 0 && i < all.count; i++)
		e = put_connection(r, t, (struct connection *)all.all + i);
	return e;
}
