/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/load/load.h"
#include "capture/ebpf/side/host_sums.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "capture/ebpf/side/block.h"
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/contexts/contexts.h"
#include "capture/ebpf/calls/request.h"
#include "privilege/privilege.h"
#include "schema/wire_context.h"
#include "calls.skel.h"
#include "calls_plain.skel.h"
#include "calls_plain_probing.skel.h"
#include "calls_probing.skel.h"

#define RING_BYTES \
	(4u << 20) /* with a SCHED_FIFO reader, which runs within 0.1 ms: 45,000 records */
#define RING_BYTES_SLOW (16u << 20) /* otherwise, when it may take 45 ms */
#define RING_MIN	65536u
/* Limits of all rings together. Each CPU that may come online has a ring from the beginning, so that nothing of it is
 * lost: machines that support hotplug may have hundreds of absent ones. */
#define RINGS_SPARE (256u << 20) /* allowed even if the online CPUs need less */
#define RINGS_MAX   (1u << 30)
#define SOCKETS_MAX 65536 /* known to --with net */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return 0;
}

/* Turns the failure of a bpf(2) call into a sentence with a remedy. */
static int load_error(int code, struct error *err, const char *what)
{
	if (geteuid() != 0 && (code == -EPERM || code == -EACCES))
		return error_set(err, code,
				 "%s: permission denied: recording needs root (try: sudo weir ...)",
				 what);
	if (code == -EPERM)
		return error_set(err, code,
				 "%s: the kernel refuses BPF programs: in a container add CAP_BPF, "
				 "CAP_PERFMON and "
				 "CAP_SYS_ADMIN; `weir doctor` shows more",
				 what);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return error_set(err, code,
				 "%s: this kernel has no BTF (/sys/kernel/btf/vmlinux): weir needs "
				 "Linux 5.17 or later, built with CONFIG_DEBUG_INFO_BTF",
				 what);
	return error_errno(err, code, "%s", what);
}

/* Checks that /proc belongs to this pid namespace. */
static int check_proc(struct error *err)
{
	char self[16] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) > 0 &&
	    strtol(self, NULL, 10) == getpid())
		return 0;
	return error_set(err, -ENOTSUP,
			 "/proc belongs to another pid namespace: mount it (mount -t proc proc "
			 "/proc), or start weir with `unshare --mount-proc`");
}

/* The components of a path, the last one first, each with a NUL; returns their length. */
static uint32_t path_names(const char *path, size_t len, uint8_t names[WIRE_NAMES_MAX])
{
	size_t at = 0;

	while (len) {
		size_t end = len;

		while (len && path[len - 1] != '/')
			len--;
		memcpy(names + at, path + len, end - len);
		at += end - len;
		names[at++] = 0;
		len -= len > 0; /* exclude the slash */
	}
	return (uint32_t)at;
}

/* The literal folders at the beginning of a selected path; without wildcards all of it. */
static uint32_t prefix_names(const struct select_path *path, uint8_t names[WIRE_NAMES_MAX])
{
	size_t len = strlen(path->prefix);

	while (!path->exact && len && path->prefix[len] != '/')
		len--;
	return path_names(path->prefix, len, names);
}

/* Converts a name test to the programs' form: see struct wire_name_test. */
static void configure_name(struct wire_name_test *t, const struct call_filter_name *n)
{
	size_t compared = n->len + (n->how == NAME_EQUAL); /* including its NUL */
	bool folders = n->how == NAME_EQUAL || n->how == NAME_BELOW || n->how == NAME_WITHIN;

	_Static_assert(FILTER_NAME_MAX + 1 <= WIRE_NAMES_MAX, "a path with its last NUL fits");
	t->field = n->field;
	t->how = n->how;
	t->opposite = n->opposite;
	t->pattern = n->pattern;
	/* Pipes and sockets have a name instead of a path; the recorder tests its last component. */
	t->others = !folders || n->opposite;
	if (n->field == FILTER_COMM) {
		memset(t->mask, 0xff, MIN(compared, sizeof(t->mask)));
		memcpy(t->names, n->text, MIN((size_t)n->len, sizeof(t->mask)));
	} else if (folders) {
		t->len = path_names(n->text, n->len, t->names);
	} else {
		memcpy(t->names, n->text, n->len);
		t->len = n->len;
	}
}

