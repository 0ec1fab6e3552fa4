/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blkin_store.c: a client, a primary and a replica as a program for BlkKin has them: it includes its header and nothing of
 * weir's. The ids travel packed, through pipes. Prints "trace span parent name" of each span.
 */
#include <blkin/zipkin_c.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print(const struct blkin_trace *t)
{
	struct blkin_trace_info i;

	blkin_get_trace_info(t, &i);
	printf("%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %s\n", i.trace_id, i.span_id,
	       i.parent_span_id, t->name);
	fflush(stdout);
}

static void replica(int from, int to)
{
	struct blkin_trace_info_packed packed;
	struct blkin_trace_info info;
	struct blkin_endpoint e;
	struct blkin_trace t;

	blkin_init_endpoint(&e, "10.0.0.2", (int16_t)40000, "replica");
	if (read(from, &packed, sizeof(packed)) != sizeof(packed))
		exit(1);
	blkin_unpack_trace_info(&packed, &info);
	blkin_init_child_info(&t, &info, &e, "replicate");
	BLKIN_TIMESTAMP(&t, &e, SERVER_RECV);
	BLKIN_KEYVAL_STRING(&t, &e, "object", "disk.0001");
	usleep(60000); /* so that it can be found */
	BLKIN_TIMESTAMP(&t, &e, SERVER_SEND);
	print(&t);
	if (write(to, "", 1) != 1)
		exit(1);
	exit(0);
}

/* Ids that the caller chose, the same in two traces that are open at once. */
static int same_ids(void)
{
	struct blkin_endpoint e;
	struct blkin_trace t[2][2];

	if (blkin_init() < 0)
		return 1;
	blkin_init_endpoint(&e, NULL, 0, "same");
	for (int i = 0; i < 2; i++) {
		struct blkin_trace_info root = {.trace_id = 100 + i, .span_id = 1};
		struct blkin_trace_info kid = {
			.trace_id = 100 + i, .span_id = 2, .parent_span_id = 1};

		blkin_init_new_trace(&t[i][0], i ? "rootB" : "rootA", &e);
		blkin_set_trace_info(&t[i][0], &root);
		blkin_init_new_trace(&t[i][1], i ? "kidB" : "kidA", &e);
		blkin_set_trace_info(&t[i][1], &kid);
	}
	for (int i = 0; i < 4; i++)
		BLKIN_TIMESTAMP(&t[i / 2][i % 2], &e, "done");
	usleep(100000);
	return 0;
}

/* Ids of a process, of two children, and of theirs, which all went on from the same memory. */
static int new_ids(int depth)
{
	struct blkin_trace_info info;

	for (int i = 0; i < 1000; i++) {
		blkin_init_trace_info(&info);
		printf("%" PRIx64 "\n", info.trace_id);
	}
	fflush(stdout);
	for (int i = 0; i < 2 && depth; i++) {
		if (!fork())
			exit(new_ids(depth - 1));
		wait(NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct blkin_trace_info_packed packed;
	struct blkin_endpoint client, primary;
	struct blkin_trace request, write_op;
	int to[2], from[2], status;
	char byte;

	if (argc > 1 && !strcmp(argv[1], "same"))
		return same_ids();
	if (argc > 1 && !strcmp(argv[1], "new"))
		return new_ids(2);
	if (blkin_init() < 0 || pipe(to) || pipe(from))
		return 1;
	if (!fork())
		replica(to[0], from[1]);
	blkin_init_endpoint(&client, NULL, 0, "client");
	blkin_init_endpoint(&primary, "10.0.0.1", 6800, "primary");
	blkin_init_new_trace(&request, "request", &client);
	BLKIN_TIMESTAMP(&request, &client, CLIENT_SEND);
	blkin_init_child(&write_op, &request, &primary, "write");
	BLKIN_TIMESTAMP(&write_op, NULL, "queued");
	BLKIN_KEYVAL_INTEGER(&write_op, &primary, "size", 4096);
	blkin_pack_trace_info(&write_op.info, &packed);
	if (write(to[1], &packed, sizeof(packed)) != sizeof(packed) || read(from[0], &byte, 1) != 1)
		return 1;
	BLKIN_TIMESTAMP(&write_op, &primary, "done");
	BLKIN_TIMESTAMP(&request, &client, CLIENT_RECV);
	print(&request);
	print(&write_op);
	wait(&status);
	return blkin_init_child(&write_op, NULL, NULL, "none") != -EINVAL ||
	       blkin_record(NULL, NULL) != -EINVAL;
}
