/* SPDX-License-Identifier: Apache-2.0 */
/* client.c: puts objects on the first node of a chain, several threads at once, and then gets them from the nodes of --get. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "objstore.h"

#define WINDOW 64 /* puts of one thread that are not acknowledged, at most */

struct sender {
	pthread_t thread;
	unsigned int number;
	int fd;
	uint8_t *data, *got; /* the object, what a get brought */
	struct blkin_trace put[WINDOW];
	uint64_t done;
};

static struct timespec until; /* of --seconds */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t size_of(uint64_t object)
{
	return config.sizes[object % config.sizes_count];
}

/* The content of an object: noise by its number (xorshift of Marsaglia), so that no two pieces are equal. */
static void make_object(uint64_t object, uint8_t *data, size_t size)
{
	uint64_t x = (object + 1) * 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < size; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(data + i, &x, size - i < 8 ? size - i : 8);
	}
}

/* The object is read from a file of --source, where there is one. */
static void load_object(const struct doing *d, uint64_t object, uint8_t *data, size_t size)
{
	char path[512];
	int fd;

	if (!config.source) {
		make_object(object, data, size);
		return;
	}
	snprintf(path, sizeof(path), "%s/obj-%llu", config.source, (unsigned long long)object);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	truth_call(d, "openat", 0, 0, fd);
	for (size_t at = 0; at < size;) {
		size_t n = size - at < config.cut_store ? size - at : config.cut_store;
		ssize_t got = pread(fd, data + at, n, (off_t)at);

		if (got <= 0)
			die("pread");
		truth_call(d, "pread64", (int64_t)at, got, got);
		at += (size_t)got;
	}
	close(fd);
	truth_call(d, "close", 0, 0, 0);
}

static void put_begin(struct sender *s, uint64_t object)
{
	struct blkin_trace *t = &s->put[object / config.threads % WINDOW];
	struct head h = {.magic = HEAD_MAGIC,
			 .kind = KIND_PUT,
			 .object = object,
			 .size = size_of(object),
			 .request = object};

	span_first(t, NULL, "client.put", CLIENT_SEND);
	BLKIN_KEYVAL_INTEGER(t, &config.endpoint, "object", (int64_t)object);
	blkin_pack_trace_info(&t->info, &h.trace);
	load_object(&(struct doing){"source", object, t}, object, s->data, h.size);
	wire_send(s->fd, &(struct doing){"put", object, t}, &h, s->data);
}

/* One reply, of whatever put. */
static void put_end(struct sender *s, uint64_t oldest)
{
	const struct blkin_trace *t = &s->put[oldest / config.threads % WINDOW];
	struct head reply;

	/* which one it is shows in the reply: the oldest is the one, unless a node changed the order */
	if (!wire_head(s->fd, &(struct doing){"acknowledged", oldest, t}, &reply) || reply.status)
		die("put");
	span_last(&s->put[reply.object / config.threads % WINDOW], CLIENT_RECV);
	s->done++;
	if (config.pace_us)
		usleep(config.pace_us);
}

static bool is_time_up(void)
{
	struct timespec t;

	if (!config.seconds)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec > until.tv_sec || (t.tv_sec == until.tv_sec && t.tv_nsec >= until.tv_nsec);
}

/* Objects of a thread are number, number + threads, ... */
static void *put_all(void *arg)
{
	struct sender *s = arg;
	uint64_t sent = s->number, acknowledged = s->number;
	char name[16];

	snprintf(name, sizeof(name), "client%u", s->number);
	pthread_setname_np(pthread_self(), name);
	s->fd = wire_connect(&config.next);
	for (;;) {
		uint64_t open_puts = (sent - acknowledged) / config.threads;

		if (open_puts < config.depth && sent < config.objects && !is_time_up()) {
			put_begin(s, sent);
			sent += config.threads;
			continue;
		}
		if (!open_puts)
			return NULL;
		put_end(s, acknowledged);
		acknowledged += config.threads;
	}
}

static void get_one(const struct sender *s, int fd, unsigned int node, uint64_t object)
{
	struct blkin_trace t;
	const struct doing d = {"get", object, &t}, fetch = {"fetch", object, &t};
	struct head h = {
		.magic = HEAD_MAGIC, .kind = KIND_GET, .object = object, .request = object};
	struct head reply;
	uint64_t size = size_of(object);

	span_first(&t, NULL, "client.get", CLIENT_SEND);
	blkin_pack_trace_info(&t.info, &h.trace);
	wire_send(fd, &d, &h, NULL);
	if (!wire_head(fd, &d, &reply))
		die("get");
	wire_receive(fd, &fetch, s->got, reply.size);
	span_last(&t, CLIENT_RECV);
	make_object(object, s->data, size);
	truth_got(object, node, reply.status,
		  !reply.status && reply.size == size && !memcmp(s->data, s->got, size));
}

/* One thread gets all objects from each of the nodes. */
static void get_all(struct sender *s)
{
	for (unsigned int i = 0; i < config.gets_count; i++) {
		int fd = wire_connect(&config.gets[i]);

		for (uint64_t object = 0; object < config.objects; object++)
			get_one(s, fd, i, object);
		close(fd);
	}
}

/* Files for --source, with the content that the objects have otherwise. */
int run_make(void)
{
	uint8_t *data = malloc(OBJECT_MAX);
	char path[512];

	for (uint64_t object = 0; data && object < config.objects; object++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/obj-%llu", config.source,
			 (unsigned long long)object);
		make_object(object, data, size_of(object));
		f = fopen(path, "we");
		if (!f || fwrite(data, 1, size_of(object), f) != size_of(object) || fclose(f))
			die(path);
	}
	free(data);
	return 0;
}

int run_client(void)
{
	struct sender *senders = calloc(config.threads, sizeof(*senders));
	struct head h = {.magic = HEAD_MAGIC, .kind = KIND_STOP};
	uint64_t done = 0;
	double from, seconds, cpu;
	int fd;

	if (!senders || config.depth > WINDOW)
		die("client");
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += config.seconds;
	from = now_s();
	for (unsigned int i = 0; i < config.threads; i++) {
		senders[i].number = i;
		senders[i].data = malloc(OBJECT_MAX);
		senders[i].got = malloc(OBJECT_MAX);
		if (!senders[i].data || !senders[i].got)
			die("client");
		pthread_create(&senders[i].thread, NULL, put_all, &senders[i]);
	}
	for (unsigned int i = 0; i < config.threads; i++) {
		pthread_join(senders[i].thread, NULL);
		done += senders[i].done;
		close(senders[i].fd); /* so that workers are free for what follows */
	}
	seconds = now_s() - from;
	cpu = cpu_s();
	get_all(&senders[0]);
	fd = wire_connect(&config.next);
	wire_send(fd, &(struct doing){"stop", 0, NULL}, &h, NULL);
	close(fd);
	for (unsigned int i = 0; i < config.threads; i++) {
		free(senders[i].data);
		free(senders[i].got);
	}
	free(senders);
	truth_write("client", done, seconds);
	printf("{\"puts\":%llu,\"seconds\":%.6f,\"cpu\":%.6f}\n", (unsigned long long)done, seconds,
	       cpu);
	return 0;
}