/* The filter's name tests by number, then one for each selected path. */
static void configure_tests(struct calls_bpf__rodata_calls_shared *ro,
			    const struct ebpf_options *opt)
{
	struct wire_name_test *tests = (struct wire_name_test *)ro->tests;
	const struct select *s = opt->select;
	uint32_t n = 0;

	_Static_assert(SELECT_LIST_MAX + FILTER_NAMES_MAX <= WIRE_TESTS_MAX &&
			       SELECT_PATH_MAX <= WIRE_NAMES_MAX,
		       "all tests fit");
	for (; opt->filter && n < opt->filter->name_count; n++) {
		configure_name(&tests[n], &opt->filter->names[n]);
		tests[n].bit = (uint16_t)FILTER_WANTED_TEST(n);
	}
	for (size_t i = 0; i < s->path_count; i++, n++) {
		tests[n].field = FILTER_PATH;
		tests[n].how = NAME_SELECTED;
		tests[n].bit = FILTER_WANTED_SELECTED;
		tests[n].len = prefix_names(&s->paths[i], tests[n].names);
		tests[n].others = !tests[n].len;
	}
	ro->test_count = n;
	ro->select_paths = s->path_count;
}

/* Set in the calls object, which shares it with all others (objects.h). */
static void configure_selection(struct loaded *l, const struct ebpf_options *opt)
{
	const struct select *s = opt->select;
	struct wire_selection *to = (struct wire_selection *)&l->skel->rodata_shared->selection;

	*to = (struct wire_selection){.own_tgid = getpid(),
				      .command_tgid = opt->command_pid,
				      .own_traffic = s->own_traffic,
				      .pids = s->pid_count || s->follow,
				      .tids = s->tid_count > 0,
				      .comms = s->comm_count > 0,
				      .uids = s->uid_count > 0,
				      .cgroups = s->cgroup_count > 0,
				      .follow = s->follow};
	if (cgroup_choose(s->cgroup_count ? s->cgroups[0] : NULL, &l->cgroups) == 0)
		to->controller = (uint8_t)l->cgroups.controller;
}

/* The maps of sockets are only large if their object is requested. */
static void configure_net(struct loaded *l, const struct ebpf_options *opt)
{
	l->skel->rodata->net_wanted = opt->with & 1u << OBJECT_NET;
	if (!l->skel->rodata->net_wanted)
		return;
	bpf_map__set_max_entries(l->skel->maps.net_socks, SOCKETS_MAX);
	bpf_map__set_max_entries(l->skel->maps.net_names, SOCKETS_MAX);
	bpf_map__set_max_entries(l->skel->maps.net_opened, SOCKETS_MAX);
}

static void configure_aio(struct loaded *l, const struct select *s)
{
	struct wire_request_op ops[WIRE_AIO_OPS];

	requests_of_aio(s, ops);
	_Static_assert(sizeof(ops) == sizeof(l->skel->rodata->aio_ops), "the same table");
	memcpy((struct wire_request_op *)l->skel->rodata->aio_ops, ops, sizeof(ops));
}

static void configure(struct loaded *l, const struct ebpf_options *opt)
{
	const struct select *s = opt->select;
	struct calls_bpf__rodata_calls_shared *ro = l->skel->rodata_calls_shared;

	configure_selection(l, opt);
	ro->failed_only = s->failed_only;
	ro->min_dur_ns = s->min_dur_ns;
	ro->raw_args = opt->raw_args;
	ro->no_argv = opt->no_argv;
	ro->lossless = opt->lossless;
	ro->phases = opt->with & 1u << OBJECT_PHASES;
	/* objects that take the end time of calls */
	ro->content = opt->content.mode != WIRE_CONTENT_NONE || opt->with & 1u << OBJECT_DETAILS;
	ro->phases_split = ro->phases && opt->with & 1u << OBJECT_BLOCK;
	ro->hold_limit_ns = opt->hold_limit_ns ? (uint64_t)opt->hold_limit_ns : HOLD_LIMIT_NS;
	ro->fill_mark = l->ring_bytes / 8;
	ro->ring_half = l->ring_bytes / 2;
	ro->ring_bytes = l->ring_bytes;
	ro->ring_leaves = l->ring_bytes / WIRE_LEAF_BYTES;
	configure_net(l, opt);
	ro->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	memcpy((void *)&l->skel->rodata->stacks, &opt->stacks, sizeof(opt->stacks));
	configure_tests(ro, opt);
	configure_aio(l, s);
	if (opt->filter)
		memcpy((struct call_filter *)&ro->filter, opt->filter, sizeof(ro->filter));
}

