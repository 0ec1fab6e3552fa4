/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor: runs a command and writes a raw record of 64 bytes for each of its calls: the yardstick of
 * the bench.
 *
 *   floor -o FILE -- CMD [ARG...]
 *
 * Prints {"ops": N, "lost": N} to standard error at the end; exits with the command's status.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor.h"
#include "floor.skel.h"

#define OUT_BYTES (1 << 20)

struct out {
	int fd;
	size_t len;
	unsigned long long ops;
	char data[OUT_BYTES];
};

static void out_flush(struct out *o)
{
	for (size_t at = 0; at < o->len;) {
		ssize_t n = write(o->fd, o->data + at, o->len - at);

		if (n <= 0) {
			perror("floor: write");
			exit(1);
		}
		at += (size_t)n;
	}
	o->len = 0;
}

static int take(void *arg, void *data, size_t size)
{
	struct out *o = arg;

	if (o->len + sizeof(struct floor_record) > OUT_BYTES)
		out_flush(o);
	memcpy(o->data + o->len, data, sizeof(struct floor_record));
	o->len += sizeof(struct floor_record);
	o->ops++;
	return 0;
}

static struct ring_buffer *make_rings(struct floor_bpf *bpf, struct out *o)
{
	struct ring_buffer *rb = NULL;
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus && cpu < FLOOR_CPUS_MAX; cpu++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "floor_ring", 0, 0, FLOOR_RING_BYTES,
					NULL);

		if (fd < 0 || bpf_map_update_elem(bpf_map__fd(bpf->maps.rings), &cpu, &fd, BPF_ANY))
			return NULL;
		if (!rb)
			rb = ring_buffer__new(fd, take, o, NULL);
		else if (ring_buffer__add(rb, fd, take, o))
			return NULL;
	}
	return rb;
}

/* The child waits until the programs are attached. */
static pid_t start(char **argv, int *ret_go)
{
	int pipes[2];
	pid_t pid;
	char c;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		if (read(pipes[0], &c, 1) < 0)
			_exit(126);
		close(pipes[0]);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(pipes[0]);
	*ret_go = pipes[1];
	return pid;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("FLOOR_VERBOSE") ? vfprintf(stderr, format, args) : 0;
}

static void on_signal(int sig)
{
}

int main(int argc, char **argv)
{
	static struct out out;
	struct floor_bpf *bpf;
	struct ring_buffer *rb;
	unsigned long long lost = 0;
	int status = 0, go = -1;
	pid_t pid;

	if (argc < 5 || strcmp(argv[1], "-o") || strcmp(argv[3], "--")) {
		fprintf(stderr, "usage: floor -o FILE -- CMD [ARG...]\n");
		return 2;
	}
	signal(SIGINT, on_signal);
	libbpf_set_print(quiet);
	out.fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	pid = start(argv + 4, &go);
	bpf = floor_bpf__open();
	if (out.fd < 0 || pid < 0 || !bpf) {
		perror("floor");
		return 1;
	}
	bpf->bss->target_tgid = pid;
	rb = floor_bpf__load(bpf) ? NULL : make_rings(bpf, &out);
	if (!rb || floor_bpf__attach(bpf)) {
		fprintf(stderr, "floor: the kernel refused: %s\n", strerror(errno));
		kill(pid, SIGKILL);
		return 1;
	}
	close(go);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ring_buffer__poll(rb, 20);
		ring_buffer__consume(rb);
	}
	floor_bpf__detach(bpf);
	ring_buffer__consume(rb);
	out_flush(&out);
	for (int cpu = 0; cpu < FLOOR_CPUS_MAX; cpu++)
		lost += bpf->bss->lost[cpu];
	fprintf(stderr, "{\"ops\": %llu, \"lost\": %llu}\n", out.ops, lost);
	ring_buffer__free(rb);
	floor_bpf__destroy(bpf);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
