/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c: exports the header's inline functions under their own names, for languages that load the library without
 * reading the header (ctypes, FFI). C cannot define a name twice in one file, so the names are set in assembly.
 */
#include "internal.h"

/* The space that such callers reserve, as documented in docs/howto/mark-spans.md. */
_Static_assert(sizeof(struct weir_span) == 56, "part of the library's interface");
_Static_assert(sizeof(struct weir_span_context) == 32, "part of the library's interface");

#define FOREIGN(declaration, name)        \
	EXPORT declaration __asm__(name); \
	declaration

FOREIGN(bool span_recorded(void), "weir_span_recorded")
{
	return weir_span_recorded();
}

FOREIGN(void span_begin(struct weir_span *s, const char *name), "weir_span_begin")
{
	weir_span_begin(s, name);
}

FOREIGN(void span_begin_in(struct weir_span *s, const char *name, enum weir_span_kind kind,
			   const struct weir_span_context *parent),
	"weir_span_begin_in")
{
	weir_span_begin_in(s, name, kind, parent);
}

FOREIGN(void span_end(struct weir_span *s), "weir_span_end")
{
	weir_span_end(s);
}

FOREIGN(void span_note(const struct weir_span *s, const char *key, const char *value),
	"weir_span_note")
{
	weir_span_note(s, key, value);
}

FOREIGN(void span_note_int(const struct weir_span *s, const char *key, int64_t value),
	"weir_span_note_int")
{
	weir_span_note_int(s, key, value);
}

FOREIGN(void span_event(const struct weir_span *s, const char *name), "weir_span_event")
{
	weir_span_event(s, name);
}

FOREIGN(void span_error(struct weir_span *s, const char *message), "weir_span_error")
{
	weir_span_error(s, message);
}
