/* SPDX-License-Identifier: Apache-2.0 */
/* call_waited.c: descriptors that a call found ready, or waited on, in strace's notation for poll(). */
#include "cli/trace/call_names.h"
#include "schema/flags.h"

static bool is_epoll(int64_t op)
{
	return op == op_find("epoll_wait") || op == op_find("epoll_pwait") ||
	       op == op_find("epoll_pwait2");
}

static void put_descriptor(struct call_writer *w, bool ready)
{
	enum word_set words = is_epoll(call_value(w, POLL_OP, -1)) ? WORDS_EPOLL_EVENT : WORDS_POLL;
	unsigned int column = ready ? POLL_REVENTS : POLL_EVENTS;

	call_put(w, "{fd=");
	if (call_has(w, POLL_FD))
		call_put_fd(w, call_value(w, POLL_FD, -1), call_value(w, POLL_FILE_ID, -1));
	else
		call_put(w, "?");
	call_put(w, ready ? ", revents=" : ", events=");
	call_note(w, flags_print(w->to, words, (uint64_t)call_value(w, column, 0)));
	call_put(w, "}");
}

int call_text_waited(struct buf *to, const struct call_rows *poll, const struct dims *dims)
{
	static const struct call_text_style plain = {0};
	struct call_writer w = {.to = to, .op = poll->batch, .dims = dims, .style = &plain};
	bool ready;

	if (!poll->count)
		return 0;
	ready = !batch_is_null(poll->batch, POLL_REVENTS, poll->rows[0]);
	call_put(&w, ready ? " ([" : " (waited on [");
	for (size_t i = 0; i < poll->count; i++) {
		w.row = poll->rows[i];
		if (i)
			call_put(&w, ", ");
		put_descriptor(&w, ready);
	}
	call_put(&w, batch_get(poll->batch, POLL_LEFT_OUT, poll->rows[0], 1) ? ", ...])" : "])");
	return w.error;
}
