/* SPDX-License-Identifier: Apache-2.0 */
/* trace_line.c: the lines of `weir trace`: time, thread, call, duration; ends of processes; the
 * table of -c. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "cli/trace/call_text.h"
#include "cli/terminal/loss_text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/trace/trace.h"
#include "names/names.h"
#include "schema/flags.h"
#include "schema/ops.h"

#define CALL_COLUMN 40 /* where strace prints the result */

int trace_out_open(struct trace_out *t, const struct trace_opts *o, FILE *file)
{
	*t = (struct trace_out){
		.file = file, .utc = o->utc, .origin = INT64_MIN, .before = INT64_MIN};
	t->phases = o->rec.phases;
	t->stacks = o->stacks || o->rec.stacks;
	t->content_max = (unsigned int)o->string_bytes;
	t->one_tid = -1;
	t->colour = !o->output && isatty(fileno(file)) && *text_style(TEXT_RED);
	for (size_t i = 0; i < o->rec.sel.tids.count; i++) {
		if (!strcmp(o->rec.sel.tids.items[i], "tt"))
			t->times = TRACE_EPOCH; /* -ttt, parsed as -t with a value */
		if (*o->rec.sel.tids.items[i] == 't')
			t->by_start = true;
	}
	if (o->relative)
		t->times = TRACE_DELTA;
	if (o->rel)
		t->times = TRACE_ORIGIN;
	if (o->rec.strace_f > 1 && o->output)
		return trace_files_new(&t->files, o->output);
	return o->summary ? rollup_new(&t->rollup, ROLLUP_OP) : 0;
}

int trace_out_begin(struct trace_out *t, const struct trace_opts *o, struct error *err)
{
	FILE *file;

	if (!o->output || t->files)
		return 0;
	file = output_text(o->output, err);
	if (!file)
		return err->code;
	t->file = file;
	return 0;
}

int trace_out_flush(struct trace_out *t)
{
	int r = trace_files_flush(t->files);

	return r == 0 ? text_flush(t->file) : r;
}

void trace_out_close(struct trace_out *t)
{
	rollup_free(t->rollup);
	trace_files_free(t->files);
	map_free(&t->ended);
	map_free(&t->shown);
	held_free(&t->held);
	buf_free(&t->line);
}

static const char *style(const struct trace_out *t, enum text_style s)
{
	return t->colour ? text_style(s) : "";
}

/* ---- parts of a line ---- */

static int put_seconds(struct buf *b, int64_t ns)
{
	return buf_printf(b, "%6lld.%06lld ", (long long)(ns / NSEC_PER_SEC),
			  (long long)(ns % NSEC_PER_SEC / NSEC_PER_USEC));
}

