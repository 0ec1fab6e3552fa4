/* SPDX-License-Identifier: Apache-2.0 */
/*
 * obi.c MAP ROUNDS: does with a pinned map what OpenTelemetry's eBPF instrumentation does: has in it which request each thread
 * serves. Here its threads do that themselves. Prints each file that is opened, with the ids under which that was: of none "-".
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 3

static int map, rounds;

static void opens(const uint8_t *ids, int round)
{
	char path[64], text[49] = "-";

	for (int i = 0; ids && i < 24; i++)
		snprintf(text + 2 * i, 3, "%02x", ids[i]);
	snprintf(path, sizeof(path), "/dev/null/%d-%d-%d", gettid(), round, ids != NULL);
	if (open(path, O_RDONLY) < 0) /* as always */
		printf("%s\t%s\n", path, text);
}

static void *serve(void *arg)
{
	uint64_t key = (uint64_t)getpid() << 32 | (uint32_t)gettid();

	for (int i = 0; i < rounds; i++) {
		uint8_t ids[24];

		for (int k = 0; k < 24; k++)
			ids[k] = (uint8_t)(i * 7 + k * 31 + (int)key);
		if (bpf_map_update_elem(map, &key, ids, BPF_ANY))
			exit(1);
		opens(ids, i);
		if (i % 2) /* the next request may come at once */
			continue;
		bpf_map_delete_elem(map, &key);
		opens(NULL, i);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	map = argc == 3 ? bpf_obj_get(argv[1]) : -1;
	rounds = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;
	if (map < 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
