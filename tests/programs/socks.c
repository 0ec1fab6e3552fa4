/* SPDX-License-Identifier: Apache-2.0 */
/* socks.c: sockets of each family, both ends in one thread where that is possible. */
#include "truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static char buf[65536];

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
	socklen_t len;
	char text[128];
};

static void name_address(struct address *a)
{
	char ip[64];

	if (a->any.sa_family == AF_INET)
		snprintf(a->text, sizeof(a->text), "%s:%d",
			 inet_ntop(AF_INET, &a->in.sin_addr, ip, sizeof(ip)),
			 ntohs(a->in.sin_port));
	else
		snprintf(a->text, sizeof(a->text), "[%s]:%d",
			 inet_ntop(AF_INET6, &a->in6.sin6_addr, ip, sizeof(ip)),
			 ntohs(a->in6.sin6_port));
}

static struct address loopback(int family)
{
	struct address a = {0};

	a.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a.len = sizeof(a.in);
	} else {
		a.in6.sin6_addr = in6addr_loopback;
		a.len = sizeof(a.in6);
	}
	name_address(&a);
	return a;
}

/* Binds to any free port and returns what it became. */
static int bound(int family, int type, struct address *a)
{
	int fd = (int)DO(socket, family, type, 0);

	if (fd < 0)
		return fd;
	*a = loopback(family);
	if (DO(bind, fd, &a->any, a->len) < 0) {
		MUST(close, fd);
		return -1;
	}
	is_peer(a->text);
	MUST(getsockname, fd, &a->any, &a->len);
	name_address(a);
	is_local(a->text);
	return fd;
}

/* Loopback may take a while on a loaded machine, and the descriptor does not block. */
static void arrived(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	MUST(poll, &p, 1, -1);
}

/* The room for the address ends before it does: what lies behind is of another time, the new socket has it. */
static void accept_short(int listener, const struct address *server)
{
	struct sockaddr_storage old = server->storage;
	int fd = (int)MUST(socket, server->any.sa_family, SOCK_STREAM, 0), other;
	struct address client = {.len = sizeof(client.storage)};
	socklen_t len = 4;

	MUST(connect, fd, &server->any, server->len);
	MUST(getsockname, fd, &client.any, &client.len);
	name_address(&client);
	other = (int)MUST(accept, listener, &old, &len);
	is_peer(client.text);
	MUST(close, other);
	MUST(close, fd);
}