static int trace_line_put_time(struct trace_out *t, int64_t start)
{
	time_t seconds = (time_t)(start / NSEC_PER_SEC);
	int64_t since;
	char text[32];
	struct tm tm;

	if (start == INT64_MIN)
		return buf_printf(&t->line, t->times == TRACE_CLOCK ? "%15s " : "%13s ", "?");
	if (t->times == TRACE_EPOCH)
		return buf_printf(&t->line, "%lld.%06lld ", (long long)seconds,
				  (long long)(start % NSEC_PER_SEC / NSEC_PER_USEC));
	if (t->times == TRACE_DELTA || t->times == TRACE_ORIGIN) {
		int64_t from = t->times == TRACE_DELTA ? t->before : t->origin;

		since = from == INT64_MIN ? 0 : clock_between(from, start);
		t->before = start;
		return put_seconds(&t->line, MAX(since, 0));
	}
	(t->utc ? gmtime_r : localtime_r)(&seconds, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	return buf_printf(&t->line, "%s.%06lld ", text,
			  (long long)(start % NSEC_PER_SEC / NSEC_PER_USEC));
}

/*
 * strace -f --decode-pids=comm: [pid 4711<name>]; of several machines [pid 4711<db1:name>]. `host`: the machine, with
 * its colon, or empty.
 */
static int trace_line_put_thread(struct trace_out *t, int64_t tid, struct bytes host,
				 struct bytes comm)
{
	/* the file's name identifies it unless other machines have such a thread, or it is the only thread */
	if (!host.len && (t->files || t->one_tid == tid))
		return 0;
	buf_printf(&t->line, "%s[pid %5lld", style(t, TEXT_DIM), (long long)tid);
	if (host.len || comm.data) {
		buf_append(&t->line, "<", 1);
		call_text_escape(&t->line, host, "<>");
		call_text_escape(&t->line, comm, "<>");
		buf_append(&t->line, ">", 1);
	}
	return buf_printf(&t->line, "]%s ", style(t, TEXT_PLAIN));
}

/* The same for a thread of a trace. */
static void put_thread_of(struct trace_out *t, int64_t tid, const struct dims *dims, int64_t id,
			  struct bytes comm)
{
	_cleanup_buf_ struct buf host = {0};

	buf_fail(&t->line, names_put_host(dims, TABLE_THREAD, id, &host));
	trace_line_put_thread(t, tid, buf_bytes(&host), comm);
}

void trace_thread(struct trace_out *t, int64_t tid)
{
	if (t->one_tid == -1)
		t->one_tid = tid;
	else if (t->one_tid != tid)
		t->one_tid = -2;
}

/* Holds the line, complete except for its time, `at`; tid -1: it has neither thread nor time. */
static int trace_line_hold(struct trace_out *t, int64_t turn, int64_t at, int64_t tid)
{
	int r = buf_append(&t->line, "\n", 1);

	return r < 0 ? r : held_add(&t->held, turn, at, tid, buf_bytes(&t->line));
}

static int trace_line_print(struct trace_out *t, const struct held_line *l)
{
	int r;

	buf_clear(&t->line);
	if (l->tid >= 0)
		trace_line_put_time(t, l->at);
	r = buf_append(&t->line, l->text, l->len);
	if (r < 0)
		return r;
	if (t->files && l->tid >= 0)
		return trace_files_line(t->files, l->tid, buf_bytes(&t->line));
	return fwrite(t->line.data, 1, t->line.len, t->file) == t->line.len ? 0 : -errno;
}

int trace_release(struct trace_out *t, int64_t until)
{
	struct held_line line;
	int r = 0;

	while (r == 0 && held_take(&t->held, until, &line)) {
		r = trace_line_print(t, &line);
		free(line.text);
	}
	return r;
}

/* ---- lines ---- */

static int put_result(struct trace_out *t, const struct batch *op, size_t row,
		      const struct dims *dims)
{
	int64_t ret = batch_get(op, OP_RET, row, INT64_MIN);
	enum text_style s = ret == INT64_MIN	      ? TEXT_YELLOW
			    : ret < 0 && ret >= -4095 ? TEXT_RED
						      : TEXT_PLAIN;

	buf_printf(&t->line, " = %s", s == TEXT_PLAIN ? "" : style(t, s));
	call_text_result(&t->line, op, row, dims, NULL);
	if (s != TEXT_PLAIN)
		buf_printf(&t->line, "%s", style(t, TEXT_PLAIN));
	return buf_status(&t->line);
}

/* Adds one part to a list in brackets, unless it is zero. */
static int put_phase(struct trace_out *t, const char **separator, const char *what,
		     struct text amount, int64_t value)
{
	if (value > 0)
		buf_printf(&t->line, "%s%s %s", *separator, what, amount.s);
	if (value > 0)
		*separator = ", ";
	return buf_status(&t->line);
}

/* " [queued 1.00 ms, device 9.00 ms]": the requests' time while the call waited for I/O. */
static int put_io_split(struct trace_out *t, const struct batch *op, size_t row)
{
	int64_t queued = batch_get(op, OP_IO_QUEUED, row, 0),
		device = batch_get(op, OP_IO_DEVICE, row, 0);
	const char *separator = " [";

	put_phase(t, &separator, "queued", format_dur(queued), queued);
	put_phase(t, &separator, "device", format_dur(device), device);
	if (queued > 0 || device > 0)
		buf_printf(&t->line, "]");
	return buf_status(&t->line);
}

/* " (CPU 23.0 us, sleep 100 ms)": where the time went, for a call that did more than run. */
static int put_phases(struct trace_out *t, const struct batch *op, size_t row)
{
	static const struct {
		const char *what;
		unsigned int column;
	} times[] = {{"CPU", OP_CPU_TIME},
		     {"run queue", OP_RUNQ},
		     {"I/O", OP_IO_WAIT},
		     {"sleep", OP_SLEEP}};
	int64_t misses = batch_get(op, OP_MISSES, row, 0),
		read = batch_get(op, OP_READ_BYTES, row, 0);
	bool known = !batch_is_null(op, OP_CPU_TIME, row);
	const char *separator = " (";

	if (batch_is_null(op, OP_MISSES, row) ||
	    (known && !misses && !read &&
	     batch_get(op, OP_CPU_TIME, row, 0) == batch_get(op, OP_DUR, row, 0)))
		return buf_status(&t->line);
	if (!known) {
		buf_printf(&t->line, "%sphases not known", separator);
		separator = ", ";
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		int64_t v = batch_get(op, times[i].column, row, 0);

		put_phase(t, &separator, times[i].what, format_dur(v), known ? v : 0);
		if (times[i].column == OP_IO_WAIT && v > 0)
			put_io_split(t, op, row);
	}
	put_phase(t, &separator, "missed", format_count((uint64_t)MAX(misses, 0)), misses);
	put_phase(t, &separator, "read", format_size((uint64_t)MAX(read, 0)), read);
	return buf_printf(&t->line, ")");
}

/* " (io_uring, pos 8192)": a request, not a call of the thread. libaio requests have their position in the call. */
static int put_call_kind(struct trace_out *t, const struct batch *op, size_t row)
{
	int64_t kind = batch_get(op, OP_KIND, row, KIND_SYSCALL);
	bool ring = kind == KIND_IO_URING;

	if (!ring && kind != KIND_LIBAIO)
		return buf_status(&t->line);
	buf_printf(&t->line, " (%s", vocab_word("kind", kind));
	if (ring && !batch_is_null(op, OP_POS, row))
		buf_printf(&t->line, ", pos %lld", (long long)batch_get(op, OP_POS, row, 0));
	return buf_printf(&t->line, ")");
}

/* " <0.000012345>". A call without a start was running when recording began, so it lasted longer. */
static int put_dur(struct trace_out *t, const struct batch *op, size_t row)
{
	int64_t dur = batch_get(op, OP_DUR, row, -1);

	if (dur < 0)
		return buf_status(&t->line);
	return buf_printf(&t->line, " <%s%lld.%09lld>",
			  batch_is_null(op, OP_START, row) ? "at least " : "",
			  (long long)(dur / NSEC_PER_SEC), (long long)(dur % NSEC_PER_SEC));
}

/* Prints what the call returned in addition to its result: descriptors, with their files if known. */
static int put_returned(struct trace_out *t, const struct batch *op, size_t row,
			const struct trace_beside *beside, const struct dims *dims,
			const struct call_text_style *s)
{
	if (beside && beside->tables[BESIDE_POLL].count)
		return call_text_waited(&t->line, &beside->tables[BESIDE_POLL], dims);
	return beside ? call_text_returned(&t->line, op, row, dims, s) : buf_status(&t->line);
}

int trace_call(struct trace_out *t, const struct batch *op, size_t row,
	       const struct trace_beside *beside, const struct dims *dims)
{
	const struct dims_thread *thread = dims_thread(dims, batch_get(op, OP_THREAD_ID, row, -1));
	int64_t tid = batch_get(op, OP_TID, row, -1),
		start = batch_get(op, OP_START, row, INT64_MIN);
	int64_t end = start == INT64_MIN ? start : start + MAX(batch_get(op, OP_DUR, row, 0), 0);
	struct call_text_style s = {.detailed = t->detailed, .content_max = t->content_max};
	size_t at;

	if (beside) {
		s.details = beside->tables[BESIDE_DETAIL];
		s.content = beside->tables[BESIDE_CONTENT];
	}
	buf_clear(&t->line);
	trace_thread(t, tid);
	put_thread_of(t, tid, dims, batch_get(op, OP_THREAD_ID, row, -1),
		      thread ? thread->comm : (struct bytes){(const uint8_t *)"?", 1});
	at = t->line.len;
	if (t->only_shown && thread && thread->process_id >= 0)
		buf_fail(&t->line, map_set(&t->shown, (uint64_t)thread->process_id, 1));
	call_text_entry(&t->line, op, row, dims, &s);
	for (size_t used = t->line.len - at; used + 1 < CALL_COLUMN; used++)
		buf_append(&t->line, " ", 1);
	put_result(t, op, row, dims);
	put_call_kind(t, op, row);
	put_returned(t, op, row, beside, dims, &s);
	put_dur(t, op, row);
	if (t->phases)
		put_phases(t, op, row);
	if (t->stacks)
		buf_fail(&t->line,
			 trace_put_stack(&t->line, dims, batch_get(op, OP_STACK_ID, row, -1)));
	return trace_line_hold(t, t->by_start ? start : end, start, tid);
}

int trace_signal(struct trace_out *t, const struct batch *signal, size_t row,
		 const struct dims *dims)
{
	int64_t id = batch_get(signal, SIGNAL_THREAD_ID, row, -1);
	const struct dims_thread *thread = dims_thread(dims, id);
	int64_t at = batch_get(signal, SIGNAL_AT, row, INT64_MIN);

	if (!thread)
		return 0;
	buf_clear(&t->line);
	trace_thread(t, thread->tid);
	put_thread_of(t, thread->tid, dims, id, thread->comm);
	buf_printf(&t->line, "%s--- ", style(t, TEXT_YELLOW));
	call_text_signal(&t->line, signal, row);
	buf_printf(&t->line, " ---%s", style(t, TEXT_PLAIN));
	return trace_line_hold(t, at, at, thread->tid);
}

int trace_still(struct trace_out *t, int64_t tid, struct bytes comm, struct bytes call, int64_t ns)
{
	int64_t now = clock_realtime_ns();

	buf_clear(&t->line);
	trace_thread(t, tid);
	trace_line_put_thread(t, tid, (struct bytes){0}, comm);
	buf_printf(&t->line, "%s... still in ", style(t, TEXT_YELLOW));
	buf_append(&t->line, call.data, call.len);
	buf_printf(&t->line, " %.1f s%s", (double)ns / NSEC_PER_SEC, style(t, TEXT_PLAIN));
	return trace_line_hold(t, now, now, tid);
}

int trace_loss(struct trace_out *t, const struct batch *loss)
{
	const char *separator = "";
	struct loss sum = {0};

	buf_clear(&t->line);
	loss_add(&sum, loss);
	buf_printf(&t->line, "%s--- missing: ", style(t, TEXT_RED));
	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		if ((!sum.events[c] && !sum.more[c]) || c == CAUSE_RUNNING_UNREAD)
			continue; /* no line is due for the latter: live_warn_lost() reports it */
		buf_printf(&t->line, "%s%s %s", separator, vocab_word("cause", c),
			   sum.events[c] ? format_count(sum.events[c]).s : "?");
		separator = ", ";
	}
	if (!*separator)
		return 0;
	buf_printf(&t->line, " ---%s", style(t, TEXT_PLAIN));
	return trace_line_hold(t, clock_realtime_ns(), INT64_MIN, -1);
}

