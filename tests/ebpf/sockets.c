/* SPDX-License-Identifier: Apache-2.0 */
/* What calls on sockets say beyond their arguments: the peer of the socket, the messages of a vector. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "session.h"

static void record(struct session *s, const char *ops, int (*work)(void *), void *arg)
{
	struct select select = {.pid_count = 1};
	struct error err = {0};
	int status;

	select.pids[0] = session_child(s, work, arg);
	assert_int_equal(select_ops(&select, ops, &err), 0);
	session_start(s, &select, (struct ebpf_options){0});
	session_go(s, 1);
	assert_int_equal(waitpid(select.pids[0], &status, 0), select.pids[0]);
	assert_int_equal(status, 0);
	session_end(s);
}

/* A socket of datagrams at a port of its own; *ret_text is its address. */
static int receiver(struct sockaddr_in *ret, char ret_text[32])
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (void *)ret, len) || getsockname(fd, (void *)ret, &len))
		return -1;
	snprintf(ret_text, 32, "127.0.0.1:%d", ntohs(ret->sin_port));
	return fd;
}

/* The peer of the socket of a call, as the last row of that socket has it. */
static void expect_peer(const struct session *s, size_t row, const char *peer)
{
	const struct batch *f = s->rows.tables[TABLE_FILE];
	struct bytes got = {0};

	for (size_t i = 0; i < f->rows; i++) {
		if (batch_get(f, FILE_ID, i, -1) == session_op(s, row, OP_FILE_ID) &&
		    batch_get_bytes(f, FILE_PEER, i).data)
			got = batch_get_bytes(f, FILE_PEER, i);
	}
	assert_int_equal(got.len, strlen(peer));
	assert_memory_equal(got.data, peer, got.len);
}

/* The socket is used before it is connected, so that it is known by then. */
static int sends(void *arg)
{
	const struct sockaddr_in *to = arg;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (sendto(fd, "a", 1, 0, (void *)to, sizeof(*to)) != 1 ||
	    connect(fd, (void *)to, sizeof(*to)) || send(fd, "bc", 2, 0) != 2)
		return 1;
	return 0;
}

/* connect() is not recorded, what it did is seen. */
static void test_connected_unseen(void **state)
{
	struct session s = {0};
	struct sockaddr_in to;
	char text[32];
	size_t row;
	int fd = receiver(&to, text);

	assert_true(fd >= 0);
	record(&s, "sendto", sends, &to);
	assert_int_equal(session_count(&s, "connect", 0, NULL), 0);
	assert_int_equal(session_count(&s, "sendto", 0, &row), 2);
	assert_int_equal(session_op(&s, row, OP_SIZE), 2);
	expect_peer(&s, row, text);
	session_free(&s);
	close(fd);
}

/* To one receiver after the other, then to nobody. */
static int sends_to_two(void *arg)
{
	const struct sockaddr_in *to = arg;
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < 2; i++) {
		if (connect(fd, (void *)&to[i], sizeof(*to)) || send(fd, "a", 1, 0) != 1 ||
		    write(fd, "a", 1) != 1)
			return 1;
	}
	return connect(fd, &none, sizeof(none)) || close(fd);
}

/* Each call shows whom its socket was connected to then. */
static void test_connected_anew(void **state)
{
	struct sockaddr_in to[2];
	struct session s = {0};
	char text[2][32];
	int fds[2] = {receiver(&to[0], text[0]), receiver(&to[1], text[1])};
	size_t seen[2] = {0};

	assert_true(fds[0] >= 0 && fds[1] >= 0);
	record(&s, "connect,sendto,write,close", sends_to_two, to);
	for (size_t i = 0; i < s.rows.tables[TABLE_OP]->rows; i++) {
		int64_t op = session_op(&s, i, OP_OP);

		if (op == op_find("sendto"))
			expect_peer(&s, i, text[seen[0]++]);
		if (op == op_find("write"))
			expect_peer(&s, i, text[seen[1]++]);
		if (op == op_find("close") && seen[1] == 2)
			expect_peer(&s, i, "");
	}
	assert_int_equal(seen[0], 2);
	assert_int_equal(seen[1], 2);
	session_free(&s);
	close(fds[0]);
	close(fds[1]);
}

