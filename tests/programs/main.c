/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload: programs that do I/O and know their own truth.
 *
 *   workload --list              the cases, one a line
 *   workload --cpu FILE CMD...   runs CMD and writes what it cost to FILE
 *   workload CASE FOLDER         works in FOLDER (emptied by the caller) and prints the facts
 *
 * Exit status 0: done; 77: the machine lacks something, the reason is on standard error; 1: the
 * set-up failed.
 */
#include "truth.h"

#include <sys/prctl.h>

static const struct work_case *const groups[] = {
	data_cases, meta_cases,	  name_cases,	 space_cases, share_cases,
	sock_cases, thread_cases, process_cases, wait_cases,  compat_cases,
	load_cases, mapped_cases, uring_cases,	 aio_cases};

#define FOR_EACH_CASE(c)                                                   \
	for (size_t g_ = 0; g_ < sizeof(groups) / sizeof(groups[0]); g_++) \
		for (const struct work_case *c = groups[g_]; c->name; c++)

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		FOR_EACH_CASE(c)
		printf("%-20s %s\n", c->name, c->what);
		return 0;
	}
	if (argc >= 2 && strcmp(argv[1], "--after-exec") == 0)
		return after_exec(argc, argv);
	if (argc > 3 && strcmp(argv[1], "--cpu") == 0)
		return load_cpu(argv[2], argv + 3);
	if (argc < 3) {
		fprintf(stderr, "usage: workload CASE FOLDER | --list\n");
		return 2;
	}
	if (!realpath(argv[2], work_dir) || chdir(work_dir)) {
		fprintf(stderr, "workload: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	facts_open();
	FOR_EACH_CASE(c)
	{
		if (strcmp(c->name, argv[1]) == 0) {
			int ret = c->run();

			facts_print();
			if (ret == 77)
				fprintf(stderr, "workload: skipped: %s\n", skip_reason);
			return ret;
		}
	}
	fprintf(stderr, "workload: no case \"%s\", see workload --list\n", argv[1]);
	return 2;
}