static int put_ended(struct trace_out *t, int64_t id, int64_t pid, int64_t stopped, int64_t status,
		     struct bytes host)
{
	int r;

	if (id < 0 || status < 0 || stopped == INT64_MIN || map_get(&t->ended, (uint64_t)id, NULL))
		return 0;
	r = map_set(&t->ended, (uint64_t)id, 1);
	if (r < 0 || (t->only_shown && !map_get(&t->shown, (uint64_t)id, NULL)))
		return r;
	map_del(&t->shown, (uint64_t)id);
	buf_clear(&t->line);
	trace_thread(t, pid);
	trace_line_put_thread(t, pid, host, (struct bytes){0});
	if (WIFSIGNALED((int)status)) {
		const char *word = flags_word(WORDS_SIGNAL, (uint64_t)WTERMSIG((int)status));

		buf_printf(&t->line, "+++ killed by %s%s +++", word ? word : "?",
			   WCOREDUMP((int)status) ? " (core dumped)" : "");
	} else {
		buf_printf(&t->line, "+++ exited with %d +++", WEXITSTATUS((int)status));
	}
	return trace_line_hold(t, stopped, stopped, pid);
}

int trace_process(struct trace_out *t, const struct batch *process, size_t row)
{
	return put_ended(t, batch_get(process, PROCESS_ID, row, -1),
			 batch_get(process, PROCESS_PID, row, -1),
			 batch_get(process, PROCESS_STOPPED, row, INT64_MIN),
			 batch_get(process, PROCESS_STATUS, row, -1), (struct bytes){0});
}

