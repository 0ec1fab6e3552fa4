// SPDX-License-Identifier: Apache-2.0
/* peer.c: determines which user of this machine is at the other end of a connection over 127.0.0.1. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "net/internal.h"

/* The other end is also a socket of this machine: the kernel finds it by both addresses, swapped. */
static int peer_socket(int fd, struct inet_diag_sockid *ret)
{
	struct sockaddr_in here, there;
	socklen_t len = sizeof(here), other = sizeof(there);

	if (getsockname(fd, (struct sockaddr *)&here, &len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &other) < 0)
		return -errno;
	if (here.sin_family != AF_INET || there.sin_family != AF_INET)
		return -EAFNOSUPPORT;
	*ret = (struct inet_diag_sockid){
		.idiag_sport = there.sin_port,
		.idiag_dport = here.sin_port,
		.idiag_src = {there.sin_addr.s_addr},
		.idiag_dst = {here.sin_addr.s_addr},
		.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
	};
	return 0;
}

uid_t peer_uid(int fd)
{
	_cleanup_close_ int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 what;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.what = {.sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0u},
	};
	union {
		struct nlmsghdr head;
		char room[1024];
	} answer;
	struct inet_diag_msg found;
	ssize_t n;

	if (diag < 0 || peer_socket(fd, &ask.what.id) < 0 ||
	    send(diag, &ask, sizeof(ask), MSG_NOSIGNAL) != sizeof(ask))
		return PEER_UNKNOWN;
	/* the answer is available when send() returns */
	n = recv(diag, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(found)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return PEER_UNKNOWN;
	memcpy(&found, NLMSG_DATA(&answer.head), sizeof(found));
	return found.idiag_uid;
}