static int stream(int family)
{
	struct address server, client, seen = {.len = sizeof(seen.storage)};
	struct msghdr message;
	struct iovec parts[2] = {{buf, 10}, {buf + 10, 22}};
	int listener = bound(family, SOCK_STREAM, &server), fd, other, one = 1;

	if (listener < 0) {
		skip_reason = family == AF_INET6 ? "no IPv6" : "no IPv4";
		return 77;
	}
	MUST(setsockopt, listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	MUST(listen, listener, 16);
	is_local(server.text);
	fd = (int)MUST(socket, family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	MUST(connect, fd, &server.any, server.len);
	is_peer(server.text);
	is_remote(server.text);
	other = (int)MUST(accept4, listener, &seen.any, &seen.len, SOCK_NONBLOCK);
	name_address(&seen);
	is_peer(seen.text);
	client = seen;
	MUST(setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	accept_short(listener, &server);
	MUST(write, fd, buf, 100);
	is_local(client.text);
	is_remote(server.text);
	arrived(other);
	MUST(read, other, buf, 1000);
	is_local(server.text);
	is_remote(client.text);
	FAILS(EAGAIN, read, other, buf, 1000);
	MUST(sendto, other, buf, 50, MSG_NOSIGNAL, 0, 0);
	is_remote(client.text);
	MUST(recvfrom, fd, buf, 1000, MSG_PEEK, 0, 0);
	MUST(recvfrom, fd, buf, 20, 0, 0, 0);
	is_remote(server.text);
	message = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
	MUST(sendmsg, fd, &message, 0);
	is_size(32);
	arrived(other);
	MUST(recvmsg, other, &message, 0);
	is_size(32);
	MUST(getpeername, fd, &seen.any, (&(socklen_t){sizeof(seen.storage)}));
	MUST(getsockopt, fd, SOL_SOCKET, SO_ERROR, buf, (&(socklen_t){4}));
	MUST(writev, fd, parts, 2);
	is_size(32);
	MUST(shutdown, fd, SHUT_WR);
	is_remote(server.text);
	arrived(other);
	MUST(read, other, buf, 1000);
	arrived(other);
	MUST(read, other, buf, 1000); /* end of stream */
	MUST(close, other);
	MUST(close, fd);
	MUST(close, listener);
	fd = (int)MUST(socket, family, SOCK_STREAM, 0);
	FAILS(ECONNREFUSED, connect, fd, &server.any, server.len);
	is_peer(server.text);
	FAILS(ENOTCONN, getpeername, fd, &seen.any, (&(socklen_t){sizeof(seen.storage)}));
	FAILS(EPIPE, sendto, fd, buf, 10, MSG_NOSIGNAL, 0, 0);
	MUST(close, fd);
	return 0;
}

static int run_tcp4(void)
{
	return stream(AF_INET);
}
static int run_tcp6(void)
{
	return stream(AF_INET6);
}

/* Messages that still say what came before, and datagrams longer than the room for them. */
static void leftovers(int one, int two, const struct address *a, const struct address *b)
{
	struct address from = {.len = sizeof(from.storage)};
	struct iovec room = {buf, 500};
	struct mmsghdr many[3] = {0};

	for (int i = 0; i < 3; i++)
		many[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &room, .msg_iovlen = 1},
					   .msg_len = 10};
	many[0].msg_hdr.msg_name = &from.any;
	many[0].msg_hdr.msg_namelen = sizeof(from.storage);
	MUST(sendto, one, buf, 30, 0, &b->any, b->len);
	MUST(recvmmsg, two, many, 3, MSG_PEEK | MSG_WAITFORONE, 0);
	is_peer(a->text);
	is_any("moved", 0);
	room.iov_len = 10;
	MUST(recvmmsg, two, many, 3, MSG_TRUNC | MSG_WAITFORONE, 0);
	is_peer(a->text);
	is_any("moved", 10);
	FAILS(EAGAIN, recvmmsg, two, many, 3, MSG_DONTWAIT, 0);
	is_any("peerless", 1);
	is_any("moved", 0);
	FAILS(EAGAIN, recvmsg, two, &many[0].msg_hdr, MSG_DONTWAIT);
	is_any("peerless", 1);
	MUST(sendto, one, buf, 30, 0, &b->any, b->len);
	MUST(recvfrom, two, buf, 5, MSG_PEEK | MSG_TRUNC, 0, 0);
	is_any("moved", 0);
	MUST(recvmsg, two, &many[0].msg_hdr, MSG_TRUNC);
	is_any("moved", 10);
}

/* Who gives too little room for an address gets its beginning and its whole length; what lies behind is of another time. */
static void cut_short(int one, int two, const struct address *b)
{
	struct sockaddr_storage old = b->storage; /* of the right family, with a port and a host */
	struct iovec room = {buf, 500};
	struct msghdr message = {
		.msg_name = &old, .msg_namelen = 6, .msg_iov = &room, .msg_iovlen = 1};
	struct mmsghdr many = {.msg_hdr = message};
	socklen_t len = 4;

	MUST(getsockname, one, &old, &len);
	is_any("peerless", 1);
	MUST(sendto, one, buf, 30, 0, &b->any, b->len);
	MUST(sendto, one, buf, 30, 0, &b->any, b->len);
	MUST(sendto, one, buf, 30, 0, &b->any, b->len);
	len = 2;
	MUST(recvfrom, two, buf, 500, 0, &old, &len);
	is_any("peerless", 1);
	MUST(recvmsg, two, &message, 0);
	is_any("peerless", 1);
	MUST(recvmmsg, two, &many, 1, 0, 0);
	is_any("peerless", 1);
	is_any("moved", 30);
}

static int datagram(int family)
{
	struct address a, b, from = {.len = sizeof(from.storage)};
	struct iovec parts[3] = {{buf, 10}, {buf + 10, 22}, {buf + 100, 500}};
	struct mmsghdr many[3];
	struct msghdr message;
	int one = bound(family, SOCK_DGRAM, &a), two = bound(family, SOCK_DGRAM, &b);

	if (one < 0 || two < 0) {
		skip_reason = family == AF_INET6 ? "no IPv6" : "no IPv4";
		return 77;
	}
	MUST(sendto, one, buf, 77, 0, &b.any, b.len);
	is_peer(b.text);
	MUST(recvfrom, two, buf, 1000, 0, &from.any, &from.len);
	is_peer(a.text);
	MUST(sendto, one, buf, 0, 0, &b.any, b.len);
	is_peer(b.text);
	MUST(recvfrom, two, buf, 1000, 0, 0, 0);
	message = (struct msghdr){
		.msg_iov = parts, .msg_iovlen = 2, .msg_name = &b.any, .msg_namelen = b.len};
	MUST(sendmsg, one, &message, 0);
	is_size(32);
	is_peer(b.text);
	message = (struct msghdr){.msg_iov = parts,
				  .msg_iovlen = 3,
				  .msg_name = &from.any,
				  .msg_namelen = sizeof(from.storage)};
	MUST(recvmsg, two, &message, 0);
	is_size(532);
	is_peer(a.text);
	memset(many, 0, sizeof(many));
	for (int i = 0; i < 3; i++)
		many[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i],
						  .msg_iovlen = 1,
						  .msg_name = &b.any,
						  .msg_namelen = b.len};
	MUST(sendmmsg, one, many, 3, 0);
	is_size(532);
	for (int i = 0; i < 3; i++)
		many[i].msg_hdr = (struct msghdr){.msg_iov = &parts[2], .msg_iovlen = 1};
	MUST(recvmmsg, two, many, 3, 0, 0);
	is_size(1500);
	is_any("moved", 532);
	FAILS(EAGAIN, recvfrom, two, buf, 10, MSG_DONTWAIT, 0, 0);
	leftovers(one, two, &a, &b);
	cut_short(one, two, &b);
	MUST(connect, one, &b.any, b.len);
	is_peer(b.text);
	MUST(write, one, buf, 5);
	is_remote(b.text);
	MUST(read, two, buf, 5);
	FAILS(EMSGSIZE, sendto, one, buf, 65536, 0, 0, 0);
	MUST(close, one);
	MUST(close, two);
	return 0;
}

static int run_udp4(void)
{
	return datagram(AF_INET);
}
static int run_udp6(void)
{
	return datagram(AF_INET6);
}

static struct address unix_address(const char *path, size_t path_len)
{
	struct address a = {.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_len)};

	a.un.sun_family = AF_UNIX;
	memcpy(a.un.sun_path, path, path_len);
	return a;
}