/* A bit for each set of the filter that contains the call. */
static uint16_t plan_sets(const struct call_filter *f, uint32_t code)
{
	uint16_t sets = 0;

	_Static_assert(FILTER_SETS_MAX <= 16 && FILTER_SET_WORDS * 64 == OP_CODE_CALLS, "they fit");
	for (uint32_t i = 0; f && i < f->set_count && code < OP_CODE_CALLS; i++)
		sets |= (uint16_t)((f->sets[i][code / 64] >> (code % 64) & 1) << i);
	return sets;
}

static void fill_plans(struct loaded *l, const struct select *s, const struct call_filter *f)
{
	plans_of(s, l->plans);
	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++)
		l->plans[nr].sets = plan_sets(f, op_code_of_native(nr));
	/* A copy, so that the programs keep the original. */
	memcpy(l->skel->data_calls_shared->plans, l->plans,
	       sizeof(l->skel->data_calls_shared->plans));
}

static int fill_map(struct bpf_map *map, const void *key, struct error *err)
{
	uint32_t one = 1;

	if (bpf_map_update_elem(bpf_map__fd(map), key, &one, BPF_ANY))
		return load_error(-errno, err, "cannot fill the selection");
	return 0;
}

/* Tasks are looked up in one hierarchy: group ids of another one would match other groups, or none. */
static int check_hierarchies(const struct loaded *l, const struct select *s, struct error *err)
{
	struct cgroup_hierarchy h;

	for (size_t i = 0; i < s->cgroup_count; i++) {
		if (cgroup_choose(s->cgroups[i], &h))
			return error_set(err, -EINVAL,
					 "%s is not in a mounted control group hierarchy by which "
					 "weir can select",
					 s->cgroups[i]);
		if (strcmp(h.mount, l->cgroups.mount))
			return error_set(err, -EINVAL,
					 "%s and %s are in different control group hierarchies: "
					 "name groups of one hierarchy",
					 s->cgroups[0], s->cgroups[i]);
	}
	return 0;
}

/* The current descendants of a process; the kernel programs add later ones. */
static int add_children(struct loaded *l, int32_t pid, struct error *err)
{
	char path[64];
	struct dirent *e;
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!r && (e = readdir(dir))) {
		FILE *f;
		int child;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid, e->d_name);
		f = fopen(path, "re");
		while (f && !r && fscanf(f, "%d", &child) == 1) {
			if (child == getpid()) /* a parent of weir was selected */
				continue;
			r = fill_map(l->skel->maps.select_pids, &child, err);
			r = r ? r : add_children(l, child, err);
		}
		if (f)
			fclose(f);
	}
	closedir(dir);
	return r;
}

/* Adds a process to the selection; if processes are followed, all its descendants too. */
static int load_add_pid(struct loaded *l, int32_t pid, struct error *err)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);
	int r;

	if (kill(pid, 0) && errno == ESRCH)
		return error_set(err, -ESRCH, "no process with id %d", pid);
	r = fill_map(l->skel->maps.select_pids, &pid, err);
	if (!r && l->skel->rodata_shared->selection.follow)
		r = add_children(l, pid, err);
	return r;
}

