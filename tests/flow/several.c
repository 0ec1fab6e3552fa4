// SPDX-License-Identifier: Apache-2.0
/*
 * several named|connected|bound|unix: a process sends datagrams, three in a call, and its parent receives up to four in a
 * call. named: each has an address; connected, bound: the receiver is connected, or takes no addresses. Prints the size of
 * each datagram sent.
 *
 * several peers: two processes send datagrams, each in turn to one of two sockets of their parent, three in a call, and it
 * takes all that have arrived in one call, with their addresses. Prints "size from to" of each datagram sent, with ports.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 12
#define SENT   3
#define TAKEN  4
#define ROOM   9000
#define PARTED 50

static struct sockaddr_in bound(int fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	bind(fd, (void *)&a, len);
	getsockname(fd, (void *)&a, &len);
	return a;
}

static void sends(int fd, struct sockaddr_in *to, int go)
{
	static char room[SENT][ROOM];

	for (int i = 0; i < ROUNDS; i++) {
		struct iovec parts[SENT][2];
		struct mmsghdr m[SENT] = {0};

		for (int k = 0; k < SENT; k++) {
			size_t size = (size_t)(100 + i * 10 + k + (k == SENT - 1 ? 5000 : 0));

			getrandom(room[k], size, 0);
			parts[k][0] = (struct iovec){room[k], PARTED};
			parts[k][1] = (struct iovec){room[k] + PARTED, size - PARTED};
			m[k].msg_hdr = (struct msghdr){.msg_iov = parts[k], .msg_iovlen = 2};
			if (to) {
				m[k].msg_hdr.msg_name = to;
				m[k].msg_hdr.msg_namelen = sizeof(*to);
			}
			printf("%zu\n", size);
		}
		sendmmsg(fd, m, SENT, 0);
		if (i % 4 == 3)
			read(go, room, 1);
	}
	fflush(stdout);
	_exit(0);
}

static void receives(int fd, bool named, int go)
{
	static char room[TAKEN][ROOM];
	struct sockaddr_in from[TAKEN];

	for (int got = 0; got < ROUNDS * SENT;) {
		struct iovec parts[TAKEN];
		struct mmsghdr m[TAKEN] = {0};
		int n;

		for (int k = 0; k < TAKEN; k++) {
			parts[k] = (struct iovec){room[k], ROOM};
			m[k].msg_hdr = (struct msghdr){.msg_iov = &parts[k], .msg_iovlen = 1};
			if (named) {
				m[k].msg_hdr.msg_name = &from[k];
				m[k].msg_hdr.msg_namelen = sizeof(from[k]);
			}
		}
		n = recvmmsg(fd, m, TAKEN, MSG_WAITFORONE, NULL);
		for (int k = 0; k < n; k++)
			if (++got % (4 * SENT) == 0)
				write(go, "x", 1);
	}
}

static void sends_to(int fd, int from, const struct sockaddr_in to[2], int first)
{
	char room[SENT][ROOM];

	for (int i = 0; i < ROUNDS; i++) {
		struct iovec parts[SENT];
		struct mmsghdr m[SENT] = {0};

		for (int k = 0; k < SENT; k++) {
			const struct sockaddr_in *one = &to[(i + k) % 2];
			size_t size = (size_t)(first + i * SENT + k);

			getrandom(room[k], size, 0);
			parts[k] = (struct iovec){room[k], size};
			m[k].msg_hdr = (struct msghdr){.msg_name = (void *)one,
						       .msg_namelen = sizeof(*one),
						       .msg_iov = &parts[k],
						       .msg_iovlen = 1};
			printf("%zu %d %d\n", size, from, ntohs(one->sin_port));
		}
		sendmmsg(fd, m, SENT, 0);
	}
	fflush(stdout);
	_exit(0);
}

static void peers(void)
{
	static char room[ROUNDS * SENT][ROOM];
	static struct sockaddr_in from[ROUNDS * SENT];
	struct sockaddr_in to[2];
	int fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
		to[i] = bound(fds[i]);
	}
	for (int i = 0; i < 2; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		struct sockaddr_in own = bound(fd);

		if (!fork())
			sends_to(fd, ntohs(own.sin_port), to, 100 + i * 1000);
		close(fd);
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < 2; i++) { /* each has half of what both sent */
		struct iovec parts[ROUNDS * SENT];
		struct mmsghdr m[ROUNDS * SENT] = {0};

		for (int k = 0; k < ROUNDS * SENT; k++) {
			parts[k] = (struct iovec){room[k], ROOM};
			m[k].msg_hdr = (struct msghdr){.msg_name = &from[k],
						       .msg_namelen = sizeof(from[k]),
						       .msg_iov = &parts[k],
						       .msg_iovlen = 1};
		}
		recvmmsg(fds[i], m, ROUNDS * SENT, 0, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool named = !strcmp(mode, "named");
	struct sockaddr_in to, from;
	int fds[2], go[2];

	if (!strcmp(mode, "peers")) {
		peers();
		return 0;
	}
	pipe(go);
	if (!strcmp(mode, "unix")) {
		socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	} else {
		fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
		fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
		to = bound(fds[0]);
		from = bound(fds[1]);
		if (!named)
			connect(fds[1], (void *)&to, sizeof(to));
		if (!strcmp(mode, "connected"))
			connect(fds[0], (void *)&from, sizeof(from));
	}
	if (!fork())
		sends(fds[1], named ? &to : NULL, go[0]);
	receives(fds[0], named, go[1]);
	wait(NULL);
	return 0;
}
