// SPDX-License-Identifier: Apache-2.0
/* flow_pass.c: reads calls, resolves their tasks and objects, and passes them on. */
#include "analysis/flow/flow_pass.h"

#include "analysis/flow/flow_clocks.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "batch/ids.h"
#include "names/names.h"
#include "schema/ops.h"

static const struct {
	const char *name;
	enum flow_act act;
} flow_acts[] = {
	{"read", FLOW_READ},
	{"pread64", FLOW_READ},
	{"readv", FLOW_READ},
	{"preadv", FLOW_READ},
	{"preadv2", FLOW_READ},
	{"recvfrom", FLOW_READ},
	{"recvmsg", FLOW_READ},
	{"recvmmsg", FLOW_READ},
	{"write", FLOW_WRITE},
	{"pwrite64", FLOW_WRITE},
	{"writev", FLOW_WRITE},
	{"pwritev", FLOW_WRITE},
	{"pwritev2", FLOW_WRITE},
	{"sendto", FLOW_WRITE},
	{"sendmsg", FLOW_WRITE},
	{"sendmmsg", FLOW_WRITE},
	{"vmsplice", FLOW_VMSPLICE},
	{"sendfile", FLOW_COPY},
	{"splice", FLOW_COPY},
	{"copy_file_range", FLOW_COPY},
	{"tee", FLOW_COPY},
	{"clone", FLOW_FORK},
	{"clone3", FLOW_FORK},
	{"fork", FLOW_FORK},
	{"vfork", FLOW_FORK},
	{"wait4", FLOW_WAIT},
	{"waitid", FLOW_WAIT},
	{"exit", FLOW_EXIT},
	{"exit_group", FLOW_EXIT},
	{"execve", FLOW_EXEC},
	{"execveat", FLOW_EXEC},
	{"connect", FLOW_CONNECT},
	{"accept", FLOW_ACCEPT},
	{"accept4", FLOW_ACCEPT},
	{"socketpair", FLOW_PAIR},
	{"pipe", FLOW_PAIR},
	{"pipe2", FLOW_PAIR},
	{"open", FLOW_OPEN},
	{"openat", FLOW_OPEN},
	{"openat2", FLOW_OPEN},
	{"creat", FLOW_OPEN},
	{"close", FLOW_CLOSE},
	{"close_range", FLOW_CLOSE},
	{"rename", FLOW_RENAME},
	{"renameat", FLOW_RENAME},
	{"renameat2", FLOW_RENAME},
	{"link", FLOW_RENAME},
	{"linkat", FLOW_RENAME},
	{"fsync", FLOW_FSYNC},
	{"fdatasync", FLOW_FSYNC},
	{"msync", FLOW_MSYNC},
	{"truncate", FLOW_TRUNCATE},
	{"ftruncate", FLOW_TRUNCATE},
	{"futex", FLOW_FUTEX},
	{"flock", FLOW_FLOCK},
	{"fcntl", FLOW_FCNTL},
	{"dup", FLOW_DUP},
	{"dup2", FLOW_DUP},
	{"dup3", FLOW_DUP},
	{"mmap", FLOW_MAP},
	{"munmap", FLOW_UNMAP},
	{"mprotect", FLOW_PROTECT},
	{"pkey_mprotect", FLOW_PROTECT},
	{"mremap", FLOW_REMAP},
	{"eventfd", FLOW_EVENTFD},
	{"eventfd2", FLOW_EVENTFD},
	{"kill", FLOW_KILL},
	{"tgkill", FLOW_KILL},
	{"tkill", FLOW_KILL},
	{"rt_sigreturn", FLOW_SIGNALLED},
	{"rt_sigtimedwait", FLOW_SIGNALLED},
	{"io_uring_enter", FLOW_ENTER},
};