static int fill_selection(struct loaded *l, const struct select *s, struct error *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < s->pid_count; i++)
		r = load_add_pid(l, s->pids[i], err);
	for (size_t i = 0; !r && i < s->tid_count; i++)
		r = fill_map(l->skel->maps.select_tids, &s->tids[i], err);
	for (size_t i = 0; !r && i < s->uid_count; i++)
		r = fill_map(l->skel->maps.select_uids, &s->uids[i], err);
	for (size_t i = 0; !r && i < s->comm_count; i++)
		r = fill_map(l->skel->maps.select_comms, s->comms[i], err);
	for (size_t i = 0; !r && i < s->cgroup_count; i++) {
		uint64_t id;

		r = cgroup_id(s->cgroups[i], &id, err);
		if (!r)
			r = fill_map(l->skel->maps.select_cgroups, &id, err);
	}
	return r;
}

static bool fifo_allowed(void)
{
	_privileged_(PRIVILEGE_PRIORITY);
	struct sched_param was, fifo = {.sched_priority = PRIORITY_READER};
	int policy = sched_getscheduler(0);

	/* Without SCHED_RESET_ON_FORK, which only CAP_SYS_NICE could clear again; RLIMIT_RTPRIO allows the rest. */
	if (policy < 0 || sched_getparam(0, &was) || sched_setscheduler(0, SCHED_FIFO, &fifo))
		return false;
	sched_setscheduler(0, policy, &was);
	return true;
}

size_t load_ring_size(size_t want, size_t possible, size_t online)
{
	size_t needed = MAX(online * want, (size_t)RINGS_SPARE), size = want;

	assert(possible && online && want >= RING_MIN && !(want & (want - 1)));
	while (size > RING_MIN && possible * size > MIN(needed, (size_t)RINGS_MAX))
		size /= 2;
	return size;
}

/* The size of one ring. A size requested by the user is limited only per ring. */
static size_t ring_size(size_t asked, bool lossless, size_t possible)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	size_t size = RING_MIN;

	/* Back-pressure begins at half a ring: a large one outlasts a reader that stalls for seconds. */
	if (!asked)
		return load_ring_size(!lossless && fifo_allowed() ? RING_BYTES : RING_BYTES_SLOW,
				      possible, online > 0 ? (size_t)online : possible);
	while (size < asked && size < 1u << 30)
		size *= 2;
	return size;
}

/* Creates a file and opens it again; false if no folder permits it. */
static bool probe_open(int *ret_created, int *ret_opened)
{
	static const char *const folders[] = {"/dev/shm", "/run", "/tmp", "/var/tmp"};
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/.weir-probe-%d", folders[i], getpid());
		*ret_created = open(path, flags | O_CREAT | O_EXCL, 0600);
		if (*ret_created < 0)
			continue;
		*ret_opened = open(path, flags);
		unlink(path);
		if (*ret_opened >= 0)
			return true;
		close(*ret_created);
		*ret_created = -1;
	}
	return false;
}

/* Has weir_self examine this process: its pid namespace, and the probe files, if any. */
static int look_at_self(struct loaded *l, struct error *err)
{
	_cleanup_close_ int link = -1, iter = -1;
	union bpf_iter_link_info info = {.task.tid = (uint32_t)getpid()};
	LIBBPF_OPTS(bpf_link_create_opts, only_this, .iter_info = &info,
		    .iter_info_len = sizeof(info));
	int prog = bpf_program__fd(l->skel->progs.weir_self);
	char c;

	link = bpf_link_create(prog, 0, BPF_TRACE_ITER, &only_this);
	if (link < 0) /* older than 6.1: all tasks */
		link = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
	iter = link < 0 ? -1 : bpf_iter_create(link);
	while (iter >= 0 && read(iter, &c, 1) > 0)
		;
	if (!l->skel->data_shared->shared.pidns)
		return load_error(iter < 0 ? -errno : -ENOTSUP, err,
				  "cannot determine weir's own pid namespace");
	return 0;
}

/* What the programs must know about this process before they are attached. */
static int learn_self(struct loaded *l, struct error *err)
{
	_cleanup_close_ int created = -1, opened = -1;
	struct calls_bpf__data_calls_shared *data = l->skel->data_calls_shared;
	uint32_t differ;
	int r;

	if (probe_open(&created, &opened)) {
		data->probe_fds[0] = (uint32_t)created;
		data->probe_fds[1] = (uint32_t)opened;
	}
	r = look_at_self(l, err);
	l->root = data->own_root;
	/* The only bit in which the modes of a created file and an opened one differ. */
	differ = opened < 0 ? 0 : data->probe_modes[0] ^ data->probe_modes[1];
	if (differ && !(differ & (differ - 1)))
		l->skel->data_calls_shared->created_bit = differ;
	return r;
}

