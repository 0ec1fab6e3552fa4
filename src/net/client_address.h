/* SPDX-License-Identifier: Apache-2.0 */
/* client_address.h: the parts of a store's address (client.h). Inside net/ only. */
#pragma once

#include "net/client.h"

#define NET_NODES_MAX 64

struct net_address {
	char *nodes[NET_NODES_MAX]; /* "host:port" */
	size_t node_count;
	char *database, *ca, *user, *password;
	bool tls;
	int64_t timeout_ns; /* 0: the default */
};

int net_address_parse(struct net_address *a, const char *text, const struct net_defaults *d,
		      struct error *err);
void net_address_free(struct net_address *a);
