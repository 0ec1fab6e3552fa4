/* SPDX-License-Identifier: Apache-2.0 */
/* Words of flags and commands: the installed strace prints each of them, in every argument that has
 * words. */
#include <ctype.h>
#include <stdbool.h>

#include "base/map.h"
#include "schema/flags.h"
#include "schema/ops.h"
#include "schema/words.h"
#include "strace_child.h"

#define LAST_KNOWN    450 /* what strace 6.1 knows */
#define QUESTIONS_MAX 8192
#define UPROBE_RETURN 335

struct question {
	uint32_t code;
	unsigned int arg;
	uint64_t value;
};

struct test {
	struct question questions[QUESTIONS_MAX];
	struct asked_call calls[QUESTIONS_MAX];
	size_t count, wrong, same, newer;
};

/* Where strace prints arguments in another order, by another argument, or as something else than
 * words. */
static bool is_special(const char *call, unsigned int arg)
{
	static const struct {
		const char *call;
		int arg; /* -1: all */
	} specials[] = {
		{"clone", -1},			     /* by name: child_stack=, flags= */
		{"quotactl", -1},		     /* QCMD() */
		{"quotactl_fd", -1}, {"openat2", 2}, /* a structure */
		{"fadvise64", -1},   {"fcntl", -1},  /* the second decides about the rest; see
							test_call_text */
		{"futex", -1},	     {"prctl", -1},    {"arch_prctl", -1}, {"ptrace", -1},
		{"semctl", -1},	     {"shmctl", -1},   {"msgctl", -1},	   {"ioctl", -1},
		{"bpf", -1},	     {"fsconfig", -1}, {"keyctl", -1},
	};

	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (!strcmp(specials[i].call, call) &&
		    (specials[i].arg < 0 || specials[i].arg == (int)arg))
			return true;
	}
	return false;
}

static void ask(struct test *t, uint32_t code, unsigned int arg, uint64_t value)
{
	struct asked_call c = {.nr = code};

	if (t->count == QUESTIONS_MAX)
		return;
	for (unsigned int i = 0; i < OP_ARGS; i++) {
		enum arg_role role = op_def(code)->args[i].role;

		if (role == ARG_FD || role == ARG_FD2 || role == ARG_DIRFD || role == ARG_DIRFD2)
			c.args[i] = (unsigned long)-1;
	}
	c.args[arg] = value;
	t->questions[t->count] = (struct question){code, arg, value};
	t->calls[t->count++] = c;
}

static void ask_words(struct test *t, uint32_t code, unsigned int arg, enum word_set words)
{
	const struct flag_set *s = flag_set(words);
	uint64_t all = 0;

	ask(t, code, arg, 0);
	for (size_t i = 0; i < s->code_count; i++)
		ask(t, code, arg, s->codes[i].value);
	for (size_t i = 0; i < s->bit_count; i++) {
		ask(t, code, arg, s->bits[i].value);
		ask(t, code, arg,
		    s->bits[i].value | (s->code_count ? s->codes[s->code_count / 2].value : 0));
		if (i % 2)
			all |= s->bits[i].value;
	}
	ask(t, code, arg, all);
}

/* The n-th argument of a line, in place; NULL where there is none. */
static char *argument(char *line, unsigned int n)
{
	char *at = strchr(line, '('), *start;
	int depth = 0;

	if (!at)
		return NULL;
	start = ++at;
	for (; *at; at++) {
		if (strchr("([{", *at))
			depth++;
		if (!depth && (*at == ')' || (*at == ',' && n == 0))) {
			*at = 0;
			return n == 0 ? start : NULL;
		}
		if (strchr(")]}", *at))
			depth--;
		if (!depth && *at == ',' && n-- > 0)
			start = at + 2;
	}
	return NULL;
}

/* Words that this strace does not know and says with others. */
static bool is_newer(const char *ours)
{
	return strstr(ours, "FAN_MARK_MNTNS") || strstr(ours, "AT_STATX_SYNC_TYPE");
}

static void compare(struct test *t, const struct question *q, char *line)
{
	const struct op_def *def = op_def(q->code);
	char *theirs = argument(line, q->arg);
	struct buf b = {0};

	if (strncmp(line, def->name, strlen(def->name)) || !theirs)
		return;
	flags_print(&b, def->args[q->arg].words, q->value);
	if (!strcmp(buf_str(&b), theirs)) {
		t->same++;
	} else if (strstr(theirs, "0x") || is_newer(buf_str(&b))) {
		t->newer++;
	} else {
		printf("%s, argument %u: strace prints %s, here it is %s\n", def->name, q->arg,
		       theirs, buf_str(&b));
		t->wrong++;
	}
	buf_free(&b);
}

int main(void)
{
	struct test *t = calloc(1, sizeof(*t));
	char line[16384];
	int status;
	FILE *f;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint32_t code = 0; code <= LAST_KNOWN; code++) {
		const struct op_def *def = op_def(code);

		for (unsigned int i = 0; def && i < def->arg_count && code != UPROBE_RETURN; i++) {
			if (def->args[i].words && !is_special(def->name, i) &&
			    def->args[i].words != WORDS_FAMILY)
				ask_words(t, code, i, def->args[i].words);
		}
	}
	f = strace_ask("all", t->calls, t->count);
	if (!f) {
		printf("skipped: no strace here, or it may not attach\n");
		return 77;
	}
	for (size_t i = 0; i < t->count && fgets(line, sizeof(line), f); i++)
		compare(t, &t->questions[i], line);
	fclose(f);
	printf("%zu asked, %zu the same, %zu that this strace has no word for, %zu wrong\n",
	       t->count, t->same, t->newer, t->wrong);
	status = t->wrong || t->same < t->count / 2;
	free(t);
	return status;
}
