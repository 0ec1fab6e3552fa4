/* SPDX-License-Identifier: Apache-2.0 */
/* call_prctl.c: prints the arguments of prctl, which depend on the option. */
#include "cli/trace/call_prctl.h"

#include <string.h>
#include <sys/prctl.h>

#include "cli/trace/call_memory.h"
#include "schema/flags.h"

/* The kind of an argument. */
enum prctl_arg {
	PRCTL_NUMBER = 'n',
	PRCTL_ADDRESS = 'p',
	PRCTL_TEXT = 't',
	PRCTL_SIGNAL = 's',
	PRCTL_CAP = 'c',
	PRCTL_AMBIENT = 'a',
	PRCTL_VMA = 'v',
};

/* The arguments that strace prints: for some options it includes those that must be 0. An unlisted option has all five. */
static const struct {
	uint32_t option;
	char args[5]; /* enum prctl_arg of each argument after the option */
} prctl_known[] = {
	{PR_SET_PDEATHSIG, "s"},
	{PR_GET_PDEATHSIG, "p"},
	{PR_GET_DUMPABLE, ""},
	{PR_SET_DUMPABLE, "n"},
	{PR_GET_KEEPCAPS, ""},
	{PR_SET_KEEPCAPS, "n"},
	{PR_SET_NAME, "t"},
	{PR_GET_NAME, "t"},
	{PR_GET_SECCOMP, ""},
	{PR_CAPBSET_READ, "c"},
	{PR_CAPBSET_DROP, "c"},
	{PR_GET_SECUREBITS, ""},
	{PR_SET_SECUREBITS, "p"},
	{PR_SET_TIMERSLACK, "n"},
	{PR_GET_TIMERSLACK, ""},
	{PR_SET_CHILD_SUBREAPER, "n"},
	{PR_GET_CHILD_SUBREAPER, "p"},
	{PR_SET_NO_NEW_PRIVS, "nnnn"},
	{PR_GET_NO_NEW_PRIVS, "nnnn"},
	{PR_GET_TID_ADDRESS, "p"},
	{PR_SET_THP_DISABLE, "nnnn"},
	{PR_GET_THP_DISABLE, "nnnn"},
	{PR_CAP_AMBIENT, "acnn"},
	{PR_SET_VMA, "vpnp"},
	{PR_SET_PTRACER, "n"},
};

static const char *prctl_args(const struct call_writer *w)
{
	uint32_t option = (uint32_t)call_value(w, OP_A0, 0);

	for (size_t i = 0; i < ARRAY_SIZE(prctl_known); i++) {
		if (prctl_known[i].option == option)
			return prctl_known[i].args;
	}
	return NULL;
}

bool call_prctl_has(const struct call_writer *w, unsigned int i)
{
	const char *args = prctl_args(w);

	return !i || !args || i <= strnlen(args, 4);
}

bool call_prctl_put(struct call_writer *w, unsigned int i)
{
	const char *args = prctl_args(w);
	uint64_t v = (uint64_t)call_value(w, OP_A0 + i, 0);
	struct bytes text;

	if (!i || !args || !call_has(w, OP_A0 + i))
		return false;
	switch (args[i - 1]) {
	case PRCTL_NUMBER:
		call_put(w, "%llu", (unsigned long long)v);
		break;
	case PRCTL_SIGNAL:
		flags_print(w->to, WORDS_SIGNAL, v);
		break;
	case PRCTL_CAP:
		flags_print(w->to, WORDS_CAP, v);
		break;
	case PRCTL_AMBIENT:
		flags_print(w->to, WORDS_CAP_AMBIENT, v);
		break;
	case PRCTL_VMA:
		call_put(w, v ? "%#llx" : "PR_SET_VMA_ANON_NAME", (unsigned long long)v);
		break;
	case PRCTL_TEXT:
		text = call_memory(w, v);
		if (!text.data || (call_value(w, OP_RET, -1) < 0))
			return false;
		call_put(w, "\"");
		call_text_escape(
			w->to,
			(struct bytes){text.data, strnlen((const char *)text.data, text.len)},
			"\"");
		call_put(w, "\"");
		break;
	default:
		return false;
	}
	return true;
}