static int acts_make(struct flow_state *s)
{
	s->acts = calloc(OP_CODE_MAX, 1);
	if (!s->acts)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(flow_acts); i++) {
		int code = op_find(flow_acts[i].name);

		assert(code >= 0 && code < OP_CODE_MAX);
		s->acts[code] = (uint8_t)flow_acts[i].act;
	}
	return 0;
}

/* ---- files ---- */

static enum flow_object_kind kind_of_socket(const struct dims_file *f)
{
	int type = f->proto < 0 ? 0 : (int)(f->proto >> 16) & 0xf;

	if ((f->family == AF_INET || f->family == AF_INET6) && type == SOCK_STREAM)
		return FLOW_IS_TCP;
	if ((f->family == AF_INET || f->family == AF_INET6) && type == SOCK_DGRAM)
		return FLOW_IS_DATAGRAM;
	return f->family == AF_UNIX ? FLOW_IS_UNIX : FLOW_IS_OTHER;
}

static enum flow_object_kind object_kind(const struct dims_file *f)
{
	static const char event[] = "anon_inode:[eventfd]";

	if (!f || f->name_only)
		return FLOW_IS_OTHER;
	switch (f->type) {
	case FILE_TYPE_REGULAR:
	case FILE_TYPE_BLOCK:
		return FLOW_IS_FILE;
	case FILE_TYPE_PIPE:
		return FLOW_IS_PIPE;
	case FILE_TYPE_SOCKET:
		return kind_of_socket(f);
	case FILE_TYPE_ANON:
		return f->path.len == sizeof(event) - 1 && !memcmp(f->path.data, event, f->path.len)
			       ? FLOW_IS_EVENTFD
			       : FLOW_IS_OTHER;
	default:
		return FLOW_IS_OTHER;
	}
}

static void object_make(struct flow_state *s, int64_t file_id, struct flow_object *o)
{
	struct dims_file room;
	int64_t file;
	const struct dims_file *f = dims_newest_file(s->dims, file_id, &file, &room);
	*o = (struct flow_object){
		.file_id = file_id,
		.kind = (uint8_t)object_kind(f),
		.place = (uint16_t)MIN(id_recording(file_id), (uint64_t)UINT16_MAX),
		.channels = {FLOW_NONE, FLOW_NONE},
		.twin = FLOW_NONE,
		.waiting = FLOW_NONE,
		.origin = FLOW_NONE,
		.file = FLOW_NONE};
	if (o->kind != FLOW_IS_FILE)
		return;
	o->file = (uint32_t)s->file_count;
	flow_failed(s, array_add(s->files, s->file_count, s->file_cap,
				 (struct flow_file){
					 .published = FLOW_NONE,
					 .renamed = -1,
					 .maps = FLOW_NONE,
					 .process_id = -1,
					 .first = FLOW_NONE,
					 .last = FLOW_NONE,
					 .writers = {FLOW_NONE, FLOW_NONE, FLOW_NONE, FLOW_NONE}}));
}

void flow_edge_of_calls(struct flow_state *s, enum block_via via, uint32_t from, uint32_t to,
			int64_t file_id, bool certain)
{
	flow_edge(s, &(struct flow_edge){.from = from,
					 .to = to,
					 .pos = -1,
					 .file_id = file_id,
					 .via = (uint8_t)via,
					 .certain = certain});
}

uint32_t flow_object(struct flow_state *s, int64_t file_id)
{
	struct flow_object *o;
	int64_t at;
	bool is_new;

	if (file_id < 0)
		return FLOW_NONE;
	at = idmap_get(&s->object_of_version, file_id);
	if (at >= 0)
		return (uint32_t)at;
	at = dims_file_inode(s->dims, file_id);
	o = array_of_key(s->objects, s->object_count, s->object_cap, &s->object_of,
			 (uint64_t)(at < 0 ? file_id : at), &is_new);
	if (!o) {
		flow_failed(s, -ENOMEM);
		return FLOW_NONE;
	}
	if (is_new)
		object_make(s, file_id, o);
	flow_failed(s, idmap_set(&s->object_of_version, file_id, o - s->objects));
	return s->graph.r < 0 ? FLOW_NONE : (uint32_t)(o - s->objects);
}

