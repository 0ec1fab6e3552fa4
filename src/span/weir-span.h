/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir-span.h: a program marks its spans, the times that mean something to it (a request, a query, a save), and `weir record`
 * stores them beside the program's system calls.
 *
 *	struct weir_span s;
 *
 *	weir_span_begin(&s, "save");
 *	weir_span_note(&s, "document", "budget");
 *	if (fsync(fd) < 0)
 *		weir_span_error(&s, strerror(errno));
 *	weir_span_end(&s);
 *
 * A span that begins is a child of the innermost one that is open on its thread, and is the innermost then, until it ends. While
 * nobody records, a call is a load and a branch; recording takes no system call. Functions never fail and never wait: where the
 * memory for records is full, a record is dropped and counted. They may be called from any thread, from signal
 * handlers (what comes upon another call of the same thread is dropped and counted), and after fork().
 *
 * Names and values are copied: they need not live on. Names and keys are cut at 255 bytes, values at 4,000.
 * Link with -lweir-span (pkg-config weir-span).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A span. It may lie on the stack; nothing refers to it. The members are the library's own. */
struct weir_span {
	uint64_t id; /* 0: it is not recorded */
	uint64_t trace[2];
	uint64_t outer, outer_trace[2]; /* what was innermost when it began */
	uint32_t failed, ring;
};

/* What names a span to other threads, processes and machines. */
struct weir_span_context {
	uint64_t trace[2]; /* both halves 0: none */
	uint64_t span;
	uint32_t flags; /* of traceparent: 1 is "sampled" */
	uint32_t pad;
};

/* In the order of OpenTelemetry. */
enum weir_span_kind {
	WEIR_SPAN_INTERNAL,
	WEIR_SPAN_SERVER,
	WEIR_SPAN_CLIENT,
	WEIR_SPAN_PRODUCER,
	WEIR_SPAN_CONSUMER
};

#define WEIR_SPAN_TRACEPARENT 56 /* bytes of W3C's text with its NUL */

/* The library's side of the functions below. */
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

/* Begins a span as a child of the innermost one that is open on this thread. Whatever *s held is forgotten. */
static inline void weir_span_begin(struct weir_span *s, const char *name)
{
	s->id = 0;
	if (weir_span_recorded())
		weir_span_begin_(s, name, WEIR_SPAN_INTERNAL, NULL);
}

/*
 * The same of another kind, or as a child of a span of another thread, process or machine. parent: NULL: as above; a context
 * that is all zero: the span begins a trace of its own.
 */
static inline void weir_span_begin_in(struct weir_span *s, const char *name,
				      enum weir_span_kind kind,
				      const struct weir_span_context *parent)
{
	s->id = 0;
	if (weir_span_recorded())
		weir_span_begin_(s, name, kind, parent);
}

/* Ends a span, on any thread; once. Spans of a thread end in reverse order, or what begins next may get a parent that has ended. */
static inline void weir_span_end(struct weir_span *s)
{
	if (__builtin_expect(s->id != 0, 0))
		weir_span_end_(s);
}

/* Notes a value, and the time; s NULL: in the innermost span that is open on this thread. */
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

/* Notes a moment alone: "cache missed". */
static inline void weir_span_event(const struct weir_span *s, const char *name)
{
	weir_span_note(s, name, NULL);
}

/* The span failed; message NULL: nobody says why, else it is noted as "error". */
static inline void weir_span_error(struct weir_span *s, const char *message)
{
	s->failed = 1;
	if (message)
		weir_span_note(s, "error", message);
}

/*
 * What names the span; s NULL: the innermost one of this thread. False, and a context that is all zero, where it is not
 * recorded.
 */
bool weir_span_context(const struct weir_span *s, struct weir_span_context *ret);

/*
 * Makes a span of another thread the innermost one of this thread (context NULL or zero: none is), without beginning one: for
 * work that a pool or an event loop carries on. ret_before, which may be NULL, receives what was: give it back afterwards.
 */
void weir_span_set_current(const struct weir_span_context *context,
			   struct weir_span_context *ret_before);

/* "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", as W3C's traceparent has it. 0, or -EINVAL of a context of zeros. */
int weir_span_to_traceparent(const struct weir_span_context *context,
			     char text[WEIR_SPAN_TRACEPARENT]);
/* And back, also of later versions of it. 0, or -EINVAL with a context that is all zero. */
int weir_span_from_traceparent(const char *text, struct weir_span_context *ret);

/* What this process is called among services; cut at 63 bytes. Until then it is OTEL_SERVICE_NAME of the environment, if set. */
void weir_span_service(const char *name);

/*
 * This thread, and a process that it forks, marks nothing from now on; what it would have is counted as lost. To be called before
 * seccomp's strict mode, in which the kernel kills whoever reads a clock, as the mark of a span does.
 */
void weir_span_leave(void);

/*
 * An annotation of a span whose ids the caller chose, for other libraries' interfaces (blkin/zipkin_c.h): the span lasts from its
 * first annotation to its last. value NULL and is_integer false: a moment. 0.
 */
int weir_span_annotate_blkin(uint64_t trace, uint64_t span, uint64_t parent, const char *name,
			     const char *service, const char *key, const char *value,
			     bool is_integer, int64_t integer);
/* A number of 63 bits that is not 0 and that no other thread or process gets. */
int64_t weir_span_new_id(void);

#ifdef __cplusplus
}
#endif
