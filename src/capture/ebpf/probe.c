/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: what this kernel allows, each tried for real. */
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

#define TEST_CALLS 1000
#define COST_CALLS 100000
#define TEST_DEPTH 9

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

/* A folder of its own, some levels deep, with one file that is held open. */
struct site {
	char root[64];
	char dir[256];
	char file[280];
	int fd;
};

static int site_make(struct site *s)
{
	snprintf(s->root, sizeof(s->root), "/tmp/weir-doctor-XXXXXX");
	s->fd = -1;
	if (!mkdtemp(s->root))
		return -errno;
	snprintf(s->dir, sizeof(s->dir), "%s", s->root);
	for (int i = 1; i < TEST_DEPTH; i++) {
		size_t n = strlen(s->dir);

		snprintf(s->dir + n, sizeof(s->dir) - n, "/d%d", i);
		if (mkdir(s->dir, 0700))
			return -errno;
	}
	snprintf(s->file, sizeof(s->file), "%s/file", s->dir);
	s->fd = open(s->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return s->fd < 0 || write(s->fd, "12345678", 8) != 8 ? -errno : 0;
}

static void site_remove(struct site *s)
{
	char path[sizeof(s->file)];

	if (s->fd >= 0)
		close(s->fd);
	unlink(s->file);
	snprintf(path, sizeof(path), "%s", s->dir);
	while (strlen(path) >= strlen(s->root)) {
		rmdir(path);
		*strrchr(path, '/') = 0;
	}
}

/* What came of the calls made. */
struct seen {
	uint64_t reads, right_path, failed_open, renamed;
	int64_t key;
};

static bool is_path(struct bytes v, const char *text)
{
	return v.len == strlen(text) && !memcmp(v.data, text, v.len);
}

static void count_rows(const struct batch_set *set, const struct site *site, int tid,
		       struct seen *seen)
{
	const struct batch *f = set->tables[TABLE_FILE], *o = set->tables[TABLE_OP];

	for (size_t i = 0; f && i < f->rows; i++) {
		if (is_path(batch_get_bytes(f, FILE_PATH, i), site->file) &&
		    batch_is_null(f, FILE_NAME_ONLY, i))
			seen->key = batch_get(f, FILE_ID, i, -1);
	}
	for (size_t i = 0; o && i < o->rows; i++) {
		int64_t op = batch_get(o, OP_OP, i, -1);

		if (batch_get(o, OP_TID, i, 0) != tid)
			continue;
		if (op == op_find("pread64") && batch_get(o, OP_RET, i, 0) == 8) {
			seen->reads++;
			seen->right_path += batch_get(o, OP_FILE_ID, i, -1) == seen->key &&
					    batch_get(o, OP_POS, i, -1) == 0;
		}
		seen->failed_open +=
			op == op_find("openat") && batch_get(o, OP_ERR, i, 0) == ENOENT;
		seen->renamed += op == op_find("rename") && batch_get(o, OP_RET, i, -1) == 0;
	}
}

static int drain(struct source *s, const struct site *site, struct seen *seen, struct error *err)
{
	_cleanup_batch_set_ struct batch_set set = {0};
	int r;

	do {
		batch_set_clear(&set);
		r = source_read(s, &set, 100, err);
		if (r >= 0)
			count_rows(&set, site, gettid(), seen);
	} while (r == SOURCE_ROWS || r == SOURCE_TIMEOUT);
	return r < 0 ? r : 0;
}

static int64_t reads_cpu_ns(int fd, int count)
{
	struct timespec a, b;
	char buf[8];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (int i = 0; i < count; i++) {
		if (pread(fd, buf, sizeof(buf), 0) < 0)
			break;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return (b.tv_sec - a.tv_sec) * NSEC_PER_SEC + b.tv_nsec - a.tv_nsec;
}

static void make_test_calls(const struct site *site)
{
	char other[sizeof(site->file) + 8];
	int fd;

	reads_cpu_ns(site->fd, TEST_CALLS);
	snprintf(other, sizeof(other), "%s.other", site->file);
	fd = open(other, O_RDONLY);
	if (fd >= 0)
		close(fd);
	if (syscall(SYS_rename, site->file, other) == 0)
		(void)!syscall(SYS_rename, other, site->file);
}

/* Records this very process: the known calls, then many for the cost. */
static size_t probe_recording(struct ebpf_probe *ret)
{
	struct select select = {.pids = {getpid()}, .pid_count = 1, .own_traffic = true};
	struct ebpf_options opt = {.select = &select, .freeze_cgroup_fd = -1};
	_cleanup_(source_freep) struct source *s = NULL;
	struct seen seen = {.key = -1};
	struct source_stats stats;
	struct error err = {0};
	struct site site;
	int64_t alone, traced = 0;
	int r = site_make(&site);

	alone = r ? 0 : reads_cpu_ns(site.fd, COST_CALLS);
	r = r ? r : ebpf_source_new(&s, &opt, &err);
	r = r ? r : source_start(s, &err);
	if (!r) {
		make_test_calls(&site);
		traced = reads_cpu_ns(site.fd, COST_CALLS);
		r = source_stop(s, &err);
		r = r ? r : drain(s, &site, &seen, &err);
		source_stats(s, &stats);
	}
	site_remove(&site);
	if (r) {
		result(&ret[0], "kernel programs", r,
		       geteuid() ? "run as root (sudo weir doctor)" : "", "%s",
		       err.message[0] ? err.message : strerror(-r));
		return 1;
	}
	r = seen.reads == TEST_CALLS + COST_CALLS ? 0 : -EIO;
	result(&ret[0], "kernel programs", r, r ? "report this as a bug" : "",
	       "loaded, attached; saw %llu of %d test calls, %llu lost",
	       (unsigned long long)seen.reads, TEST_CALLS + COST_CALLS,
	       (unsigned long long)stats.lost);
	r = seen.right_path == seen.reads && seen.failed_open == 1 && seen.renamed == 2 ? 0 : -EIO;
	result(&ret[1], "arguments, paths", r, r ? "report this as a bug" : "",
	       "open, failed open, rename, %d folders deep: %s", TEST_DEPTH,
	       r ? "wrong" : "all right");
	result(&ret[2], "cost here", 0, "", "%lld ns per traced call (%d calls)",
	       (long long)((traced - alone) / COST_CALLS), COST_CALLS);
	return 3;
}

/* Loads, without attaching, the smallest program of a type on a kernel function. */
static int try_program(enum bpf_prog_type type, enum bpf_attach_type attach, const char *function)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);
	_cleanup_close_ int fd = -1, link = -1;
	int id = libbpf_find_vmlinux_btf_id(function, attach);

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
	if (r)
		result(p, name, r, "nothing in this version needs it", "refused: %s", strerror(-r));
	else
		result(p, name, 0, "", "allowed");
}