/* Opened now: this requires a privilege that is given up before recording begins. */
static void load_faults(struct loaded *l)
{
	int r = l->objects.all[OBJECT_FAULTS].bpf ? faults_open(&l->faults, l->cpus) : 0;

	if (r < 0)
		objects_miss(&l->objects, OBJECT_FAULTS, r);
}

static void load_obi(struct loaded *l)
{
	bool there;
	int r = contexts_share(l->skel->maps.obi_contexts, &there);

	l->skel->rodata_calls_shared->obi = r >= 0 && there;
	if (r < 0)
		l->objects.missing[l->objects.missing_count++] =
			(struct ebpf_missing){"contexts of OpenTelemetry's eBPF instrumentation",
					      "its map " WIRE_OBI_MAP, r};
}

/* All variants have the same maps, programs and sections: the skeleton of one fits the others. */
_Static_assert(sizeof(struct calls_bpf__rodata_calls_shared) ==
			       sizeof(struct calls_plain_bpf__rodata_calls_shared) &&
		       offsetof(struct calls_bpf__rodata_calls_shared, tests) ==
			       offsetof(struct calls_plain_bpf__rodata_calls_shared, tests) &&
		       sizeof(struct calls_bpf__rodata) == sizeof(struct calls_plain_bpf__rodata),
	       "the same sections");

struct calls_bpf *load_open_calls(const struct kernel_btf *k, bool plain)
{
	static const void *(*const elf_of[2][2])(size_t *ret_size) = {
		{calls_probing_bpf__elf_bytes, calls_bpf__elf_bytes},
		{calls_plain_probing_bpf__elf_bytes, calls_plain_bpf__elf_bytes},
	};
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = k->path);
	struct calls_bpf *skel = calloc(1, sizeof(*skel));
	_cleanup_free_ void *elf = NULL;
	int r = skel ? calls_bpf__create_skeleton(skel) : -ENOMEM;

	if (!r)
		skel->skeleton->data = (void *)elf_of[plain][k->casts](&skel->skeleton->data_sz);
	if (!r)
		elf = kernel_btf_elf(k, skel->skeleton->data, skel->skeleton->data_sz);
	r = r || elf ? r : -ENOMEM;
	if (!r) {
		skel->skeleton->data = elf;
		r = bpf_object__open_skeleton(skel->skeleton, &opts);
	}
	if (!r)
		return skel;
	calls_bpf__destroy(skel);
	errno = -r;
	return NULL;
}

/* Opens all required objects, and writes the types they refer to. */
static int open_objects(struct loaded *l, struct kernel_btf *k, const struct ebpf_options *opt,
			struct error *err)
{
	int r = kernel_btf_open(k, objects_key(opt));

	if (r < 0)
		return load_error(r, err, "cannot read the kernel's types");
	l->skel = load_open_calls(k, objects_plain(opt));
	if (!l->skel)
		return load_error(-errno, err, "cannot open the kernel programs");
	r = kernel_btf_add(k, l->skel->obj);
	r = r < 0 ? r : objects_open(&l->objects, k, opt);
	r = r < 0 ? r : kernel_btf_write(k);
	return r < 0 ? error_errno(err, r, "cannot open the kernel programs") : 0;
}

/* The objects other than calls, loaded while its programs are verified: each takes about 50 ms in the verifier. */
struct beside {
	struct loaded *l;
	const struct kernel_btf *types;
	const struct ebpf_options *opt;
	pthread_t thread;
	bool started;
};

static void *beside_load(void *data)
{
	struct beside *b = data;

	objects_load(&b->l->objects, b->l->skel->obj, b->types, b->opt);
	return NULL;
}

static void beside_start(void *data)
{
	struct beside *b = data;

	b->started = !pthread_create(&b->thread, NULL, beside_load, b);
}

