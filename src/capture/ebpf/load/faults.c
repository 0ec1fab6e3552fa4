/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/load/faults.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"

static int fault_event(int cpu)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
				       .sample_period = 1,
				       .disabled = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* From /sys/devices/system/cpu/online ("0-3,5"); 0: not readable. */
static uint64_t online_sum(void)
{
	char text[4096];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 ? hash_bytes(text, (size_t)n) : 0;
}

int faults_open(struct faults *f, size_t cpus)
{
	size_t opened = 0;
	int r = 0;

	f->events = calloc(cpus, sizeof(*f->events));
	f->links = calloc(cpus, sizeof(*f->links));
	f->counts = calloc(cpus, sizeof(*f->counts));
	if (!f->events || !f->links || !f->counts)
		return -ENOMEM;
	f->cpus = cpus;
	for (size_t i = 0; i < cpus; i++)
		f->events[i] = f->links[i] = -1;
	f->online_sum = online_sum();
	for (size_t i = 0; i < cpus && r >= 0; i++) {
		r = f->events[i] = fault_event((int)i);
		opened += r >= 0;
		if (r == -ENODEV) /* possible but not online */
			r = 0;
	}
	if (r >= 0 && opened)
		return 0;
	faults_free(f);
	return r < 0 ? r : -ENODEV;
}

int faults_attach(struct faults *f, int program)
{
	for (size_t i = 0; i < f->cpus; i++) {
		if (f->events[i] < 0)
			continue;
		f->links[i] = bpf_link_create(program, f->events[i], BPF_PERF_EVENT, NULL);
		if (f->links[i] < 0)
			return f->links[i];
	}
	for (size_t i = 0; i < f->cpus; i++) {
		if (f->events[i] >= 0 && ioctl(f->events[i], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	}
	return 0;
}

bool faults_cpus_changed(struct faults *f)
{
	uint64_t before = f->online_sum;

	if (!f->cpus)
		return false;
	f->online_sum = online_sum();
	return f->online_sum != before;
}

void faults_detach(struct faults *f)
{
	for (size_t i = 0; i < f->cpus; i++) {
		if (f->events[i] < 0)
			continue;
		(void)!ioctl(f->events[i], PERF_EVENT_IOC_DISABLE, 0);
		if (read(f->events[i], &f->counts[i], sizeof(f->counts[i])) != sizeof(f->counts[i]))
			f->counts[i] = 0;
		if (f->links[i] >= 0)
			close(f->links[i]);
		close(f->events[i]);
		f->events[i] = f->links[i] = -1;
	}
}

void faults_free(struct faults *f)
{
	faults_detach(f);
	free(f->events);
	free(f->links);
	free(f->counts);
	*f = (struct faults){0};
}

uint64_t faults_skipped(const struct faults *f, int runs)
{
	_cleanup_free_ uint64_t *ran = calloc(f->cpus + 1, sizeof(*ran));
	uint64_t skipped = 0;
	uint32_t zero = 0;

	if (!ran || !f->cpus || bpf_map_lookup_elem(runs, &zero, ran))
		return 0;
	for (size_t i = 0; i < f->cpus; i++)
		skipped += f->counts[i] > ran[i] ? f->counts[i] - ran[i] : 0;
	return skipped;
}
