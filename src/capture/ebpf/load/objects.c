/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/load/objects.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "capture/ebpf/side/block.h"
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/probes/probe_attach.h"
#include "capture/ebpf/calls/details.h"
#include "capture/ebpf/calls/request.h"
#include "schema/ops.h"
#include "schema/wire.h"
#include "block.skel.h"
#include "block_probing.skel.h"
#include "content.skel.h"
#include "content_probing.skel.h"
#include "details.skel.h"
#include "details_probing.skel.h"
#include "faults.skel.h"
#include "faults_content.skel.h"
#include "faults_content_probing.skel.h"
#include "faults_probing.skel.h"
#include "irq.skel.h"
#include "irq_probing.skel.h"
#include "mem.skel.h"
#include "mem_probing.skel.h"
#include "net.skel.h"
#include "net_probing.skel.h"
#include "phases.skel.h"
#include "phases_probing.skel.h"
#include "polled.skel.h"
#include "polled_probing.skel.h"
#include "probes.skel.h"
#include "probes_probing.skel.h"
#include "sched.skel.h"
#include "sched_probing.skel.h"
#include "signals.skel.h"
#include "signals_probing.skel.h"
#include "stacks.skel.h"
#include "stacks_probing.skel.h"
#include "uring.skel.h"
#include "uring_content.skel.h"
#include "uring_content_probing.skel.h"
#include "uring_plain.skel.h"
#include "uring_plain_probing.skel.h"
#include "uring_probing.skel.h"
#include "wakers.skel.h"
#include "wakers_probing.skel.h"

#define OBJECT_EXTRA "weir_extra_" /* prefix of programs whose tracepoint may be missing */
#define SIDE_LEAST   4096	   /* bytes: the kernel's minimum */
#define SIDE_BLOCK   (8u << 20)	   /* about 50,000 requests */

/* For requests that the kernel took from a ring, the submitting thread of the process is unknown. */
static bool object_with_threads(const struct ebpf_options *opt)
{
	return opt->select->tid_count > 0;
}

static bool object_with_command(const struct ebpf_options *opt)
{
	return opt->command_pid > 0;
}

static bool object_with_futex(const struct ebpf_options *opt)
{
	return select_op(opt->select, (uint32_t)op_find("futex")) ||
	       select_op(opt->select, (uint32_t)op_find("futex_wait"));
}

#define FAULT_WAYS 3

/* Where the start of a fault is seen: in the page cache, at every fault, nowhere; each with content, then without. */
static bool choose_fault(struct bpf_object *bpf, int attempt)
{
	static const char *const ways[FAULT_WAYS][2] = {
		{"weir_fault_page", NULL}, {"weir_fault_user", "weir_fault_kernel"}, {NULL, NULL}};
	const char *const *way = ways[attempt % FAULT_WAYS];

	if (attempt >= 2 * FAULT_WAYS)
		return false;
	for (int i = 0; i < 2 && way[i]; i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(bpf, way[i]), true);
	return true;
}

static bool object_with_stacks(const struct ebpf_options *opt)
{
	return opt->stacks.of != 0;
}

/* The object of requests with content, if that is recorded, else without. */
static bool choose_requests(struct bpf_object *bpf, int attempt)
{
	return attempt < 2;
}

static bool object_with_content(const struct ebpf_options *opt)
{
	return opt->content.mode != WIRE_CONTENT_NONE;
}

#define ELF(name)                                                    \
	{                                                            \
		name##_probing_bpf__elf_bytes, name##_bpf__elf_bytes \
	}