struct flow_file *flow_file(struct flow_state *s, int64_t file_id)
{
	uint32_t at = flow_object(s, file_id);

	return at == FLOW_NONE || s->objects[at].kind != FLOW_IS_FILE
		       ? NULL
		       : &s->files[s->objects[at].file];
}

uint32_t flow_channel_new(struct flow_state *s, enum block_via via)
{
	int r = array_add(
		s->channels, s->channel_count, s->channel_cap,
		(struct flow_channel){.chain = FLOW_NONE,
				      .via = (uint8_t)via,
				      .ends = {{.task = FLOW_NONE}, {.task = FLOW_NONE}}});

	flow_failed(s, r);
	return r < 0 ? FLOW_NONE : (uint32_t)s->channel_count - 1;
}

int64_t flow_end_process(const struct flow_state *s, uint32_t channel, enum flow_side side)
{
	uint32_t task = s->channels[channel].ends[side].task;

	return task == FLOW_NONE ? -1 : s->tasks[task].process_id;
}

/* ---- calls ---- */

int64_t flow_node_process(const struct flow_state *s, uint32_t node)
{
	return names_process_of(s->dims, flow_node_thread(&s->graph, &s->graph.nodes[node]));
}

static int64_t time_of(const struct flow_state *s, uint32_t node, int64_t t)
{
	return flow_clock_corrected(s->clocks, flow_node_place(&s->graph, &s->graph.nodes[node]),
				    t);
}

int64_t flow_time_start(const struct flow_state *s, uint32_t node)
{
	return time_of(s, node, s->graph.nodes[node].start);
}

int64_t flow_time_end(const struct flow_state *s, uint32_t node)
{
	return time_of(s, node, flow_node_end(&s->graph.nodes[node]));
}

uint32_t flow_call_node(struct flow_state *s, struct flow_call *c)
{
	const struct flow_operation o = flow_call_operation(c);

	if (c->node == FLOW_NONE)
		c->node = flow_graph_node(&s->graph, &o);
	return c->node;
}

/* Bytes that the call moved into or out of one of its files. */
static void pass_moved(struct flow_state *s, struct flow_call *c, int64_t file_id, int64_t pos,
		       enum flow_side side)
{
	uint32_t at = flow_object(s, file_id);

	if (at == FLOW_NONE)
		return;
	switch (s->objects[at].kind) {
	case FLOW_IS_FILE:
		flow_files_move(s, c, at, file_id, pos, side);
		break;
	case FLOW_IS_UNIX:
		if (flow_datagrams_named(s, at))
			flow_datagrams_move(s, c, at, side);
		else
			flow_sockets_move(s, c, at, side);
		break;
	case FLOW_IS_PIPE:
	case FLOW_IS_TCP:
		flow_sockets_move(s, c, at, side);
		break;
	case FLOW_IS_EVENTFD:
		flow_eventfd_move(s, c, side);
		break;
	case FLOW_IS_DATAGRAM:
		flow_datagrams_move(s, c, at, side);
		break;
	default:
		break;
	}
}

static void pass_copied(struct flow_state *s, struct flow_call *c)
{
	bool second = op_copy(c->op) == OP_COPY_TO_SECOND;

	if (c->bytes <= 0)
		return;
	pass_moved(s, c, second ? c->file_id : c->file2_id, second ? c->pos : c->pos2,
		   FLOW_RECEIVE);
	pass_moved(s, c, second ? c->file2_id : c->file_id, second ? c->pos2 : c->pos, FLOW_SEND);
}

static void pass_received(struct flow_state *s, struct flow_call *c)
{
	if (c->bytes > 0)
		pass_moved(s, c, c->file_id, c->pos, FLOW_RECEIVE);
}