static int load_objects(struct loaded *l, struct kernel_btf *types, const struct ebpf_options *opt)
{
	struct beside b = {.l = l, .types = types, .opt = opt};
	int r = kernel_btf_target(types, l->skel->obj);

	types->mapped = beside_start;
	types->mapped_data = &b;
	r = r < 0 ? r : calls_bpf__load(l->skel);
	if (b.started)
		pthread_join(b.thread, NULL);
	else if (!r)
		beside_load(&b);
	return r;
}

int load_programs(struct loaded *l, const struct ebpf_options *opt, struct error *err)
{
	_privileged_(PRIVILEGE_LOAD);
	_cleanup_(kernel_btf_free) struct kernel_btf types = {0};
	int cpus = libbpf_num_possible_cpus(), r;

	if (!secure_getenv("WEIR_BPF_LOG"))
		libbpf_set_print(quiet);
	r = probes_check(opt->spans, err);
	if (r >= 0)
		r = check_proc(err);
	if (r >= 0)
		r = privilege_prepare_load(err);
	if (r < 0)
		return r;
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL & ~LIBBPF_STRICT_AUTO_RLIMIT_MEMLOCK);
	if (cpus < 1 || cpus > WIRE_CPUS_MAX)
		return error_set(err, -ENOTSUP, "this machine has %d CPUs, weir supports 1 to %d",
				 cpus, WIRE_CPUS_MAX);
	l->cpus = cpus;
	l->ring_bytes = ring_size(opt->ring_bytes, opt->lossless, l->cpus);
	l->plans = calloc(WIRE_CALLS_MAX, sizeof(*l->plans));
	if (!l->plans)
		return error_set(err, -ENOMEM, "out of memory");
	r = open_objects(l, &types, opt, err);
	if (r < 0)
		return r;
	configure(l, opt);
	r = check_hierarchies(l, opt->select, err);
	if (r < 0)
		return r;
	bpf_map__set_max_entries(l->skel->maps.rings, l->cpus * (l->ring_bytes / WIRE_LEAF_BYTES));
	if (opt->processes_max)
		bpf_map__set_max_entries(l->skel->maps.select_pids, opt->processes_max);
	bpf_map__set_max_entries(l->skel->maps.scratches, l->cpus * WIRE_SCRATCHES);
	l->side_bytes = objects_side_bytes(opt);
	bpf_map__set_max_entries(l->skel->maps.side, l->side_bytes);
	load_obi(l);
	r = load_objects(l, &types, opt);
	if (r)
		return load_error(r, err, "cannot load the kernel programs");
	l->counters = l->skel->data_calls_shared->cpus;
	l->rings_fd = bpf_map__fd(l->skel->maps.rings);
	l->bell_fd = bpf_map__fd(l->skel->maps.bell);
	l->side_fd = bpf_map__fd(l->skel->maps.side);
	r = learn_self(l, err);
	if (r < 0)
		return r;
	if (opt->with & (1u << OBJECT_SCHED | 1u << OBJECT_MEM))
		l->skel->data_shared->shared.preempt_from_rq = sums_preempt_from_rq();
	content_find_pages(&l->objects);
	block_find_symbols(&l->objects);
	l->uring_left_out = !requests_selected(opt);
	load_faults(l);
	r = probes_attach(&l->probes, &l->objects, opt->spans, err);
	if (r < 0)
		return r;
	fill_plans(l, opt->select, opt->filter);
	return fill_selection(l, opt->select, err);
}

void loaded_free(struct loaded *l)
{
	free(l->plans);
	faults_free(&l->faults);
	probes_detach(&l->probes);
	objects_free(&l->objects);
	calls_bpf__destroy(l->skel);
	*l = (struct loaded){0};
}

/* Makes every thread check again whether it is selected. */
static void look_again(struct loaded *l)
{
	__atomic_add_fetch(&l->skel->data_calls_shared->select_epoch, 1, __ATOMIC_SEQ_CST);
}

uint64_t load_over(struct loaded *l)
{
	uint64_t now = (uint64_t)clock_monotonic_ns();

	__atomic_store_n(&l->skel->data_shared->shared.over, now, __ATOMIC_SEQ_CST);
	return now;
}

