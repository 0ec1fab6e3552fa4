/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.c: OpenTelemetry's two records, so that its profilers also see this library's spans. The process's record
 * (OTEP 4719) is a page that begins with "OTEL_CTX" and names the service; a thread's record (OTEP 4947) is pointed to
 * by the thread-local otel_thread_ctx_v1. Recorders of weir read the spans themselves, and recognize the process by the
 * name of its SDK.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "internal.h"

#define CONTEXT_NAME	"OTEL_CTX"
#define CONTEXT_VERSION 2

/* The layout of the specification, in native byte order. */
struct context_page {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at; /* CLOCK_BOOTTIME, ns; 0: being changed */
	uint64_t payload;      /* its address */
	uint8_t message[512];
};

/* Exported by this name; found by TLSDESC (-mtls-dialect=gnu2) or, in an executable, by its offset. */
EXPORT __thread void *otel_thread_ctx_v1;

/* The process's page; a forked child does not inherit it. */
static struct context_page *page;
static int32_t page_pid;

/* ---- protobuf ---- */

static uint8_t *otel_put_field(uint8_t *at, uint32_t number, const void *data, size_t len)
{
	*at++ = (uint8_t)(number << 3 | 2);
	if (len >= 128)
		*at++ = (uint8_t)(len | 128);
	*at++ = (uint8_t)(len >= 128 ? len >> 7 : len);
	memcpy(at, data, len);
	return at + len;
}

/* KeyValue {1: key, 2: AnyValue {1: string}} */
static size_t otel_put_pair(uint8_t *to, const char *key, const char *value)
{
	uint8_t any[128], *end;

	end = otel_put_field(any, 1, value, strnlen(value, sizeof(any) - 4));
	end = otel_put_field(otel_put_field(to, 1, key, strlen(key)), 2, any, (size_t)(end - any));
	return (size_t)(end - to);
}

/* ProcessContext {1: Resource {1: KeyValue ...}, 2: KeyValue ...} */
static uint32_t otel_put_process(uint8_t *to, const char *service)
{
	uint8_t resource[320], pair[192], *end = resource;

	if (*service)
		end = otel_put_field(end, 1, pair, otel_put_pair(pair, "service.name", service));
	end = otel_put_field(end, 1, pair, otel_put_pair(pair, "telemetry.sdk.name", SPAN_MEMFD));
	end = otel_put_field(to, 1, resource, (size_t)(end - resource));
	end = otel_put_field(end, 2, pair,
			     otel_put_pair(pair, "threadlocal.schema_version", "tlsdesc_v1_dev"));
	return (uint32_t)(end - to);
}

/* ---- the process ---- */

static struct context_page *page_map(void)
{
	int fd = memfd_create(CONTEXT_NAME, MFD_CLOEXEC);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, SPAN_PAGE))
		p = mmap(NULL, SPAN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	if (!madvise(p, SPAN_PAGE, MADV_DONTFORK))
		return p;
	munmap(p, SPAN_PAGE);
	return NULL;
}

void weir_span_publish_process_(void)
{
	struct timespec t;
	uint64_t now;

	if (page_pid != getpid()) {
		page = page_map();
		page_pid = getpid();
	}
	if (!page)
		return;
	clock_gettime(CLOCK_BOOTTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
	if (now <= page->published_at) /* published times are distinct */
		now = page->published_at + 1;
	__atomic_store_n(&page->published_at, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(page->signature, CONTEXT_NAME, sizeof(page->signature));
	page->version = CONTEXT_VERSION;
	page->payload = (uint64_t)(uintptr_t)page->message;
	page->payload_size = otel_put_process(page->message, weir_span_all_.service);
	__atomic_store_n(&page->published_at, now, __ATOMIC_SEQ_CST);
	/* Readers observe the call even if the kernel refuses it. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, SPAN_PAGE, CONTEXT_NAME);
}

/* ---- a thread ---- */

void weir_span_publish_thread_(struct writer *w)
{
	w->published.flags = 1;	 /* sampled */
	if (!otel_thread_ctx_v1) /* otherwise another library publishes here */
		otel_thread_ctx_v1 = &w->published;
}