static void pass_sent(struct flow_state *s, struct flow_call *c)
{
	if (c->status & STATUS_UNFINISHED)
		flow_sockets_unfinished(s, c);
	else if (c->bytes > 0)
		pass_moved(s, c, c->file_id, c->pos, FLOW_SEND);
}

/* Takes memory into a pipe, or bytes of a pipe into memory: which one, only the content shows. Without it all edges of the
 * pipe are contested. */
static void pass_vmspliced(struct flow_state *s, struct flow_call *c)
{
	enum flow_side side = FLOW_SEND;

	if (c->bytes <= 0)
		return;
	if (!flow_content_side(s, c, &side))
		flow_sockets_doubt(s, c);
	pass_moved(s, c, c->file_id, c->pos, side);
}

static void pass_forked(struct flow_state *s, struct flow_call *c)
{
	flow_mapped_take(s, c);
	flow_tasks_fork(s, c);
}

static void pass_opened(struct flow_state *s, struct flow_call *c)
{
	if (!c->failed)
		flow_opened_new(s, c);
	flow_files_take(s, c);
}

static void (*const pass_acts[FLOW_ACTS])(struct flow_state *s, struct flow_call *c) = {
	[FLOW_READ] = pass_received,	    [FLOW_WRITE] = pass_sent,
	[FLOW_VMSPLICE] = pass_vmspliced,   [FLOW_COPY] = pass_copied,
	[FLOW_FORK] = pass_forked,	    [FLOW_WAIT] = flow_tasks_wait,
	[FLOW_EXEC] = flow_tasks_exec,	    [FLOW_FUTEX] = flow_tasks_futex,
	[FLOW_KILL] = flow_tasks_kill,	    [FLOW_SIGNALLED] = flow_tasks_signalled,
	[FLOW_CONNECT] = flow_sockets_take, [FLOW_ACCEPT] = flow_sockets_take,
	[FLOW_PAIR] = flow_sockets_take,    [FLOW_OPEN] = pass_opened,
	[FLOW_RENAME] = flow_files_take,    [FLOW_FSYNC] = flow_files_take,
	[FLOW_MSYNC] = flow_files_take,	    [FLOW_TRUNCATE] = flow_files_take,
	[FLOW_FLOCK] = flow_locks_take,	    [FLOW_FCNTL] = flow_locks_take,
	[FLOW_DUP] = flow_locks_take,	    [FLOW_CLOSE] = flow_locks_take,
	[FLOW_MAP] = flow_mapped_take,	    [FLOW_UNMAP] = flow_mapped_take,
	[FLOW_PROTECT] = flow_mapped_take,  [FLOW_REMAP] = flow_mapped_take,
	[FLOW_EVENTFD] = flow_eventfd_made,
};

static void pass_act(struct flow_state *s, struct flow_call *c)
{
	if (pass_acts[c->act])
		pass_acts[c->act](s, c);
}

/* Reads a row. False: it has no thread, or was not a call. */
static bool pass_call(struct flow_state *s, const struct batch *b, uint32_t row, int64_t end,
		      struct flow_call *c)
{
	int64_t op = batch_get(b, OP_OP, row, -1), dur;

