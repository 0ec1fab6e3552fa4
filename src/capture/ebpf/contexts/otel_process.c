/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/contexts/otel_process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/varint.h"
#include "span/layout.h"

#define SIGNATURE   "OTEL_CTX"
#define VERSION	    2
#define PAYLOAD_MAX 65536u
#define VARIABLE    "otel_thread_ctx_v1"
#define ANSWER_NS   (300 * NSEC_PER_MSEC)
#define STUCK_MAX \
	4 /* threads waiting for a program's file system: at this limit nothing more is read */

/* The layout of the specification, in native byte order. */
struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_at; /* 0: being changed */
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "struct header");

/* ---- the message ---- */

struct field {
	uint32_t number;
	uint32_t wire;	   /* 2: with `data` */
	struct bytes data; /* its content */
};

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* Reads a field of a message. 1, 0 at the end, or -EBADMSG. */
static int next_field(struct bytes *m, struct field *ret)
{
	const uint8_t *at = m->data, *end = m->data + m->len;
	uint64_t tag, n;

	if (!m->len)
		return 0;
	if (!varint_get(&at, end, &tag) || tag >> 3 > UINT32_MAX)
		return -EBADMSG;
	*ret = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	switch (ret->wire) {
	case WIRE_VARINT:
		if (!varint_get(&at, end, &n))
			return -EBADMSG;
		n = 0;
		break;
	case WIRE_64:
		n = 8;
		break;
	case WIRE_32:
		n = 4;
		break;
	case WIRE_BYTES:
		if (!varint_get(&at, end, &n))
			return -EBADMSG;
		break;
	default:
		return -EBADMSG;
	}
	if (n > (uint64_t)(end - at))
		return -EBADMSG;
	ret->data = (struct bytes){at, n};
	*m = (struct bytes){at + n, (size_t)(end - at) - n};
	return 1;
}

/* The last bytes field with a number, {NULL, 0}: none. 0 or -EBADMSG. */
static int bytes_field(struct bytes m, uint32_t number, struct bytes *ret)
{
	struct field f;
	int r;

	*ret = (struct bytes){NULL, 0};
	while ((r = next_field(&m, &f)) > 0) {
		if (f.number == number && f.wire == WIRE_BYTES)
			*ret = f.data;
	}
	return r;
}

static bool bytes_begin(struct bytes b, const char *text)
{
	return b.data && b.len >= strlen(text) && !memcmp(b.data, text, strlen(text));
}

/* KeyValue {1: key, 2: AnyValue {1: string}} */
static int take_attribute(struct bytes m, struct otel_process *ret)
{
	struct bytes key, any, text = {NULL, 0};
	int r = bytes_field(m, 1, &key);

	r = r ? r : bytes_field(m, 2, &any);
	if (!r && any.data)
		r = bytes_field(any, 1, &text);
	if (r < 0 || !text.data)
		return r;
	if (bytes_is(key, "service.name")) {
		ret->service_len = (uint32_t)MIN(text.len, sizeof(ret->service));
		memcpy(ret->service, text.data, ret->service_len);
	} else if (bytes_is(key, "telemetry.sdk.name")) {
		ret->own = bytes_is(text, SPAN_MEMFD);
	} else if (bytes_is(key, "threadlocal.schema_version")) {
		/* "tlsdesc_v1_dev", "tls_v1"; other formats store it elsewhere */
		ret->threads = bytes_begin(text, "tls") ? 0 : -EPROTO;
	}
	return 0;
}

