/* SPDX-License-Identifier: Apache-2.0 */
/* dump: runs a command under the kernel source and prints every row that the source gives, for people who debug it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "capture/ebpf/ebpf.h"
#include "schema/vocab.h"

static void print_row(const struct batch *b, size_t row)
{
	printf("%s", b->def->name);
	for (unsigned int c = 0; c < b->def->column_count; c++) {
		if (batch_is_null(b, c, row))
			continue;
		if (b->def->columns[c].type == COLUMN_BYTES) {
			struct bytes v = batch_get_bytes(b, c, row);

			printf(" %s=\"%.*s\"", b->def->columns[c].name, (int)v.len,
			       (const char *)v.data);
		} else if (b->table == TABLE_OP && c == OP_OP) {
			char name[32];

			printf(" op=%s", op_name(batch_get(b, c, row, 0), name));
		} else {
			printf(" %s=%" PRId64, b->def->columns[c].name, batch_get(b, c, row, 0));
		}
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct select select = {.follow = true};
	struct ebpf_options opt = {.select = &select};
	_cleanup_(source_freep) struct source *s = NULL;
	_cleanup_batch_set_ struct batch_set set = {0};
	struct source_stats stats;
	struct error err = {0};
	bool quiet = argc > 1 && !strcmp(argv[1], "-q"), stopped = false;
	int gate[2], status, r;
	char go = 1;
	pid_t pid;
	int64_t t0 = clock_monotonic_ns();

	argv += quiet;
	if (pipe(gate))
		return 1;
	pid = fork();
	if (!pid) {
		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(127);
		close(gate[0]);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	select.pids[select.pid_count++] = (int32_t)pid;
	r = ebpf_source_new(&s, &opt, &err);
	r = r ? r : source_start(s, &err);
	if (r) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	fprintf(stderr, "start %.3f s\n", (clock_monotonic_ns() - t0) / 1e9);
	if (write(gate[1], &go, 1) != 1)
		return 1;
	for (;;) {
		if (!stopped && waitpid(pid, &status, WNOHANG) == pid) {
			source_stop(s, &err);
			stopped = true;
		}
		r = source_read(s, &set, 50, &err);
		if (r < 0) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		for (int t = TABLE_COUNT - 1; t >= 0; t--) {
			for (size_t i = 0; set.tables[t] && i < set.tables[t]->rows && !quiet; i++)
				print_row(set.tables[t], i);
		}
		batch_set_clear(&set);
		if (r == SOURCE_END)
			break;
	}
	source_stats(s, &stats);
	fprintf(stderr, "ops %" PRIu64 " lost %" PRIu64 " ring %" PRIu64 " proved %d\n", stats.ops,
		stats.lost, stats.ring_bytes, stats.sequence_proved);
	return 0;
}
