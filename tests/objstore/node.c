/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c: a node: workers, each of which serves one connection at a time and has its own to the next node, and a pool of threads
 * that store what workers received. With --fault one node does one thing wrong, on one object.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objstore.h"

/* An object on its way through this node. */
struct job {
	struct head head; /* as it came */
	uint8_t *data;
	struct blkin_trace receive;
	bool stored;
	pthread_cond_t is_stored;
	struct job *next; /* in the queue of those to store */
};

struct worker {
	pthread_t thread;
	unsigned int number;
	int up, down;	  /* connections; down -1: none yet */
	struct job *held; /* of a fault: what goes on behind the next one */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t to_store;
	struct job *first, **last;
	bool ended;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .to_store = PTHREAD_COND_INITIALIZER,
	   .last = &queue.first};

static int listener;
static atomic_bool stopped;
static atomic_ullong puts_done;

static bool is_faulty(const struct job *j, enum fault_kind kind)
{
	return config.fault.kind == kind && config.fault.object == j->head.object;
}

/* ---- storing ---- */

static void write_file(const struct doing *d, const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	truth_call(d, "openat", 0, 0, fd < 0 ? -1 : fd);
	if (fd < 0)
		die(path);
	for (size_t at = 0; at < size;) {
		size_t n = size - at < config.cut_store ? size - at : config.cut_store;
		ssize_t wrote = pwrite(fd, data + at, n, (off_t)at);

		if (wrote <= 0)
			die("pwrite");
		truth_call(d, "pwrite64", (int64_t)at, wrote, wrote);
		at += (size_t)wrote;
	}
	if (fdatasync(fd))
		die("fdatasync");
	truth_call(d, "fdatasync", 0, 0, 0);
	close(fd);
	truth_call(d, "close", 0, 0, 0);
}

static void object_path(char path[static 512], uint64_t object, const char *suffix)
{
	snprintf(path, 512, "%s/obj-%llu%s", config.dir, (unsigned long long)object, suffix);
}

/* What is stored or sent on in place of the object where a fault alters it: a copy, or NULL. The caller frees it. */
static uint8_t *altered(const struct job *j, enum fault_kind kind)
{
	const struct fault *f = &config.fault;
	uint8_t *copy;

	if (!is_faulty(j, kind))
		return NULL;
	copy = malloc(j->head.size);
	if (!copy || f->pos + f->bytes > j->head.size)
		die("--fault: range of the object");
	memcpy(copy, j->data, j->head.size);
	for (uint64_t i = 0; i < f->bytes; i++)
		copy[f->pos + i] ^= 0xa5;
	return copy;
}

static void store(const struct job *j)
{
	struct blkin_trace t;
	const struct doing d = {"store", j->head.object, &t};
	char path[512], temporary[512];
	uint8_t *other = altered(j, FAULT_ALTER_STORE);

	span_first(&t, &j->receive.info, "node.store", "store");
	if (!is_faulty(j, FAULT_DROP)) {
		object_path(path, j->head.object, "");
		object_path(temporary, j->head.object, ".tmp");
		write_file(&d, temporary, other ? other : j->data, j->head.size);
		if (rename(temporary, path))
			die("rename");
		truth_call(&d, "rename", 0, 0, 0);
	}
	span_last(&t, "stored");
	free(other);
}

static void *storer(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "storer%u", *(unsigned int *)arg);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		struct job *j;

		while (!queue.first && !queue.ended)
			pthread_cond_wait(&queue.to_store, &queue.lock);
		j = queue.first;
		if (!j)
			break;
		queue.first = j->next;
		if (!queue.first)
			queue.last = &queue.first;
		pthread_mutex_unlock(&queue.lock);
		store(j);
		pthread_mutex_lock(&queue.lock);
		j->stored = true;
		pthread_cond_signal(&j->is_stored);
	}
	pthread_mutex_unlock(&queue.lock);
	return NULL;
}