static int run_unix(void)
{
	struct address named = unix_address("./sock", 7), hidden = unix_address("\0weir-test", 10),
		       none = unix_address("none", 5);
	struct address from = {.len = sizeof(from.storage)};
	int listener = (int)MUST(socket, AF_UNIX, SOCK_STREAM, 0), fd, other, pair[2], one, two;
	char text[64];

	MUST(bind, listener, &named.any, named.len);
	is_peer("unix:./sock");
	MUST(listen, listener, 8);
	is_local("unix:./sock");
	fd = (int)MUST(socket, AF_UNIX, SOCK_STREAM, 0);
	MUST(connect, fd, &named.any, named.len);
	is_peer("unix:./sock");
	is_remote("unix:./sock");
	other = (int)MUST(accept, listener, 0, 0);
	MUST(write, fd, buf, 100);
	is_remote("unix:./sock");
	is_any("peer_ino", ino_of(other));
	MUST(read, other, buf, 1000);
	is_local("unix:./sock");
	is_any("peer_ino", ino_of(fd));
	MUST(close, other);
	FAILS(EPIPE, write, fd, buf, 100);
	MUST(close, fd);
	MUST(close, listener);
	fd = (int)MUST(socket, AF_UNIX, SOCK_STREAM, 0);
	FAILS(ENOENT, connect, fd, &none.any, none.len);
	is_peer("unix:none");
	FAILS(ECONNREFUSED, connect, fd, &named.any, named.len);
	is_peer("unix:./sock");
	MUST(close, fd);
	/* The abstract name carries the process id, so that two runs do not meet. */
	snprintf(text, sizeof(text), "%cweir-%d", 0, getpid());
	hidden = unix_address(text, 1 + strlen(text + 1));
	one = (int)MUST(socket, AF_UNIX, SOCK_DGRAM, 0);
	two = (int)MUST(socket, AF_UNIX, SOCK_DGRAM, 0);
	MUST(bind, one, &hidden.any, hidden.len);
	snprintf(text, sizeof(text), "unix:@weir-%d", getpid());
	is_peer(text);
	MUST(sendto, two, buf, 30, 0, &hidden.any, hidden.len);
	is_peer(text);
	MUST(recvfrom, one, buf, 100, 0, &from.any, &from.len);
	is_local(text);
	MUST(close, one);
	MUST(close, two);
	MUST(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
	MUST(write, pair[0], buf, 30);
	is_any("peer_ino", ino_of(pair[1]));
	MUST(read, pair[1], buf, 100);
	is_any("peer_ino", ino_of(pair[0]));
	MUST(close, pair[0]);
	MUST(close, pair[1]);
	MUST(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair);
	MUST(write, pair[0], buf, 30);
	MUST(read, pair[1], buf, 10);
	FAILS(EAGAIN, read, pair[1], buf, 10);
	MUST(close, pair[0]);
	MUST(close, pair[1]);
	FAILS(EAFNOSUPPORT, socket, 77, SOCK_STREAM, 0);
	FAILS(ENOTSOCK, listen, 0, 1);
	FAILS(EBADF, bind, 77, &named.any, named.len);
	return 0;
}

/* A descriptor that comes in a message: the receiver uses a file that it never opened. */
static int receiver(void *arg)
{
	int sock = *(int *)arg, fd;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = &(struct iovec){buf, 1},
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	MUST(recvmsg, sock, &message, 0);
	is_size(1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	MUST(write, fd, buf, 33);
	is_file("passed");
	is_pos(5);
	is_inode(fd);
	MUST(close, fd);
	is_file("passed");
	return 0;
}

static int run_scm_rights(void)
{
	int pair[2], fd, pid;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &(struct iovec){buf, 1},
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	MUST(socketpair, AF_UNIX, SOCK_DGRAM, 0, pair);
	pid = child(receiver, &pair[1]);
	fd = (int)MUST(openat, AT_FDCWD, "passed", O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(write, fd, buf, 5);
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	MUST(sendmsg, pair[0], &message, 0);
	is_size(1);
	child_join(pid);
	MUST(close, fd);
	MUST(close, pair[0]);
	MUST(close, pair[1]);
	return 0;
}

const struct work_case sock_cases[] = {
	{"tcp4", run_tcp4, "TCP over IPv4"},
	{"tcp6", run_tcp6, "TCP over IPv6"},
	{"udp4", run_udp4, "UDP over IPv4, sendmmsg and recvmmsg"},
	{"udp6", run_udp6, "UDP over IPv6"},
	{"unix", run_unix, "unix sockets: named, abstract, pairs"},
	{"scm_rights", run_scm_rights, "a descriptor sent to another process"},
	{0},
};