void load_detach_enter(struct loaded *l)
{
	__atomic_store_n(&l->skel->data_calls_shared->stopping, 1, __ATOMIC_SEQ_CST);
	bpf_link__destroy(l->skel->links.weir_enter);
	l->skel->links.weir_enter = NULL;
}

void load_detach(struct loaded *l)
{
	calls_bpf__detach(l->skel);
	faults_detach(&l->faults);
	probes_detach(&l->probes);
	objects_detach(&l->objects);
}

int load_publish(struct loaded *l, int32_t pid, uint64_t process_start, int64_t offset,
		 uint32_t module)
{
	_privileged_(PRIVILEGE_BPF);
	const struct wire_publisher p = {
		.process_start = process_start,
		.offset = offset,
		.module = module,
		.number = ++l->skel->data_calls_shared->publisher_count,
	};

	if (bpf_map_update_elem(bpf_map__fd(l->skel->maps.publishers), &pid, &p, BPF_ANY))
		return -errno;
	look_again(l);
	return 0;
}

void load_unpublish(struct loaded *l, int32_t pid)
{
	_privileged_(PRIVILEGE_BPF);

	/* Usually the programs removed it when the process ended. */
	if (!bpf_map_delete_elem(bpf_map__fd(l->skel->maps.publishers), &pid))
		look_again(l);
}

bool load_has_ended(uint32_t id)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, id, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return fd < 0 ? errno == ESRCH : poll(&end, 1, 0) == 1;
}

/* Adds what the selected processes forked, and removes those that ended, before the programs could see it. */
static int catch_up(struct loaded *l, struct error *err)
{
	int fd = bpf_map__fd(l->skel->maps.select_pids), r = 0;
	uint32_t key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	while (more && !r) {
		if (l->skel->rodata_shared->selection.follow)
			r = add_children(l, (int32_t)key, err);
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (load_has_ended(key))
			bpf_map_delete_elem(fd, &key);
		key = next;
	}
	return r;
}

/* If the kernel refuses one, its data is missing and recording continues. */
static void attach_objects(struct loaded *l)
{
	int r;

	objects_attach(&l->objects, false);
	if (l->objects.all[OBJECT_FAULTS].bpf) {
		r = faults_attach(&l->faults,
				  object_program(&l->objects, OBJECT_FAULTS, "weir_fault"));
		if (r < 0)
			objects_miss(&l->objects, OBJECT_FAULTS, r);
	}
	if (!l->objects.all[OBJECT_FAULTS].bpf)
		faults_free(&l->faults);
}

int load_attach(struct loaded *l, struct error *err)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);
	int r;

	objects_attach(&l->objects, true);
	r = calls_bpf__attach(l->skel);
	if (r)
		return load_error(r, err, "cannot attach the kernel programs");
	attach_objects(l);
	l->attached = true;
	r = catch_up(l, err);
	if (r)
		return r;
	l->skel->data_calls_shared->attached_at = (uint64_t)clock_monotonic_ns();
	/* Not before: an enter traced without its exit takes a number that never arrives. */
	look_again(l);
	return 0;
}

/* Removes processes that ended while they were added, too late for the programs. */
static bool any_left(const struct bpf_map *map)
{
	_privileged_(PRIVILEGE_BPF);
	int fd = bpf_map__fd(map);
	uint32_t key;

	while (!bpf_map_get_next_key(fd, NULL, &key)) {
		if (!load_has_ended(key))
			return true;
		bpf_map_delete_elem(fd, &key);
	}
	return false;
}

bool load_targets_left(const struct loaded *l)
{
	return any_left(l->skel->maps.select_pids) || any_left(l->skel->maps.select_tids);
}

size_t load_processes_left(const struct loaded *l, int32_t *ret_first)
{
	_privileged_(PRIVILEGE_BPF);
	int fd = bpf_map__fd(l->skel->maps.select_pids);
	uint32_t key, *at = NULL;
	size_t count = 0;

	for (; !bpf_map_get_next_key(fd, at, &key); at = &key) {
		if (!load_has_ended(key))
			*ret_first = count++ ? MIN(*ret_first, (int32_t)key) : (int32_t)key;
	}
	return count;
}