static void store_begin(struct job *j)
{
	if (!config.storers)
		return;
	j->next = NULL;
	pthread_mutex_lock(&queue.lock);
	*queue.last = j;
	queue.last = &j->next;
	pthread_cond_signal(&queue.to_store);
	pthread_mutex_unlock(&queue.lock);
}

static void store_wait(struct job *j)
{
	if (!config.storers) {
		store(j);
		return;
	}
	pthread_mutex_lock(&queue.lock);
	while (!j->stored)
		pthread_cond_wait(&j->is_stored, &queue.lock);
	pthread_mutex_unlock(&queue.lock);
}

/* ---- a worker ---- */

static int next_node(struct worker *w)
{
	if (w->down < 0)
		w->down = wire_connect(&config.next);
	return w->down;
}

/* Sends the object on, and waits until the rest of the chain has it. */
static void forward(struct worker *w, const struct job *j)
{
	struct blkin_trace t;
	const struct doing d = {"forward", j->head.object, &t};
	uint8_t *other = altered(j, FAULT_ALTER_FORWARD);
	struct head h = j->head, reply;
	int fd = next_node(w);

	span_first(&t, &j->receive.info, "node.forward", CLIENT_SEND);
	blkin_pack_trace_info(&t.info, &h.trace);
	wire_send(fd, &d, &h, other ? other : j->data);
	if (!wire_head(fd, &(struct doing){"acknowledged", h.object, &t}, &reply) || reply.status)
		die("the next node");
	span_last(&t, CLIENT_RECV);
	free(other);
}

/* The object has arrived here: stores it, sends it on, replies. Frees it. */
static void put_on(struct worker *w, struct job *j)
{
	store_begin(j);
	if (config.has_next && !is_faulty(j, FAULT_KEEP))
		forward(w, j);
	if (config.has_next && is_faulty(j, FAULT_DUPLICATE))
		forward(w, j);
	store_wait(j);
	wire_reply(w->up, &(struct doing){"reply", j->head.object, &j->receive}, &j->head, 0, 0,
		   false);
	span_last(&j->receive, SERVER_SEND);
	atomic_fetch_add(&puts_done, 1);
	free(j->data);
	free(j);
}

static void held_on(struct worker *w)
{
	struct job *held = w->held;

	w->held = NULL;
	if (held)
		put_on(w, held);
}

static void put(struct worker *w, const struct head *h)
{
	struct job *j = calloc(1, sizeof(*j));
	struct blkin_trace_info sender;
	const struct doing d = {"receive", h->object, &j->receive};

	if (!j)
		die("put");
	j->head = *h;
	pthread_cond_init(&j->is_stored, NULL);
	j->data = malloc(h->size ? h->size : 1);
	if (!j->data)
		die("put");
	blkin_unpack_trace_info(&h->trace, &sender);
	span_first(&j->receive, &sender, "node.receive", SERVER_RECV);
	BLKIN_KEYVAL_INTEGER(&j->receive, &config.endpoint, "object", (int64_t)h->object);
	wire_receive(w->up, &d, j->data, h->size);
	if (is_faulty(j, FAULT_FLIP)) {
		if (config.fault.pos >= h->size)
			die("--fault: range of the object");
		j->data[config.fault.pos] ^= (uint8_t)(1u << config.fault.bytes);
	}
	if (is_faulty(j, FAULT_REORDER) && !w->held) {
		w->held = j;
		return;
	}
	put_on(w, j);
	held_on(w);
}

static void send_file(const struct doing *d, int to, int fd, size_t size)
{
	off_t at = 0;

	while (at < (off_t)size) {
		size_t n = size - (size_t)at;
		ssize_t sent = sendfile(to, fd, &at, n < config.cut_send ? n : config.cut_send);

		if (sent <= 0)
			die("sendfile");
		truth_call(d, "sendfile", at - sent, sent, sent);
	}
}

