/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: the features of this kernel, each actually tried. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "capture/ebpf/internal.h"
#include "capture/ebpf/load/load.h"
#include "privilege/privilege.h"

static void result(struct ebpf_probe *p, const char *name, int code, const char *remedy,
		   const char *fmt, ...) _printf_(5, 6);

static void result(struct ebpf_probe *p, const char *name, int code, const char *remedy,
		   const char *fmt, ...)
{
	va_list args;

	p->name = name;
	p->result = code;
	snprintf(p->remedy, sizeof(p->remedy), "%s", remedy);
	va_start(args, fmt);
	vsnprintf(p->detail, sizeof(p->detail), fmt, args);
	va_end(args);
}

/* Loads and attaches the smallest program of a type on a kernel function. */
static int try_program(const struct btf *vmlinux, enum bpf_prog_type type,
		       enum bpf_attach_type attach, const char *function)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);
	_cleanup_close_ int fd = -1, link = -1;
	int id = vmlinux ? btf__find_by_name_kind(vmlinux, function, BTF_KIND_FUNC) : -ENOENT;

	if (id < 0)
		return id;
	opts.attach_btf_id = id;
	fd = bpf_prog_load(type, "weir_probe", "GPL", code, ARRAY_SIZE(code), &opts);
	if (fd < 0)
		return -errno;
	link = bpf_raw_tracepoint_open(NULL, fd);
	return link < 0 ? -errno : 0;
}

static void probe_extra(struct ebpf_probe *p, const char *name, int r)
{
	p->need = PROBE_EXTRA;
	if (r)
		result(p, name, r, "not needed by this version", "refused: %s", strerror(-r));
	else
		result(p, name, 0, "", "allowed");
}

static void probe_kprobes(struct ebpf_probe *p)
{
	p->need = PROBE_EXTRA;
	if (access("/sys/bus/event_source/devices/kprobe", F_OK))
		result(p, "kprobes", -ENOTSUP, "not needed by this version",
		       "not built into this kernel");
	else
		result(p, "kprobes", 0, "", "allowed");
}

static void probe_cgroup(struct ebpf_probe *p)
{
	struct cgroup_hierarchy h;
	int r = cgroup_choose(NULL, &h);

	if (r)
		result(p, "--cgroup", r, "mount the cgroup file system",
		       "no control groups are mounted");
	else if (h.controller)
		result(p, "--cgroup", 0, "",
		       "v1 and v2 side by side: ids are those of the v1 controller %s",
		       cgroup_controller_name(h.controller));
	else
		result(p, "--cgroup", 0, "", "v2 at %s", h.mount);
}

static void probe_btf(struct ebpf_probe *p)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		result(p, "BTF", -errno,
		       "boot Linux 5.17 or later, built with CONFIG_DEBUG_INFO_BTF",
		       "/sys/kernel/btf/vmlinux is missing");
	else
		result(p, "BTF", 0, "", "/sys/kernel/btf/vmlinux");
}

/* Without them the reader runs late and the decoding thread gets only an ordinary share. */
static void probe_priority(struct ebpf_probe *p)
{
	int r = priority_probe();

	p->need = PROBE_EXTRA;
	if (r)
		result(p, "real-time", r,
		       "with more than 30 busy threads calls may be lost: add CAP_SYS_NICE",
		       "refused: %s", strerror(-r));
	else
		result(p, "real-time", 0, "", "allowed");
}

/* Whether an object's tracepoint exists; its type in the kernel is btf_trace_NAME. `refused`: the result of loading and
 * attaching it. */
static void probe_object(struct ebpf_probe *p, const struct btf *vmlinux, const char *shows,
			 const char *tracepoint, int refused)
{
	char type[80];
	int id;

	p->need = PROBE_PART;
	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	id = !strcmp(tracepoint, OBJECT_UPROBES) ? 0
	     : vmlinux ? btf__find_by_name_kind(vmlinux, type, BTF_KIND_TYPEDEF)
		       : -ENOENT;
	if (id < 0)
		result(p, tracepoint, id, "", "not in this kernel; not available: %s", shows);
	else if (refused)
		result(p, tracepoint, refused, "", "refused (%s); not available: %s",
		       strerror(-refused), shows);
	else
		result(p, tracepoint, 0, "", "shows %s", shows);
}

/* Loads and attaches every object as for a recording, of one thread that makes no calls meanwhile. */
static void probe_objects(struct ebpf_probe *all, const struct btf *vmlinux)
{
	const struct select nobody = {.tids = {1}, .tid_count = 1};
	const struct ebpf_options opt = {
		.command_pid = 1, .select = &nobody, .with = UINT32_MAX, .stacks = {.of = 1}};
	const char *shows, *tracepoint;
	struct loaded l = {0};
	struct error err = {0};
	int r = load_programs(&l, &opt, &err);

	r = r ? r : load_attach(&l, &err);
	for (size_t i = 0; (shows = object_shows(i, &tracepoint)); i++) {
		int refused = 0;

		for (size_t k = 0; k < l.objects.missing_count; k++) {
			if (l.objects.missing[k].shows == shows)
				refused = l.objects.missing[k].error;
		}
		probe_object(&all[i], vmlinux, shows, tracepoint, refused);
	}
	if (l.attached)
		load_detach(&l);
	loaded_free(&l);
}

size_t ebpf_probe(struct ebpf_probe *ret, size_t max)
{
	_privileged_(PRIVILEGE_LOAD);
	struct ebpf_probe all[6 + OBJECT_COUNT] = {0};
	/* some megabytes: loaded once for both programs */
	struct btf *vmlinux = btf__load_vmlinux_btf();
	size_t n = 0;

	probe_btf(&all[n++]);
	probe_cgroup(&all[n++]);
	probe_priority(&all[n++]);
	probe_extra(&all[n++], "fentry",
		    try_program(vmlinux, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "vfs_read"));
	probe_extra(&all[n++], "LSM",
		    try_program(vmlinux, BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_file_open"));
	probe_kprobes(&all[n++]);
	probe_objects(&all[n], vmlinux);
	n += OBJECT_COUNT;
	btf__free(vmlinux);
	assert(n == ARRAY_SIZE(all));
	n = MIN(n, max);
	memcpy(ret, all, n * sizeof(*ret));
	return n;
}