	end = store_time_near(end);
	dur = MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0);
	dur = MIN(dur, STORE_TIME_MAX);
	*c = (struct flow_call){
		.row_id = batch_row_id(b, row),
		.start = store_time_near(batch_get(b, OP_START, row, end - dur)),
		.end = end,
		.thread_id = batch_get(b, OP_THREAD_ID, row, -1),
		.ret = batch_get(b, OP_RET, row, INT64_MIN),
		.bytes = MIN(batch_get(b, OP_BYTES, row, 0), (int64_t)FLOW_BYTES_MAX),
		.size = batch_get(b, OP_SIZE, row, 0),
		.file_id = batch_get(b, OP_FILE_ID, row, -1),
		.file2_id = batch_get(b, OP_FILE2_ID, row, -1),
		.pos = batch_get(b, OP_POS, row, -1),
		.pos2 = batch_get(b, OP_POS2, row, -1),
		.waker_id = batch_get(b, OP_WAKER_ID, row, -1),
		.flags = (uint64_t)batch_get(b, OP_FLAGS, row, 0),
		.a = {(uint64_t)batch_get(b, OP_A0, row, 0), (uint64_t)batch_get(b, OP_A1, row, 0),
		      (uint64_t)batch_get(b, OP_A2, row, 0)},
		.fd = batch_get(b, OP_FD, row, -1),
		.peer_id = batch_get(b, OP_PEER_ID, row, -1),
		.status = (uint64_t)batch_get(b, OP_STATUS, row, 0),
		.node = FLOW_NONE,
		.kind = (uint8_t)batch_get(b, OP_KIND, row, KIND_SYSCALL),
		.op = (uint16_t)(op >= 0 && op < OP_CODE_MAX ? op : OP_CODE_NUMBERED),
	};
	if (c->thread_id < 0 || c->kind == KIND_FAULT)
		return false;
	c->start = MIN(c->start, c->end);
	c->failed = c->ret == INT64_MIN || c->ret < 0;
	c->act = s->acts[c->op];
	c->place = (uint16_t)MIN(id_recording(c->thread_id), (uint64_t)UINT16_MAX);
	c->task = flow_task_of(s, c->thread_id);
	if (c->task == FLOW_NONE)
		return false;
	c->number = s->tasks[c->task].number;
	return true;
}

/* Notes a call that --of or --past selects. */
static void pass_root(struct flow_state *s, struct flow_call *c)
{
	if (flow_call_node(s, c) != FLOW_NONE)
		flow_failed(s,
			    array_add(s->roots, s->root_count, s->root_cap,
				      (struct flow_root){c->node, c->file_id, c->pos, c->bytes}));
}

static void pass_take(struct flow_state *s, struct flow_call *c)
{
	s->calls++;
	if (c->kind != KIND_SYSCALL) /* a task of its own, before it has a node */
		c->number = s->graph.tasks++;
	if (unlikely(s->from.count) && map_get(&s->from, (uint64_t)c->row_id, NULL))
		pass_root(s, c);
	if (c->kind != KIND_SYSCALL) {
		flow_requests_take(s, c);
		pass_act(s, c);
		return;
	}
	flow_tasks_any(s, c);
	if (s->tasks[c->task].span != FLOW_NONE)
		flow_contexts_call(s, c);
	if (c->act == FLOW_ENTER)
		flow_requests_enter(s, c);
	pass_act(s, c);
	if (s->locks.count)
		flow_locks_left(s, c);
	flow_tasks_last(s, c);
}

/* ---- losses ---- */

static int loss_read(struct flow_state *s, const struct batch *b, uint32_t row)
{
	int64_t cause = batch_get(b, LOSS_CAUSE, row, CAUSE_DECODE),
		start = batch_get(b, LOSS_START, row, INT64_MIN);

	switch (cause) { /* rows with missing properties, and notes: no call is missing */
	case CAUSE_PATH_CUT:
	case CAUSE_ARG_UNREAD:
	case CAUSE_NO_FILE:
	case CAUSE_UNSENT:
	case CAUSE_STACK:
	case CAUSE_STOPPED:
	case CAUSE_HOLD_LIMIT:
	case CAUSE_RUNNING_UNREAD:
		return 0;
	default:
		break;
	}
	if (cause_is_beside((enum loss_cause)cause) || batch_get(b, LOSS_EVENTS, row, 1) == 0)
		return 0;
	if (s->loss_count == FLOW_LOSSES_MAX) { /* merges further losses into one long one */
		s->losses[0].from = MIN(s->losses[0].from, start);
		s->losses[0].to = MAX(s->losses[0].to, batch_get(b, LOSS_STOP, row, start));
		return 0;
	}
	return array_add(
		s->losses, s->loss_count, s->loss_cap,
		(struct flow_loss){start, MAX(start, batch_get(b, LOSS_STOP, row, start))});
}

