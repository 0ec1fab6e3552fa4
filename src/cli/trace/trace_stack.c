/* SPDX-License-Identifier: Apache-2.0 */
/* trace_stack.c: -k: the functions that led to a call, one per line. */
#include <string.h>

#include "cli/trace/call_text.h"
#include "cli/trace/trace.h"

static int trace_stack_put_frame(struct buf *to, struct bytes name)
{
	int r = buf_append(to, "\n > ", 4);

	return r == 0 ? call_text_escape(to, name, "") : r;
}

/* The functions are outermost first, separated by semicolons. */
static int trace_stack_put_names(struct buf *to, struct bytes names)
{
	int r = 0;

	while (names.len && r == 0) {
		const uint8_t *at = memrchr(names.data, ';', names.len);
		size_t from = at ? (size_t)(at - names.data) + 1 : 0;

		r = trace_stack_put_frame(to, (struct bytes){names.data + from, names.len - from});
		names.len = from ? from - 1 : 0;
	}
	return r;
}

/* The path in the line "NUMBER BUILD-ID PATH"; empty: there is none. */
static struct bytes module_path(struct bytes modules, uint64_t number)
{
	while (modules.len) {
		const uint8_t *end = memchr(modules.data, '\n', modules.len);
		size_t len = end ? (size_t)(end - modules.data) : modules.len;
		const uint8_t *id = memchr(modules.data, ' ', len), *path;
		char *stop;

		if (id && strtoul((const char *)modules.data, &stop, 10) == number &&
		    (const uint8_t *)stop == id) {
			path = memchr(id + 1, ' ', len - (size_t)(id + 1 - modules.data));
			if (path)
				return (struct bytes){path + 1,
						      len - (size_t)(path + 1 - modules.data)};
		}
		modules.data += MIN(len + 1, modules.len);
		modules.len -= MIN(len + 1, modules.len);
	}
	return (struct bytes){NULL, 0};
}

/* "0+0x1234": an address in module 0. While recording, functions have no names yet. */
static int trace_stack_put_place(struct buf *to, struct bytes place, struct bytes modules)
{
	const uint8_t *plus = memchr(place.data, '+', place.len);
	char *end;
	unsigned long number = plus ? strtoul((const char *)place.data, &end, 10) : 0;
	struct bytes path = plus ? module_path(modules, number) : (struct bytes){NULL, 0};
	int r;

	if (!path.len)
		return trace_stack_put_frame(to, place);
	r = trace_stack_put_frame(to, path);
	return r == 0 ? call_text_escape(
				to, (struct bytes){plus, place.len - (size_t)(plus - place.data)},
				"")
		      : r;
}

static int trace_stack_put_places(struct buf *to, struct bytes places, struct bytes modules)
{
	int r = 0;

	while (places.len && r == 0) {
		const uint8_t *at;
		size_t from;

		while (places.len && places.data[places.len - 1] == '\n')
			places.len--;
		at = places.len ? memrchr(places.data, '\n', places.len) : NULL;
		from = at ? (size_t)(at - places.data) + 1 : 0;
		if (places.len)
			r = trace_stack_put_place(
				to, (struct bytes){places.data + from, places.len - from}, modules);
		places.len = from;
	}
	return r;
}

int trace_put_stack(struct buf *to, const struct dims *dims, int64_t stack_id)
{
	const struct dims_stack *s = stack_id >= 0 ? dims_stack(dims, stack_id) : NULL;

	if (!s)
		return 0;
	return s->names.len ? trace_stack_put_names(to, s->names)
			    : trace_stack_put_places(to, s->frames, s->modules);
}