#define MESSAGES 8
#define PARTS	 1024 /* of each; together more than are summed */

/* Sends and receives messages of so many parts of one byte. */
static int moves_messages(void *arg)
{
	struct sockaddr_in to;
	struct mmsghdr many[MESSAGES];
	struct iovec parts[PARTS];
	char text[32], buf[PARTS];
	int in = receiver(&to, text), out = socket(AF_INET, SOCK_DGRAM, 0);
	int count = *(int *)arg;

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){buf, 1};
	for (int i = 0; i < MESSAGES; i++)
		many[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = parts, .msg_iovlen = PARTS}};
	if (in < 0 || connect(out, (void *)&to, sizeof(to)) ||
	    sendmmsg(out, many, (unsigned int)count, 0) != count ||
	    recvmmsg(in, many, (unsigned int)count, 0, NULL) != count ||
	    sendmmsg(out, many, (unsigned int)count, 0) != count ||
	    recvmmsg(in, many, (unsigned int)count, MSG_TRUNC, NULL) != count)
		return 1;
	return 0;
}

/* What was not summed is no number, and counted: the sizes, and what was moved where only they would tell it. */
static void test_messages(void **state)
{
	for (int count = 2; count <= MESSAGES; count += MESSAGES - 2) {
		bool cut = count * PARTS > 4096;
		struct session s = {0};
		int seen = 0;

		record(&s, "sendmmsg,recvmmsg", moves_messages, &count);
		for (size_t i = 0; i < s.rows.tables[TABLE_OP]->rows; i++) {
			bool truncates = session_op(&s, i, OP_FLAGS) & MSG_TRUNC;

			assert_int_equal(session_op(&s, i, OP_RET), count);
			assert_int_equal(session_op(&s, i, OP_SIZE),
					 cut ? INT64_MIN : count * PARTS);
			assert_int_equal(session_op(&s, i, OP_BYTES),
					 cut && truncates ? INT64_MIN : count * PARTS);
			assert_int_equal(session_op(&s, i, OP_STATUS) > 0 &&
						 session_op(&s, i, OP_STATUS) & STATUS_ARG_UNREAD,
					 cut);
			seen++;
		}
		assert_int_equal(seen, 4);
		assert_int_equal(session_loss(&s, CAUSE_ARG_UNREAD), cut ? 4 : 0);
		session_free(&s);
	}
}

/* Nobody listens at a port that has been taken and nothing else. */
static int is_refused(void *arg)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int taken = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	int other = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(to);

	if (bind(taken, (void *)&to, len) || getsockname(taken, (void *)&to, &len) ||
	    !connect(fd, (void *)&to, len) || errno != ECONNREFUSED)
		return 1;
	listen(fd, 0);
	return sendto(other, "x", 1, 0, (void *)1, len) < 0 && errno == EFAULT ? 0 : 1;
}

/* What was not connected has no peer; an address that cannot be read is told to be one. */
static void test_no_peer(void **state)
{
	struct session s = {0};
	const struct batch *f;
	size_t row;

	record(&s, "connect,listen,sendto", is_refused, NULL);
	assert_int_equal(session_count(&s, "listen", 0, &row), 1);
	f = s.rows.tables[TABLE_FILE];
	for (size_t i = 0; i < f->rows; i++) {
		if (batch_get(f, FILE_ID, i, -1) == session_op(&s, row, OP_FILE_ID))
			assert_null(batch_get_bytes(f, FILE_PEER, i).data);
	}
	assert_int_equal(session_count(&s, "sendto", 0, &row), 1);
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_ARG_UNREAD);
	assert_int_equal(session_op(&s, row, OP_PEER_ID), INT64_MIN);
	assert_int_equal(session_loss(&s, CAUSE_ARG_UNREAD), 0);
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_connected_unseen),
		cmocka_unit_test(test_connected_anew),
		cmocka_unit_test(test_no_peer),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