bool flow_is_lost(const struct flow_state *s, int64_t from, int64_t to)
{
	/* the time of the losses is unknown */
	if (s->run->lost_unknown || (s->run->lost && !s->loss_count))
		return true;
	for (size_t i = 0; i < s->loss_count; i++) {
		if (s->losses[i].from <= to && s->losses[i].to >= from)
			return true;
	}
	return false;
}

/* Sets loss_from, by the summaries of blocks: they may also be of losses in other tables. */
static int losses_first(struct flow_state *s)
{
	const struct store *store = s->run->store;
	size_t count = store_recording_count(store);
	bool lost = s->run->lost || s->run->lost_unknown, dated = false;
	int64_t *first = realloc(s->loss_from, (count + 1) * sizeof(*first));

	if (!first)
		return -ENOMEM;
	s->loss_from = first;
	s->loss_place_count = count;
	for (size_t i = 0; i < count; i++)
		first[i] = INT64_MAX;
	for (size_t i = 0; i < store_block_count(store) && lost; i++) {
		const struct store_block *b = store_block(store, i);

		if (b->table != TABLE_LOSS || b->recording >= count ||
		    b->min[LOSS_START] > b->max[LOSS_START])
			continue;
		first[b->recording] = MIN(first[b->recording], b->min[LOSS_START]);
		dated = true;
	}
	for (size_t i = 0; i < count && lost && !dated; i++)
		first[i] = INT64_MIN;
	return 0;
}

/* Makes edges contested that rely on complete calls, where some are missing. */
static void pass_contest_lost(struct flow_state *s)
{
	struct flow_graph *g = &s->graph;

	if (!s->loss_count && !s->run->lost && !s->run->lost_unknown)
		return;
	for (size_t i = 0; i < s->channel_count; i++) {
		const struct flow_channel *c = &s->channels[i];

		for (uint32_t e = c->chain; e != FLOW_NONE && !c->deferred; e = g->edges[e].chain) {
			if (flow_channel_counts(&s->streams, c, g->edges[e].from, g->edges[e].to) &&
			    flow_is_lost(s, c->born, flow_node_end(&g->nodes[g->edges[e].to])))
				flow_graph_contest(g, e);
		}
	}
	for (uint32_t e = 0; e < g->edge_count; e++) {
		const struct flow_arc *k = &g->edges[e];

		if ((k->via == VIA_STORAGE || k->via == VIA_FUTEX || k->via == VIA_LOCK ||
		     k->via == VIA_EVENTFD || k->via == VIA_PUBLISH) &&
		    flow_is_lost(s, g->nodes[k->from].start, flow_node_end(&g->nodes[k->to])))
			flow_graph_contest(g, e);
	}
}

/* ---- clocks ---- */

static void pass_pair(void *arg, const struct flow_channel *ch, uint32_t send, uint32_t receive)
{
	struct flow_state *s = arg;
	const struct flow_node *from = &s->graph.nodes[send], *to = &s->graph.nodes[receive];
	uint16_t place[] = {flow_node_place(&s->graph, from), flow_node_place(&s->graph, to)};

	if ((flow_node_end(from) >= flow_loss_from(s, place[0]) ||
	     flow_node_end(to) >= flow_loss_from(s, place[1])) &&
	    flow_channel_counts(&s->streams, ch, send, receive))
		return;
	flow_failed(
		s, flow_clocks_pair(s->clocks, place[0], from->start, place[1], flow_node_end(to)));
}

static int pass_clocks(struct flow_state *s)
{
	size_t count = store_recording_count(s->run->store);
	_cleanup_free_ uint64_t *machine = calloc(count + 1, sizeof(*machine));

	if (!machine)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		machine[i] = (uint64_t)dims_machine(s->dims, id_compose(0, i));
	return flow_clocks_solve(s->clocks, machine, count);
}

