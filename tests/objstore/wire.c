/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: heads and objects over TCP, cut as each process was told to. */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "objstore.h"

#define TRIES	   500 /* to connect, 10 ms apart: the other side may still start */
#define TRY_USEC   10000
#define PIECES_MAX 3

int wire_connect(const struct sockaddr_in *to)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			die("socket");
		if (!connect(fd, (const struct sockaddr *)to, sizeof(*to))) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
			return fd;
		}
		if (errno != ECONNREFUSED && errno != EHOSTUNREACH)
			die("connect");
		close(fd);
		usleep(TRY_USEC);
	}
	die("connect");
}

bool wire_head(int fd, const struct doing *d, struct head *ret)
{
	size_t at = 0;

	while (at < sizeof(*ret)) {
		ssize_t n = recv(fd, (uint8_t *)ret + at, sizeof(*ret) - at, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("recv of a head");
		truth_call(d, "recvfrom", 0, 0, n);
		if (!n && !at)
			return false;
		if (!n) {
			errno = EPIPE;
			die("recv of a head");
		}
		at += (size_t)n;
	}
	if (ret->magic == HEAD_MAGIC && ret->size <= OBJECT_MAX)
		return true;
	errno = EBADMSG;
	die("head");
}

void wire_receive(int fd, const struct doing *d, uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t want = size - at < config.cut_recv ? size - at : config.cut_recv;
		ssize_t n = recv(fd, data + at, want, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("recv of an object");
		truth_call(d, "recvfrom", (int64_t)at, n, n);
		at += (size_t)n;
	}
}

/* n bytes from position `at` of head and data, as pieces: what there is of the head, and the data in two halves. */
static int pieces_at(struct iovec v[PIECES_MAX], const struct head *h, const uint8_t *data,
		     size_t at, size_t n)
{
	int count = 0;

	if (at < sizeof(*h)) {
		size_t part = sizeof(*h) - at < n ? sizeof(*h) - at : n;

		v[count++] = (struct iovec){(uint8_t *)(uintptr_t)h + at, part};
		at += part;
		n -= part;
	}
	for (size_t part = n / 2; n; n -= part, at += part, part = n) {
		if (!part)
			part = n;
		v[count++] = (struct iovec){(uint8_t *)(uintptr_t)data + (at - sizeof(*h)), part};
	}
	return count;
}

static ssize_t send_pieces(int fd, struct iovec *v, int count, size_t rest)
{
	if (config.how == SEND_WRITEV)
		return writev(fd, v, count);
	if (config.how == SEND_MSG)
		return sendmsg(fd, &(struct msghdr){.msg_iov = v, .msg_iovlen = (size_t)count},
			       MSG_NOSIGNAL);
	return send(fd, v->iov_base, v->iov_len, MSG_NOSIGNAL | (rest ? MSG_MORE : 0));
}

void wire_send(int fd, const struct doing *d, const struct head *h, const uint8_t *data)
{
	static const char *const calls[] = {"sendto", "writev", "sendmsg"};
	size_t total = sizeof(*h) + h->size;

	for (size_t at = 0; at < total;) {
		size_t n = total - at < config.cut_send ? total - at : config.cut_send;
		struct iovec v[PIECES_MAX] = {0};
		int count;
		ssize_t sent;

		if (config.how == SEND_PLAIN && at < sizeof(*h) && n > sizeof(*h) - at)
			n = sizeof(*h) - at;
		count = pieces_at(v, h, data, at, n);
		if (config.how == SEND_PLAIN && count == 2)
			v[0].iov_len = n; /* both halves are of the data */
		sent = send_pieces(fd, v, count, total - at - n);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			die("send");
		truth_call(d, calls[config.how], (int64_t)BYTES_OF(at),
			   (int64_t)(BYTES_OF(at + (size_t)sent) - BYTES_OF(at)), sent);
		at += (size_t)sent;
	}
}

void wire_reply(int fd, const struct doing *d, const struct head *to, int status, uint64_t size,
		bool more)
{
	struct head h = *to;

	h.kind = KIND_REPLY;
	h.status = status;
	h.size = size;
	for (size_t at = 0; at < sizeof(h);) {
		ssize_t sent = send(fd, (uint8_t *)&h + at, sizeof(h) - at,
				    MSG_NOSIGNAL | (more ? MSG_MORE : 0));

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			die("send of a reply");
		truth_call(d, "sendto", 0, 0, sent);
		at += (size_t)sent;
	}
}