/* One row for each kind of data. */
static const struct object_row {
	const char *shows;	/* what is missing without it */
	const char *tracepoint; /* required; all other requirements are those of calls as well */
	const void *(*elf[2])(size_t *ret_size);	   /* for kernels without casts, and with */
	bool (*requested)(const struct ebpf_options *opt); /* NULL: if `with` is requested */
	const char *with;				   /* name in record --with; NULL: none */
	size_t side_bytes; /* share of the side ring, for the reader's longest absence; 0: it sends nothing */
	/* before loading; may be NULL */
	int (*prepare)(struct bpf_object *bpf, const struct ebpf_options *opt);
	/* Chooses between alternative programs of an object, the best first; false: no alternative is left. */
	bool (*choose)(struct bpf_object *bpf, int attempt);
	bool before; /* its programs run before those of calls */
	const void *(*elf_content[2])(
		size_t *ret_size); /* replaces `elf` with --content; NULL: the same */
	int content_attempts;	   /* the first attempts, which use it */
	const void *(*elf_plain[2])(size_t *ret_size); /* without options; NULL: the same */
} object_rows[OBJECT_COUNT] = {
	[OBJECT_POLLED] = {"processes with an io_uring that the kernel polls", "io_uring_create",
			   ELF(polled), object_with_threads},
	[OBJECT_SIGNALS] = {"which signals sent to weir also reached the command",
			    "signal_generate", ELF(signals), object_with_command},
	[OBJECT_WAKERS] = {"which thread woke a futex waiter", "sched_waking", ELF(wakers),
			   object_with_futex},
	[OBJECT_BLOCK] = {"requests to block devices, with their files and owners", "block_getrq",
			  ELF(block), NULL, "block", SIDE_BLOCK, block_prepare},
	[OBJECT_NET] = {"retransmits, resets and drops of connections", "tcp_probe", ELF(net),
			.with = "net", .side_bytes = 1u << 20},
	[OBJECT_PHASES] = {"where the time of a call went", "mm_filemap_add_to_page_cache",
			   ELF(phases), .with = "phases"},
	[OBJECT_SCHED] = {"how long threads waited for a CPU, and who woke them", "sched_switch",
			  ELF(sched), .with = "sched", .side_bytes = 16u << 20},
	[OBJECT_IRQ] = {"interrupts and their duration", "irq_handler_entry", ELF(irq),
			.with = "irq", .side_bytes = 1u << 20},
	[OBJECT_MEM] = {"which thread allocated and freed pages", "mm_page_alloc", ELF(mem),
			.with = "mem", .side_bytes = 1u << 20},
	[OBJECT_FAULTS] = {"page faults that read a mapped file", "page_fault_user", ELF(faults),
			   .with = "faults", .prepare = content_prepare_how, .choose = choose_fault,
			   .elf_content = ELF(faults_content), .content_attempts = FAULT_WAYS},
	[OBJECT_URING] = {.shows = "requests of io_uring",
			  .tracepoint = "io_uring_complete",
			  .elf = ELF(uring),
			  .elf_content = ELF(uring_content),
			  .content_attempts = 1,
			  .elf_plain = ELF(uring_plain),
			  .choose = choose_requests,
			  .requested = requests_selected,
			  .prepare = requests_prepare},
	[OBJECT_STACKS] = {"where in the kernel a call waited (--stacks)", "sched_switch",
			   ELF(stacks), object_with_stacks, "stacks"},
	[OBJECT_CONTENT] = {.shows = "the content that calls moved (--content)",
			    .tracepoint = "sys_exit",
			    .elf = ELF(content),
			    .requested = object_with_content,
			    .with = "content",
			    .prepare = content_prepare,
			    .before = true},
	[OBJECT_PROBES] = {.shows = "spans that begin and end at probes (--span)",
			   .tracepoint = OBJECT_UPROBES,
			   .elf = ELF(probes),
			   .requested = probes_requested,
			   .side_bytes = 4u << 20,
			   .prepare = probes_prepare},
	[OBJECT_DETAILS] = {.shows = "the data that arguments of calls point to, and signals",
			    .tracepoint = "sys_exit",
			    .elf = ELF(details),
			    .with = "details",
			    .side_bytes = 1u << 20,
			    .prepare = details_prepare,
			    .before = true},
};

const char *object_shows(size_t i, const char **ret_tracepoint)
{
	if (i >= OBJECT_COUNT)
		return NULL;
	*ret_tracepoint = object_rows[i].tracepoint;
	return object_rows[i].shows;
}

static bool object_requested(size_t i, const struct ebpf_options *opt)
{
	const struct object_row *row = &object_rows[i];

	_Static_assert(OBJECT_COUNT <= 32, "a bit of ebpf_options.with for each");
	return row->requested ? row->requested(opt) : opt->with & 1u << i;
}

const char *ebpf_with_word(size_t i)
{
	for (size_t n = 0; n < OBJECT_COUNT; n++) {
		if (object_rows[n].with && !i--)
			return object_rows[n].with;
	}
	return NULL;
}

uint32_t ebpf_with(const char *word, size_t len)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		const char *with = object_rows[i].with;

		if (with && strlen(with) == len && !memcmp(with, word, len))
			return 1u << i;
	}
	return 0;
}

size_t objects_side_bytes(const struct ebpf_options *opt)
{
	size_t most = SIDE_LEAST;

	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (object_requested(i, opt))
			most = MAX(most, object_rows[i].side_bytes);
	}
	assert(!(most & (most - 1)));
	return most;
}

