/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording.h"

#include <errno.h>
#include <unistd.h>

#define BACKLOG_LEAST (4u << 20)
#define RING_LEAST    (256u << 10)
#define RING_MOST     (4u << 20)

int recording_split(struct recording *r, struct error *err)
{
	return where_push(&r->where, &r->select, &r->kernel, err);
}

static int recording_fork(struct recording *r, const struct recording_options *o, struct error *err)
{
	int e;

	if (!o->argv)
		return 0;
	r->command = (struct record_command){.argv = o->argv, .user = o->user};
	e = record_child_new(&r->child, &r->command, err);
	if (e < 0)
		return e;
	r->session.child = &r->child;
	/* The whole host while the command runs, or only the command and its children. */
	if (r->select.everything)
		return 0;
	if (r->select.pid_count == SELECT_LIST_MAX)
		return error_set(err, -E2BIG, "-p: more than %d processes", SELECT_LIST_MAX - 1);
	r->select.pids[r->select.pid_count++] = (int32_t)r->child.pid;
	return 0;
}

/* If the control group's limit is low, buffers are smaller, and bursts lose calls sooner. */
static void recording_fit_memory(struct recording *r, struct ebpf_options *opt)
{
	uint64_t limit = record_memory_limit(), rings;

	r->memory_limit = limit;
	if (limit < RECORDING_MEMORY_ENOUGH) {
		opt->little_memory = true;
		opt->backlog_bytes = MAX(limit / 16, (uint64_t)BACKLOG_LEAST);
		rings = limit / 16 / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
		if (!opt->ring_bytes) {
			opt->ring_bytes = RING_LEAST;
			while (opt->ring_bytes * 2 <= MIN(rings, (uint64_t)RING_MOST))
				opt->ring_bytes *= 2;
		}
	}
	r->ring_bytes = opt->ring_bytes;
}

static void recording_prepare(struct recording *r, const struct recording_options *o)
{
	struct record_options *s = &r->session;

	s->where = r->where.expr;
	s->enrich = r->enrich;
	r->marks[0] = (struct record_mark){"weir.selection", o->selection};
	s->marks = r->marks;
	s->mark_count = o->selection && *o->selection ? 1 : 0;
	s->no_argv = o->no_argv;
	s->keep_secrets = o->keep_secrets;
	s->signals = o->signals;
	s->targets_gone = ebpf_source_targets_gone;
	s->shared_signal = ebpf_source_shared_signal;
	s->stop_with_targets = !o->argv && (r->select.pid_count || r->select.tid_count);
}

int recording_open(struct recording *r, const struct recording_options *o, struct error *err)
{
	struct ebpf_options opt = {.ring_bytes = (size_t)o->ring_bytes,
				   .lossless = o->lossless,
				   .raw_args = o->raw_args,
				   .with = o->with,
				   .stacks = o->stacks,
				   .content = o->content,
				   .spans = o->spans,
				   .detail_bytes = o->detail_bytes,
				   .no_argv = o->no_argv,
				   .detail_argv = !o->stored && !o->no_argv,
				   .select = &r->select,
				   .filter = &r->kernel};
	int e;

	r->child = RECORD_CHILD_NONE;
	e = recording_fork(r, o, err);
	if (e < 0)
		return e;
	recording_fit_memory(r, &opt);
	/* whether a running call passes the filter is known only when it ends */
	opt.mark_running = o->stored && !r->where.expr;
	opt.command_pid = (int32_t)MAX(r->child.pid, 0);
	/* A tree needs a root: without one (-a, --comm, --cgroup, ...) following would select nothing. */
	r->select.follow &= r->select.pid_count || r->select.tid_count;
	e = ebpf_source_new(&r->source, &opt, err);
	if (e < 0)
		return e;
	e = enrich_new(&r->enrich, err);
	if (e < 0)
		return e;
	recording_prepare(r, o);
	return privilege_become_caller(err);
}

int recording_run(struct recording *r, struct record_totals *ret, struct error *err)
{
	int e = privilege_settle(err);

	if (e < 0)
		return e;
	enrich_keep_dims(r->enrich, r->session.sink_count > 0 ? ENRICH_KEEP_ALL : 0);
	return record_run(r->source, &r->session, ret, err);
}

size_t recording_left(const struct recording *r, const struct record_totals *t, int32_t *ret_first)
{
	return t->command_ended ? ebpf_source_processes_left(r->source, ret_first) : 0;
}

void recording_close(struct recording *r)
{
	source_free(r->source);
	enrich_free(r->enrich);
	if (r->child.command)
		record_child_free(&r->child);
	select_free(&r->select);
	where_free(&r->where);
	*r = (struct recording){0};
}
