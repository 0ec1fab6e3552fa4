/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "privilege/privilege.h"

static bool is_tracer(const char *comm)
{
	static const char *const tracers[] = {
		"strace", "ltrace", "bpftrace", "perf", "sysdig", "falco", "trace-cmd", "stap",
		"stapio", "weir", "dio", "tracee", "lttng-sessiond",
		/* audit daemons */
		"auditd", "auditbeat", "go-audit", "osqueryd", "tetragon"};

	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++) {
		if (!strcmp(comm, tracers[i]))
			return true;
	}
	return false;
}

/* A weir that only reads traces has attached nothing. If its descriptors cannot be read, it may have. */
static bool has_attached(const char *pid)
{
	char path[64], link[64];
	bool found = false;
	struct dirent *e;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	fds = opendir(path);
	if (!fds)
		return errno != ENOENT;
	while (!found && (e = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), e->d_name, link, sizeof(link) - 1);

		link[MAX(n, (ssize_t)0)] = '\0';
		found = !strncmp(link, "anon_inode:bpf", strlen("anon_inode:bpf"));
	}
	closedir(fds);
	return found;
}

static bool read_comm(const char *pid, char comm[static 32])
{
	char path[64];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "re");
	ok = f && fgets(comm, 32, f);
	if (f)
		fclose(f);
	if (ok)
		comm[strcspn(comm, "\n")] = '\0';
	return ok;
}

/* Reads the arguments of a process, a terminated string each; their length, 0 if they cannot be read. */
static size_t tracer_args(const char *pid, char *args, size_t size)
{
	char path[64];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, args, size - 1);
	args[MAX(n, (ssize_t)0)] = '\0';
	return (size_t)MAX(n, (ssize_t)0);
}

/* True for `perf trace` and for one with tracepoints of calls; others sample or count, which slows no call down. */
static bool perf_traces(const char *pid)
{
	char args[4096];
	size_t n = tracer_args(pid, args, sizeof(args));
	const char *command = NULL;

	for (const char *p = args + strlen(args) + 1; p < args + n; p += strlen(p) + 1) {
		if (!command && *p != '-')
			command = p;
		if (!strcmp(p, "--"))
			break;
		if (strstr(p, "syscalls:"))
			return true;
	}
	return !n || (command && (!strcmp(command, "trace") || !strcmp(command, "ftrace")));
}

/* The selection of another weir if it is the host or processes: " -a", " -p 4711,4712". */
static void read_selection(const char *pid, char *to, size_t size)
{
	char args[4096], *next;
	size_t n = tracer_args(pid, args, sizeof(args)), used = 0;

	for (char *p = args; p < args + n && strcmp(p, "--") && used < size; p = next) {
		const char *pids = NULL;

		next = p + strlen(p) + 1;
		if (!strcmp(p, "-a") || !strcmp(p, "--all") || !strcmp(p, "agent"))
			used += (size_t)snprintf(to + used, size - used, " -a");
		else if (!strcmp(p, "-p") || !strcmp(p, "--pid"))
			pids = next < args + n ? next : NULL;
		else if (!strncmp(p, "-p", 2) || !strncmp(p, "--pid=", 6))
			pids = p + (p[1] == 'p' ? 2 : 6);
		if (pids && *pids && !pids[strspn(pids, "0123456789,")])
			used += (size_t)snprintf(to + used, size - used, " -p %s", pids);
	}
}

int tracers_each(int (*each)(void *arg, int32_t pid, const char *name), void *arg)
{
	_privileged_(PRIVILEGE_PROC);
	const struct dirent *e;
	DIR *proc = opendir("/proc");
	char name[256];
	size_t len;
	int r = 0;

	while (proc && !r && (e = readdir(proc))) {
		long pid = isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;

		if (pid <= 0 || pid == getpid() || !read_comm(e->d_name, name) || !is_tracer(name))
			continue;
		if (!strcmp(name, "perf") && !perf_traces(e->d_name))
			continue;
		len = strlen(name);
		if (!strcmp(name, "weir")) {
			if (!has_attached(e->d_name))
				continue;
			read_selection(e->d_name, name + len, sizeof(name) - len);
		}
		r = each(arg, (int32_t)pid, name);
	}
	if (proc)
		closedir(proc);
	return r;
}