static void send_read(const struct doing *d, int to, int fd, const struct head *h, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	struct head reply = *h;

	if (!data)
		die("get");
	for (size_t at = 0; at < size;) {
		size_t n = size - at < config.cut_store ? size - at : config.cut_store;
		ssize_t got = pread(fd, data + at, n, (off_t)at);

		if (got <= 0)
			die("pread");
		truth_call(d, "pread64", (int64_t)at, got, got);
		at += (size_t)got;
	}
	reply.kind = KIND_REPLY;
	reply.status = 0;
	reply.size = size;
	wire_send(to, d, &reply, data);
	free(data);
}

static void get(const struct worker *w, const struct head *h)
{
	struct blkin_trace_info sender;
	struct blkin_trace t;
	const struct doing d = {"read", h->object, &t};
	struct stat st = {0};
	char path[512];
	int fd;

	blkin_unpack_trace_info(&h->trace, &sender);
	span_first(&t, &sender, "node.read", SERVER_RECV);
	object_path(path, h->object, "");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	truth_call(&d, "openat", 0, 0, fd < 0 ? -1 : fd);
	if (fd < 0) {
		wire_reply(w->up, &d, h, -ENOENT, 0, false);
	} else if (fstat(fd, &st)) {
		die(path);
	} else if (config.sendfile) {
		wire_reply(w->up, &d, h, 0, (uint64_t)st.st_size, st.st_size > 0);
		send_file(&d, w->up, fd, (size_t)st.st_size);
	} else {
		send_read(&d, w->up, fd, h, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	if (fd >= 0)
		truth_call(&d, "close", 0, 0, 0);
	span_last(&t, SERVER_SEND);
}

/* The end of all comes down the chain as everything does. */
static void stop(struct worker *w, const struct head *h)
{
	struct head on = *h;

	if (!atomic_exchange(&stopped, true) && config.has_next)
		wire_send(next_node(w), &(struct doing){"stop", 0, NULL}, &on, NULL);
	shutdown(listener, SHUT_RDWR);
}

static void serve(struct worker *w)
{
	struct blkin_trace_info sender = {0};
	struct head h;

	while (wire_head(w->up, &(struct doing){"head", 0, NULL}, &h)) {
		blkin_unpack_trace_info(&h.trace, &sender);
		truth_sender(&sender);
		if (h.kind == KIND_PUT) {
			put(w, &h);
			continue;
		}
		held_on(w);
		if (h.kind == KIND_GET)
			get(w, &h);
		else if (h.kind == KIND_STOP)
			stop(w, &h);
	}
	truth_sender(&sender); /* the end is read when all of the last one was */
	held_on(w);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	char name[16];

	snprintf(name, sizeof(name), "worker%u", w->number);
	pthread_setname_np(pthread_self(), name);
	w->down = -1;
	while ((w->up = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(w);
		close(w->up);
		if (w->down >= 0)
			close(w->down);
		w->down = -1;
	}
	return NULL;
}

int run_node(void)
{
	struct worker *workers = calloc(config.threads, sizeof(*workers));
	pthread_t storers[64];
	unsigned int numbers[64];

	if (!workers || config.storers > 64)
		die("node");
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&config.listen, sizeof(config.listen)) ||
	    listen(listener, 128))
		die("listen");
	for (unsigned int i = 0; i < config.storers; i++) {
		numbers[i] = i;
		pthread_create(&storers[i], NULL, storer, &numbers[i]);
	}
	for (unsigned int i = 0; i < config.threads; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	puts("ready");
	fflush(stdout);
	for (unsigned int i = 0; i < config.threads; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_mutex_lock(&queue.lock);
	queue.ended = true;
	pthread_cond_broadcast(&queue.to_store);
	pthread_mutex_unlock(&queue.lock);
	for (unsigned int i = 0; i < config.storers; i++)
		pthread_join(storers[i], NULL);
	free(workers);
	truth_write("node", puts_done, 0);
	printf("{\"cpu\":%.6f}\n", cpu_s());
	return 0;
}
