// SPDX-License-Identifier: Apache-2.0
/*
 * several named|connected|bound|unix: a process sends datagrams, three in a call, and its parent receives up to four in a
 * call. named: each has an address; connected, bound: the receiver is connected, or takes no addresses. Prints the size of
 * each datagram sent.
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

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool named = !strcmp(mode, "named");
	struct sockaddr_in to, from;
	int fds[2], go[2];

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
