/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir-span.h: a program marks its spans, intervals that are meaningful to it (a request, a query, a save), and `weir
 * record` stores them alongside the program's system calls.
 *
 *	struct weir_span s;
 *
 *	weir_span_begin(&s, "save");
 *	weir_span_note(&s, "document", "budget");
 *	if (fsync(fd) < 0)
 *		weir_span_error(&s, strerror(errno));
 *	weir_span_end(&s);
 *
 * A new span becomes a child of the innermost open span of its thread, and is the innermost one until it ends. While
 * nobody records, a call costs a load and a branch; recording makes no system calls. Functions never fail and never
 * wait: if the memory for records is full, a record is dropped and counted. They may be called from any thread, from
 * signal handlers (a call that interrupts another one on the same thread is dropped and counted), and after fork().
 *
 * Names and values are copied. Names and keys are truncated to 255 bytes, values to 4,000. Link with -lweir-span
 * (pkg-config weir-span).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A span. It may be on the stack; nothing refers to it. The members are private to the library. */
struct weir_span {
	uint64_t id; /* 0: not recorded */
	uint64_t trace[2];
	uint64_t outer, outer_trace[2]; /* the innermost span when it began */
	uint32_t failed, ring;
};

/* Identifies a span to other threads, processes and machines. */
struct weir_span_context {
	uint64_t trace[2]; /* both halves 0: no span */
	uint64_t span;
	uint32_t flags; /* as in traceparent: 1 is "sampled" */
	uint32_t pad;
};

/* In OpenTelemetry's order. */
enum weir_span_kind {
	WEIR_SPAN_INTERNAL,
	WEIR_SPAN_SERVER,
	WEIR_SPAN_CLIENT,
	WEIR_SPAN_PRODUCER,
	WEIR_SPAN_CONSUMER
};

#define WEIR_SPAN_TRACEPARENT 56 /* size of W3C's text with its NUL */

/* The library functions behind those below. */
extern const volatile uint32_t *weir_span_on_;
void weir_span_begin_(struct weir_span *s, const char *name, enum weir_span_kind kind,
		      const struct weir_span_context *parent);
void weir_span_end_(struct weir_span *s);
void weir_span_note_(const struct weir_span *s, const char *key, const char *value);
void weir_span_note_int_(const struct weir_span *s, const char *key, int64_t value);

/* Whether spans that begin now are recorded. */
static inline bool weir_span_recorded(void)
{
	return __builtin_expect(*weir_span_on_ != 0, 0);
}

/* Begins a span as a child of the innermost open span of this thread. Overwrites *s. */
static inline void weir_span_begin(struct weir_span *s, const char *name)
{
	s->id = 0;
	if (weir_span_recorded())
		weir_span_begin_(s, name, WEIR_SPAN_INTERNAL, NULL);
}

/*
 * The same with a kind, or as a child of a span of another thread, process or machine. parent NULL: as above; an
 * all-zero context: the span begins a new trace.
 */
static inline void weir_span_begin_in(struct weir_span *s, const char *name,
				      enum weir_span_kind kind,
				      const struct weir_span_context *parent)
{
	s->id = 0;
	if (weir_span_recorded())
		weir_span_begin_(s, name, kind, parent);
}

/* Ends a span, once, on any thread. A thread's spans must end in reverse order, or the next one that begins may get a
 * parent that has ended. */
static inline void weir_span_end(struct weir_span *s)
{
	if (__builtin_expect(s->id != 0, 0))
		weir_span_end_(s);
}

/* Records a value with the current time; s NULL: in the innermost open span of this thread. */
static inline void weir_span_note(const struct weir_span *s, const char *key, const char *value)
{
	if (s ? __builtin_expect(s->id != 0, 0) : weir_span_recorded())
		weir_span_note_(s, key, value);
}
static inline void weir_span_note_int(const struct weir_span *s, const char *key, int64_t value)
{
	if (s ? __builtin_expect(s->id != 0, 0) : weir_span_recorded())
		weir_span_note_int_(s, key, value);
}

/* Records an event without a value: "cache missed". */
static inline void weir_span_event(const struct weir_span *s, const char *name)
{
	weir_span_note(s, name, NULL);
}

/* Marks the span as failed; `message` is noted as "error", or may be NULL. */
static inline void weir_span_error(struct weir_span *s, const char *message)
{
	s->failed = 1;
	if (message)
		weir_span_note(s, "error", message);
}

/*
 * The context of a span; s NULL: the innermost one of this thread. False, and an all-zero context, if it is not
 * recorded.
 */
bool weir_span_context(const struct weir_span *s, struct weir_span_context *ret);

/*
 * Makes a span of another thread the innermost one of this thread without beginning one (context NULL or zero: no
 * span), for work that continues in a pool or an event loop. ret_before, which may be NULL, receives the previous
 * context: restore it afterwards.
 */
void weir_span_set_current(const struct weir_span_context *context,
			   struct weir_span_context *ret_before);

/* W3C's traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01". 0, or -EINVAL for an all-zero context. */
int weir_span_to_traceparent(const struct weir_span_context *context,
			     char text[WEIR_SPAN_TRACEPARENT]);
/* Parses a traceparent, also of later versions. 0, or -EINVAL with an all-zero context. */
int weir_span_from_traceparent(const char *text, struct weir_span_context *ret);

/* Sets the service name of this process, truncated to 63 bytes. The default is the environment variable
 * OTEL_SERVICE_NAME. */
void weir_span_service(const char *name);

/*
 * From now on this thread, and any process that it forks, records nothing; its spans are counted as lost. Call this
 * before entering seccomp's strict mode, in which the kernel kills a thread that reads a clock, as recording a span
 * does.
 */
void weir_span_leave(void);

/*
 * An annotation of a span whose ids the caller chose, for the interfaces of other libraries (blkin/zipkin_c.h): the
 * span lasts from its first annotation to its last. value NULL and is_integer false: an event. Returns 0.
 */
int weir_span_annotate_blkin(uint64_t trace, uint64_t span, uint64_t parent, const char *name,
			     const char *service, const char *key, const char *value,
			     bool is_integer, int64_t integer);
/* A nonzero 63-bit number that no other thread or process gets. */
int64_t weir_span_new_id(void);

#ifdef __cplusplus
}
#endif