bool objects_plain(const struct ebpf_options *opt)
{
	const struct select *s = opt->select;

	return !s->failed_only && !s->min_dur_ns && !s->path_count &&
	       (!opt->filter || !opt->filter->count) && !opt->lossless && !opt->stacks.of &&
	       !(opt->with & (1u << OBJECT_PHASES | 1u << OBJECT_NET));
}

uint64_t objects_key(const struct ebpf_options *opt)
{
	uint64_t key =
		1 | (uint64_t)objects_plain(opt) << 1 | (uint64_t)object_with_content(opt) << 2;

	for (size_t i = 0; i < OBJECT_COUNT; i++)
		key |= (uint64_t)object_requested(i, opt) << (3 + i);
	return key;
}

static bool object_shares(const struct bpf_map *map)
{
	static const char end[] = ".shared";
	const char *name = bpf_map__name(map);
	size_t len = strlen(name);

	if (!bpf_map__is_internal(map))
		return true;
	return len >= strlen(end) && !strcmp(name + len - strlen(end), end);
}

static int object_share_maps(struct bpf_object *bpf, const struct bpf_object *calls)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf)
	{
		const struct bpf_map *of_calls =
			object_shares(map) ? bpf_object__find_map_by_name(calls, bpf_map__name(map))
					   : NULL;
		int r = of_calls ? bpf_map__reuse_fd(map, bpf_map__fd(of_calls)) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Programs in sections with a leading '?' are for kernels that have their tracepoint. */
static void object_choose_programs(struct bpf_object *bpf, const struct kernel_btf *k)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf)
	{
		if (!bpf_program__autoload(program) && kernel_btf_has(k, program))
			bpf_program__set_autoload(program, true);
	}
}

static struct bpf_object *object_open(const struct object_row *row, const struct kernel_btf *k,
				      const struct ebpf_options *opt, int attempt)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = k->path);
	size_t size;
	bool with_content = attempt < row->content_attempts && object_with_content(opt);
	bool plain = row->elf_plain[0] && objects_plain(opt);
	const void *elf = (with_content ? row->elf_content
			   : plain	? row->elf_plain
					: row->elf)[k->casts](&size);
	_cleanup_free_ void *copy = kernel_btf_elf(k, elf, size);

	return copy ? bpf_object__open_mem(copy, size, &opts) : NULL;
}

int objects_open(struct objects *o, struct kernel_btf *k, const struct ebpf_options *opt)
{
	int r = 0;

	for (size_t i = 0; i < OBJECT_COUNT && r >= 0; i++) {
		if (!object_requested(i, opt))
			continue;
		o->all[i].bpf = object_open(&object_rows[i], k, opt, 0);
		if (o->all[i].bpf)
			r = kernel_btf_add(k, o->all[i].bpf);
		else
			objects_miss(o, i, -errno);
	}
	return r;
}

/* -EAGAIN: no alternative is left. */
static int object_try(struct bpf_object *bpf, const struct object_row *row,
		      struct bpf_object *calls, const struct kernel_btf *k,
		      const struct ebpf_options *opt, int attempt)
{
	int r;

	if (row->choose && !row->choose(bpf, attempt))
		return -EAGAIN;
	object_choose_programs(bpf, k);
	r = kernel_btf_target(k, bpf);
	r = r < 0 ? r : object_share_maps(bpf, calls);
	if (r >= 0 && row->prepare)
		r = row->prepare(bpf, opt);
	return r < 0 ? r : bpf_object__load(bpf);
}

static int object_load(struct object *o, const struct object_row *row, struct bpf_object *calls,
		       const struct kernel_btf *k, const struct ebpf_options *opt)
{
	int r = object_try(o->bpf, row, calls, k, opt, 0);

	for (int attempt = 1; r < 0 && row->choose; attempt++) {
		struct bpf_object *bpf = object_open(row, k, opt, attempt);
		int next = bpf ? object_try(bpf, row, calls, k, opt, attempt) : -errno;

		if (next < 0)
			bpf_object__close(bpf);
		if (next == -EAGAIN)
			break;
		r = next;
		if (r >= 0) {
			bpf_object__close(o->bpf);
			o->bpf = bpf;
		}
	}
	return r;
}

void objects_load(struct objects *o, struct bpf_object *calls, const struct kernel_btf *k,
		  const struct ebpf_options *opt)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		int r = o->all[i].bpf ? object_load(&o->all[i], &object_rows[i], calls, k, opt) : 0;

		if (r < 0)
			objects_miss(o, i, r);
	}
}

