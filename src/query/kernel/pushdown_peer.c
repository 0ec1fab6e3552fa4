/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown_peer.c: tests of addresses, which the kernel has as bytes and the language as text. A text that is not an
 * address as weir writes it matches none, and is left to user space.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "query/kernel/pushdown_internal.h"

#define PORT_DIGITS 5
#define PORT_MAX    65535
#define SAID	    (2 * PEER_BYTES) /* where the text begins, behind address and mask */
#define UNIX_BYTES  108		     /* of sun_path */

static struct bytes pushdown_peer_slice(struct bytes t, size_t from, size_t to)
{
	assert(from <= to && to <= t.len);
	return (struct bytes){t.data + from, to - from};
}

static bool pushdown_peer_begins(struct bytes t, const char *with)
{
	return t.len >= strlen(with) && !memcmp(t.data, with, strlen(with));
}

static bool pushdown_peer_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* The number of a port as it is written: "443". -1: not a port. */
static int32_t port_of(struct bytes t)
{
	int32_t port = 0;

	if (!t.len || t.len > PORT_DIGITS || (t.data[0] == '0' && t.len > 1))
		return -1;
	for (size_t i = 0; i < t.len; i++) {
		if (!pushdown_peer_is_digit(t.data[i]))
			return -1;
		port = port * 10 + (t.data[i] - '0');
	}
	return port <= PORT_MAX ? port : -1;
}

/* "10.0.0.1", "::1": only as it is written, else it is the text of no address. */
static bool address_of(int family, struct bytes t, struct call_filter_name *n)
{
	char text[INET6_ADDRSTRLEN], again[INET6_ADDRSTRLEN];
	size_t bytes = family == AF_INET ? 4 : PEER_BYTES;

	if (t.len >= sizeof(text) || (t.len && memchr(t.data, 0, t.len)))
		return false;
	if (t.len)
		memcpy(text, t.data, t.len);
	text[t.len] = '\0';
	if (inet_pton(family, text, n->text) != 1 ||
	    !inet_ntop(family, n->text, again, sizeof(again)) || strcmp(text, again) != 0)
		return false;
	static_assert(sizeof(struct in6_addr) == PEER_BYTES, "an address fits");
	static_assert(SAID < FILTER_NAME_MAX, "there is room for the text behind the mask");
	n->how = family == AF_INET ? PEER_INET : PEER_INET6;
	memset(n->text + PEER_BYTES, 0xff, bytes);
	return true;
}

/* What begins an IPv4 address, in whole numbers: "10.0." of "10.0.1". Returns how many bytes of the text that is. */
static size_t octets_of(struct bytes t, struct call_filter_name *n)
{
	size_t used = 0;

	for (size_t octet = 0; octet < 4; octet++) {
		size_t at = used;
		int32_t v;

		while (at < t.len && pushdown_peer_is_digit(t.data[at]))
			at++;
		v = at < t.len && t.data[at] == (octet == 3 ? ':' : '.')
			    ? port_of(pushdown_peer_slice(t, used, at))
			    : -1;
		if (v < 0 || v > 255)
			break;
		n->text[octet] = (char)v;
		n->text[PEER_BYTES + octet] = '\xff';
		n->how = PEER_INET;
		used = at + 1;
	}
	assert(used <= t.len);
	return used;
}

static enum pushed pushdown_peer_push(struct pusher *p, struct call_filter_name *n,
				      struct bytes said, bool want)
{
	if (said.len > sizeof(n->text) - SAID)
		return PUSHED_NONE;
	memcpy(n->text + SAID, said.data, said.len);
	n->len = (uint32_t)said.len;
	n->opposite = !want;
	return push_file_test(p, FILTER_PEER, n) ? PUSHED_PART : PUSHED_NONE;
}

static enum pushed push_unix(struct pusher *p, struct bytes name, bool want)
{
	struct call_filter_name n = {
		.field = FILTER_PEER, .how = PEER_UNIX, .opposite = !want, .value = -1};

	static_assert(UNIX_BYTES <= FILTER_NAME_MAX, "names of unix sockets fit");
	if (!name.len || name.len > UNIX_BYTES || memchr(name.data, 0, name.len))
		return PUSHED_NONE;
	memcpy(n.text, name.data, name.len);
	n.len = (uint32_t)name.len;
	if (n.text[0] == '@')
		n.text[0] = '\0';
	return push_file_test(p, FILTER_PEER, &n) ? PUSHED_PART : PUSHED_NONE;
}

enum pushed push_peer(struct pusher *p, struct bytes text, bool want)
{
	struct call_filter_name n = {.field = FILTER_PEER};
	const uint8_t *colon = text.len ? memrchr(text.data, ':', text.len) : NULL;
	struct bytes host;

	if (pushdown_peer_begins(text, "unix:"))
		return push_unix(p, pushdown_peer_slice(text, 5, text.len), want);
	if (!colon)
		return PUSHED_NONE;
	host = pushdown_peer_slice(text, 0, (size_t)(colon - text.data));
	n.value = port_of(pushdown_peer_slice(text, host.len + 1, text.len));
	if (n.value < 0)
		return PUSHED_NONE;
	if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']')
		return address_of(AF_INET6, pushdown_peer_slice(host, 1, host.len - 1), &n)
			       ? pushdown_peer_push(p, &n, text, want)
			       : PUSHED_NONE;
	return address_of(AF_INET, host, &n) ? pushdown_peer_push(p, &n, text, want) : PUSHED_NONE;
}

enum pushed push_peer_glob(struct pusher *p, struct bytes glob, bool want)
{
	struct call_filter_name n = {
		.field = FILTER_PEER, .how = PEER_ANY, .pattern = true, .value = -1};
	size_t before = 0, after = glob.len, used;
	bool exact = true;

	while (before < glob.len && !memchr("*?[\\", glob.data[before], 4))
		before++;
	if (before == glob.len || memchr(glob.data, '[', glob.len) ||
	    memchr(glob.data, '\\', glob.len) || memchr(glob.data, '/', glob.len))
		return PUSHED_NONE;
	while (glob.data[after - 1] != '*' && glob.data[after - 1] != '?')
		after--;
	assert(before < after); /* the first special character is one of these two */
	for (size_t i = before; i < after; i++)
		exact &= glob.data[i] == '*';
	used = octets_of(pushdown_peer_slice(glob, 0, before), &n);
	exact &= used == before;
	if (after < glob.len && glob.data[after] == ':')
		n.value = port_of(pushdown_peer_slice(glob, after + 1, glob.len));
	exact &= after == glob.len || n.value >= 0;
	/* "1.2.3.4:*:80" is nothing's text; what is not exact may only let pass too much */
	if ((n.how == PEER_ANY && n.value < 0) || (!want && !exact) ||
	    (used && glob.data[used - 1] == ':' && n.value >= 0))
		return PUSHED_NONE;
	return pushdown_peer_push(p, &n, glob, want);
}