/* ---- the pass ---- */

static int flow_pass_rows(struct flow_state *s, struct engine_merge *m, const struct batch *b,
			  const uint32_t *rows, size_t n)
{
	struct flow_call c;

	for (size_t i = 0; i < n && s->graph.r >= 0; i++) {
		if (b->table == TABLE_LOSS)
			flow_failed(s, loss_read(s, b, rows[i]));
		else if (b->table == TABLE_CHUNK)
			flow_content_row(s, b, rows[i]);
		else if (pass_call(s, b, rows[i], engine_merge_end(m, rows[i]), &c))
			pass_take(s, &c);
	}
	return s->graph.r;
}

static int flow_pass_begin(struct flow_state *s, struct error *err)
{
	int r = acts_make(s);

	s->dims = store_dims(s->run->store);
	if (r < 0)
		return r;
	r = flow_clocks_new(&s->clocks);
	return r < 0 ? r : flow_contexts_load(s, err);
}

int flow_pass_take(struct flow_state *s, const struct analysis_input *in,
		   const struct analysis_run *run, int64_t from, int64_t to, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n = 0;
	int r = 0;

	s->in = in;
	s->run = run;
	s->streams.graph = &s->graph; /* the state may have been moved */
	s->streams.pair = pass_pair;
	s->streams.arg = s;
	if (!s->acts)
		r = flow_pass_begin(s, err);
	if (r >= 0)
		r = losses_first(s);
	if (r >= 0)
		r = analysis_stream_part(&m, in, run, from, to, err);
	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) > 0) {
		if (analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		r = flow_pass_rows(s, m, b, rows, (size_t)n);
	}
	if (r >= 0 && n < 0)
		return (int)n;
	return r < 0 ? error_errno(err, r, "following the calls") : 0;
}

int flow_pass_end(struct flow_state *s, struct error *err)
{
	int r;

	flow_tasks_end(s);
	flow_contexts_end(s);
	flow_messages_end(s);
	flow_datagrams_free(s);
	for (size_t i = 0; i < s->channel_count; i++) {
		flow_anchors_join(s, &s->channels[i], true);
		if (!s->channels[i].shared)
			s->contradictions += s->channels[i].late;
		flow_channel_clear(&s->streams, &s->channels[i]);
	}
	flow_links_end(&s->links); /* before numbering, which takes memory */
	r = s->graph.r;
	if (r >= 0) {
		pass_contest_lost(s);
		r = flow_graph_number(&s->graph);
	}
	if (r >= 0)
		r = pass_clocks(s);
	return r < 0 ? error_errno(err, r, "following the calls") : 0;
}

void flow_state_free(struct flow_state *s)
{
	flow_content_free(s);
	for (size_t i = 0; i < s->channel_count; i++)
		flow_channel_free(&s->streams, &s->channels[i]);
	map_free(&s->streams.counted);
	for (size_t i = 0; i < s->file_count; i++)
		flow_extents_free(&s->files[i].written, &s->room);
	flow_graph_free(&s->graph);
	flow_clocks_free(s->clocks);
	flow_tasks_free(s);
	flow_locks_free(s);
	flow_opened_free(s);
	flow_eventfds_free(s);
	flow_contexts_free(s);
	flow_datagrams_free(s);
	flow_messages_free(s);
	free(s->objects);
	free(s->channels);
	free(s->files);
	free(s->maps);
	map_free(&s->map_of);
	free(s->losses);
	free(s->loss_from);
	free(s->takings);
	free(s->roots);
	free(s->agains);
	map_free(&s->put);
	free(s->acts);
	idmap_free(&s->object_of_version);
	map_free(&s->object_of);
	map_free(&s->waiting);
	map_free(&s->from);
	map_free(&s->sent_places);
}