/* Resource {1: attributes} */
static int resource_take(struct bytes m, struct otel_process *ret)
{
	struct field f;
	int r;

	while ((r = next_field(&m, &f)) > 0) {
		if (f.number == 1 && f.wire == WIRE_BYTES)
			r = take_attribute(f.data, ret);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

int otel_process_parse(const uint8_t *message, size_t len, struct otel_process *ret)
{
	struct bytes m = {message, len};
	struct field f;
	int r;

	ret->service_len = 0;
	ret->own = false;
	ret->threads = -ENODATA;
	while ((r = next_field(&m, &f)) > 0) {
		if (f.number == 1 && f.wire == WIRE_BYTES)
			r = resource_take(f.data, ret);
		else if (f.number == 2 && f.wire == WIRE_BYTES)
			r = take_attribute(f.data, ret);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* ---- the memory of the process ---- */

static bool header_read(int32_t pid, uint64_t at, struct header *ret)
{
	return at && !remote_read(pid, at, ret, sizeof(*ret)) &&
	       !memcmp(ret->signature, SIGNATURE, sizeof(ret->signature));
}

/* At the announced address, else in a mapping with its name. */
static int header_find(int32_t pid, uint64_t at, uint64_t *ret_at, struct header *ret)
{
	uint64_t end;

	*ret_at = at;
	if (header_read(pid, at, ret))
		return 0;
	return remote_mapping(pid, SIGNATURE, ret_at, &end) && header_read(pid, *ret_at, ret)
		       ? 0
		       : -ENOENT;
}

/* The same in this thread. */
static int otel_process_read_here(int32_t pid, uint64_t at, uint64_t name, struct otel_process *ret)
{
	_cleanup_free_ uint8_t *payload = NULL;
	struct header h, again;
	char text[sizeof(h.signature)];
	uint64_t found;
	int r;

	if (name && (remote_read(pid, name, text, sizeof(text)) ||
		     memcmp(text, SIGNATURE, sizeof(text)) != 0))
		return -ENODATA;
	r = header_find(pid, at, &found, &h);
	if (r < 0)
		return r;
	if (!h.published_at)
		return -EAGAIN;
	if (h.version != VERSION || h.payload_size > PAYLOAD_MAX)
		return -EBADMSG;
	payload = malloc(h.payload_size + 1);
	if (!payload)
		return -ENOMEM;
	r = h.payload_size ? remote_read(pid, h.payload, payload, h.payload_size) : 0;
	if (!header_read(pid, found, &again) || memcmp(&h, &again, sizeof(h)) != 0)
		return -EAGAIN;
	if (r < 0)
		return -EBADMSG;
	r = otel_process_parse(payload, h.payload_size, ret);
	if (!r && !ret->threads)
		ret->threads = remote_tls_find(pid, VARIABLE, &ret->tls);
	return r;
}

/* ---- in a separate thread ---- */

struct job {
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	struct otel_reader *reader;
	int32_t pid;
	uint64_t at, name;
	bool done, left; /* left: the waiter gave up */
	int r;
	struct otel_process process;
};

static void job_free(struct job *j)
{
	pthread_cond_destroy(&j->done_cond);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static void *job_run(void *arg)
{
	struct job *j = arg;
	int r = otel_process_read_here(j->pid, j->at, j->name, &j->process);
	bool left;

	pthread_mutex_lock(&j->lock);
	j->r = r;
	j->done = true;
	left = j->left;
	pthread_cond_signal(&j->done_cond);
	pthread_mutex_unlock(&j->lock);
	if (left) {
		struct otel_reader *reader = j->reader;

		job_free(j);
		__atomic_sub_fetch(&reader->stuck, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static struct job *job_new(struct otel_reader *reader, int32_t pid, uint64_t at, uint64_t name)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct job){.reader = reader, .pid = pid, .at = at, .name = name};
	pthread_mutex_init(&j->lock, NULL);
	clock_cond_init(&j->done_cond);
	return j;
}

static bool job_wait(struct job *j)
{
	struct timespec until;
	int r = 0;

	clock_after(ANSWER_NS, &until);
	pthread_mutex_lock(&j->lock);
	while (!j->done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&j->done_cond, &j->lock, &until);
	j->left = !j->done;
	if (j->left)
		__atomic_add_fetch(&j->reader->stuck, 1, __ATOMIC_RELAXED);
	r = j->done;
	pthread_mutex_unlock(&j->lock);
	return r;
}

int otel_process_read(struct otel_reader *reader, int32_t pid, uint64_t at, uint64_t name,
		      struct otel_process *ret)
{
	struct job *j;
	pthread_t thread;
	int r;

	if (__atomic_load_n(&reader->stuck, __ATOMIC_RELAXED) >= STUCK_MAX)
		return -ETIME;
	j = job_new(reader, pid, at, name);
	if (!j)
		return -ENOMEM;
	r = pthread_create(&thread, NULL, job_run, j);
	if (r) {
		job_free(j);
		return -r;
	}
	pthread_detach(thread);
	if (!job_wait(j))
		return -ETIME;
	r = j->r;
	*ret = j->process;
	job_free(j);
	return r;
}