/* Programs that run at a second tracepoint with the same arguments: each is verified once. */
static const struct {
	const char *program, *tracepoint;
} object_seconds[] = {{"weir_merge", "block_bio_frontmerge"},
		      {"weir_extra_ext4", "ext4_da_write_begin"}};

static const char *object_second(const struct bpf_program *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(object_seconds); i++) {
		if (!strcmp(bpf_program__name(program), object_seconds[i].program))
			return object_seconds[i].tracepoint;
	}
	return NULL;
}

/* Adds a link, NULL where that failed. False: the object cannot do without it. */
static bool object_link(struct object *o, const struct bpf_program *program, struct bpf_link *link)
{
	size_t n = 0;

	while (n < OBJECT_PROGRAMS_MAX && o->links[n])
		n++;
	assert(n < OBJECT_PROGRAMS_MAX);
	o->links[n] = link;
	return link || !strncmp(bpf_program__name(program), OBJECT_EXTRA, strlen(OBJECT_EXTRA));
}

static int object_attach(struct object *o)
{
	struct bpf_program *program;
	const char *second;

	if (!o->bpf)
		return 0;
	bpf_object__for_each_program(program, o->bpf)
	{
		if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER ||
		    bpf_program__type(program) == BPF_PROG_TYPE_SYSCALL ||
		    bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT || /* faults.h */
		    bpf_program__type(program) == BPF_PROG_TYPE_KPROBE ||     /* probe_attach.h */
		    !bpf_program__autoload(program))
			continue;
		if (!object_link(o, program, bpf_program__attach(program)))
			return -errno;
		second = object_second(program);
		if (second &&
		    !object_link(o, program, bpf_program__attach_raw_tracepoint(program, second)))
			return -errno;
	}
	return 0;
}

void objects_attach(struct objects *o, bool before)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		int r = object_rows[i].before == before ? object_attach(&o->all[i]) : 0;

		if (r < 0)
			objects_miss(o, i, r);
	}
}

static void object_detach(struct object *o)
{
	for (size_t n = 0; n < OBJECT_PROGRAMS_MAX; n++) {
		bpf_link__destroy(o->links[n]);
		o->links[n] = NULL;
	}
}

void objects_detach(struct objects *o)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++)
		object_detach(&o->all[i]);
}

void objects_free(struct objects *o)
{
	objects_detach(o);
	for (size_t i = 0; i < OBJECT_COUNT; i++)
		bpf_object__close(o->all[i].bpf);
	*o = (struct objects){0};
}

void objects_miss(struct objects *o, enum object_id id, int error)
{
	object_detach(&o->all[id]);
	bpf_object__close(o->all[id].bpf);
	o->all[id].bpf = NULL;
	if (o->missing_count < OBJECT_COUNT)
		o->missing[o->missing_count++] = (struct ebpf_missing){
			object_rows[id].shows, object_rows[id].tracepoint, error};
}

struct bpf_map *object_section(const struct bpf_object *bpf, const char *name)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf)
	{
		const char *of_map = bpf_map__name(map);
		size_t len = strlen(of_map);

		if (bpf_map__is_internal(map) && len >= strlen(name) &&
		    !strcmp(of_map + len - strlen(name), name))
			return map;
	}
	return NULL;
}

int object_map(const struct objects *o, enum object_id id, const char *name)
{
	const struct bpf_object *bpf = o->all[id].bpf;

	return bpf ? bpf_object__find_map_fd_by_name(bpf, name) : -1;
}

int object_program(const struct objects *o, enum object_id id, const char *name)
{
	const struct bpf_object *bpf = o->all[id].bpf;
	const struct bpf_program *program =
		bpf ? bpf_object__find_program_by_name(bpf, name) : NULL;

	return program ? bpf_program__fd(program) : -1;
}

uint64_t object_misses(const struct objects *o, enum object_id id)
{
	struct bpf_object *bpf = o->all[id].bpf;
	struct bpf_program *program;
	uint64_t sum = 0;

	if (!bpf)
		return 0;
	bpf_object__for_each_program(program, bpf)
	{
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

int objects_mark(const struct objects *o, int64_t now, struct batch_set *out)
{
	_cleanup_buf_ struct buf words = {0};
	int r = 0;

	for (size_t i = 0; i < OBJECT_COUNT && r >= 0; i++) {
		if (object_rows[i].with && o->all[i].bpf)
			r = buf_printf(&words, "%s%s", words.len ? "," : "", object_rows[i].with);
	}
	if (r >= 0 && words.len)
		r = batch_set_add_mark(out, now, "weir.with", words.data, words.len);
	return r;
}