static void probe_kprobes(struct ebpf_probe *p)
{
	if (access("/sys/bus/event_source/devices/kprobe", F_OK))
		result(p, "kprobes", -ENOTSUP, "nothing in this version needs it",
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
	else if (h.subsys[0])
		result(p, "--cgroup", 0, "", "v1 and v2 side by side: ids of the v1 controller %s",
		       h.subsys);
	else
		result(p, "--cgroup", 0, "", "v2 at %s", h.mount);
}

static void probe_btf(struct ebpf_probe *p)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		result(p, "BTF", -errno,
		       "boot a kernel built with CONFIG_DEBUG_INFO_BTF, Linux 5.17 or later",
		       "/sys/kernel/btf/vmlinux is missing");
	else
		result(p, "BTF", 0, "", "/sys/kernel/btf/vmlinux");
}

size_t ebpf_probe(struct ebpf_probe *ret, size_t max)
{
	struct ebpf_probe all[12] = {0};
	size_t n = 0;

	probe_btf(&all[n++]);
	n += probe_recording(&all[n]);
	probe_cgroup(&all[n++]);
	probe_extra(&all[n++], "fentry",
		    try_program(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "vfs_read"));
	probe_extra(&all[n++], "LSM", try_program(BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "file_open"));
	probe_kprobes(&all[n++]);
	n = MIN(n, max);
	memcpy(ret, all, n * sizeof(*ret));
	return n;
}
