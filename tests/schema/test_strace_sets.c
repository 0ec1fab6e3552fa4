/* SPDX-License-Identifier: Apache-2.0 */
/* strace's sets (%file, %desc, ...): the installed strace is asked which calls are in each. */
#include <stdbool.h>

#include "schema/select.h"
#include "strace_child.h"

#define UPROBE_RETURN 335 /* ends any process that calls it by itself */
#define LAST_KNOWN    450 /* what strace 6.1 knows; later calls are in the sets of later versions */

static const char *const sets[] = {
	"%file",  "%desc",   "%network", "%process", "%memory", "%signal",
	"%ipc",	  "%creds",  "%clock",	 "%stat",    "%lstat",	"%fstat",
	"%%stat", "%statfs", "%fstatfs", "%%statfs", "%pure",
};

/* The calls that strace made fail in the way of the set. */
static bool read_names(FILE *f, bool seen[OP_CODE_CALLS])
{
	char line[4096];
	bool any = false;

	while (fgets(line, sizeof(line), f)) {
		bool in_set = strstr(line, "EDOM");
		int code;

		line[strcspn(line, "(")] = 0;
		code = op_find(line);
		if (code < 0)
			printf("strace says %s, which is not in the table\n", line);
		else
			any |= seen[code] = in_set;
	}
	return any;
}

static int compare(const char *set, const struct asked_call *calls, size_t count)
{
	bool seen[OP_CODE_CALLS] = {false};
	struct select s = {0};
	FILE *f = strace_ask(set, calls, count);
	int wrong = 0;

	if (!f)
		return -1;
	if (!read_names(f, seen) || select_ops(&s, set, NULL) < 0) {
		printf("%s: no call in it\n", set);
		fclose(f);
		return 1;
	}
	fclose(f);
	seen[SYS_rt_sigreturn] = select_op(&s, SYS_rt_sigreturn);
	for (uint32_t code = 0; code <= LAST_KNOWN; code++) {
		if (!op_def(code) || seen[code] == select_op(&s, code))
			continue;
		printf("%s: %s is %s strace's set\n", set, op_def(code)->name,
		       seen[code] ? "missing here, it is in" : "not in");
		wrong++;
	}
	return wrong;
}

int main(void)
{
	struct asked_call calls[OP_CODE_CALLS];
	size_t count = 0;
	int wrong = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint32_t code = 0; code <= LAST_KNOWN; code++) {
		/* neither is stopped by strace 6.1: the one undoes the stop, the other is newer */
		if (op_def(code) && code != SYS_rt_sigreturn && code != UPROBE_RETURN)
			calls[count++] = (struct asked_call){
				.nr = code, .args = {-1ul, -1ul, -1ul, -1ul, -1ul, -1ul}};
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		int r = compare(sets[i], calls, count);

		if (r < 0) {
			printf("skipped: no strace here, or it may not attach\n");
			return 77;
		}
		wrong += r;
	}
	return wrong ? 1 : 0;
}