int trace_ended(struct trace_out *t, int64_t process_id, const struct dims *dims)
{
	const struct dims_process *p = dims_process(dims, process_id);
	_cleanup_buf_ struct buf host = {0};
	int r = names_put_host(dims, TABLE_PROCESS, process_id, &host);

	return p && r >= 0
		       ? put_ended(t, process_id, p->pid, p->stopped, p->status, buf_bytes(&host))
		       : r;
}

/* ---- -c ---- */

static int trace_line_by_time(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	return ORDER(y->time_ns, x->time_ns) ?: ORDER(x->op, y->op);
}

static void summary_row(FILE *f, double percent, uint64_t time_ns, uint64_t calls, uint64_t errors,
			const char *name)
{
	char text[24] = "";

	if (errors)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)errors);
	fprintf(f, "%6.2f %11.6f %11llu %9llu %9s %s\n", percent, (double)time_ns / NSEC_PER_SEC,
		(unsigned long long)(calls ? time_ns / calls / NSEC_PER_USEC : 0),
		(unsigned long long)calls, text, name);
}

int trace_summary(struct trace_out *t)
{
	_cleanup_free_ const struct rollup_row **rows = NULL;
	uint64_t time_ns = 0, calls = 0, errors = 0;
	size_t count;
	char name[32];
	int r = rollup_sorted(t->rollup, NULL, trace_line_by_time, &rows, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		time_ns = add_sat(time_ns, rows[i]->time_ns);
		calls += rows[i]->calls;
		errors += rows[i]->errors;
	}
	fprintf(t->file, "%% time     seconds  usecs/call     calls    errors syscall\n"
			 "------ ----------- ----------- --------- --------- ----------------\n");
	for (size_t i = 0; i < count; i++)
		summary_row(t->file,
			    time_ns ? 100.0 * (double)rows[i]->time_ns / (double)time_ns : 0,
			    rows[i]->time_ns, rows[i]->calls, rows[i]->errors,
			    rows[i]->op < 0 ? "?" : op_name((uint32_t)rows[i]->op, name));
	fprintf(t->file, "------ ----------- ----------- --------- --------- ----------------\n");
	summary_row(t->file, time_ns ? 100 : 0, time_ns, calls, errors, "total");
	if (rollup_running(t->rollup))
		fprintf(t->file, "still running: %llu\n",
			(unsigned long long)rollup_running(t->rollup));
	return text_flush(t->file);
}
