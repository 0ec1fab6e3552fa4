/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/ops.h"

#include "schema/flags.h"

#include <stdio.h>
#include <string.h>

/* Abbreviations for ops.def, only in this file. */
enum {
	F = OP_SET_FILE,
	D = OP_SET_DESC,
	N = OP_SET_NETWORK,
	P = OP_SET_PROCESS,
	M = OP_SET_MEMORY,
	S = OP_SET_SIGNAL,
	I = OP_SET_IPC,
	C = OP_SET_CREDS,
	K = OP_SET_CLOCK,
	ST = OP_SET_STAT,
	LST = OP_SET_LSTAT,
	FST = OP_SET_FSTAT,
	STL = OP_SET_STAT_LIKE,
	SF = OP_SET_STATFS,
	FSF = OP_SET_FSTATFS,
	SFL = OP_SET_STATFS_LIKE,
	PU = OP_SET_PURE,
};

#define NONE                \
	{                   \
		ARG_NONE, 0 \
	}
#define INT                \
	{                  \
		ARG_INT, 0 \
	}
#define LONG                \
	{                   \
		ARG_LONG, 0 \
	}
#define UINT                \
	{                   \
		ARG_UINT, 0 \
	}
#define HEX                \
	{                  \
		ARG_HEX, 0 \
	}
#define PTR                \
	{                  \
		ARG_PTR, 0 \
	}
#define FD                \
	{                 \
		ARG_FD, 0 \
	}
#define FD2                \
	{                  \
		ARG_FD2, 0 \
	}
#define DIRFD                \
	{                    \
		ARG_DIRFD, 0 \
	}
#define DIRFD2                \
	{                     \
		ARG_DIRFD2, 0 \
	}
#define PATH                \
	{                   \
		ARG_PATH, 0 \
	}
#define PATH2                \
	{                    \
		ARG_PATH2, 0 \
	}
#define STR                \
	{                  \
		ARG_STR, 0 \
	}
#define BUF                \
	{                  \
		ARG_BUF, 0 \
	}
#define SIZE                \
	{                   \
		ARG_SIZE, 0 \
	}
#define POS                \
	{                  \
		ARG_POS, 0 \
	}
#define POSP                \
	{                   \
		ARG_POSP, 0 \
	}
#define POSP2                \
	{                    \
		ARG_POSP2, 0 \
	}
#define IOV                \
	{                  \
		ARG_IOV, 0 \
	}
#define IOVCNT                \
	{                     \
		ARG_IOVCNT, 0 \
	}
#define MSG                \
	{                  \
		ARG_MSG, 0 \
	}
#define MMSG                \
	{                   \
		ARG_MMSG, 0 \
	}
#define ADDR                \
	{                   \
		ARG_ADDR, 0 \
	}
#define ADDRLEN                \
	{                      \
		ARG_ADDRLEN, 0 \
	}
#define ADDROUT                \
	{                      \
		ARG_ADDROUT, 0 \
	}
#define FDPAIR                \
	{                     \
		ARG_FDPAIR, 0 \
	}
#define FLAGS(w)                     \
	{                            \
		ARG_FLAGS, WORDS_##w \
	}
#define FLAGS2(w)                     \
	{                             \
		ARG_FLAGS2, WORDS_##w \
	}
#define MODE                \
	{                   \
		ARG_MODE, 0 \
	}
#define HOW                         \
	{                           \
		ARG_HOW, WORDS_OPEN \
	}
#define CMD(w)                     \
	{                          \
		ARG_CMD, WORDS_##w \
	}
#define PID                \
	{                  \
		ARG_PID, 0 \
	}
#define SIG                \
	{                  \
		ARG_SIG, 0 \
	}
#define LEN                \
	{                  \
		ARG_LEN, 0 \
	}
#define TARGET                \
	{                     \
		ARG_TARGET, 0 \
	}
#define DEV                \
	{                  \
		ARG_DEV, 0 \
	}

#define OP(code, call, class_, ret_, sets_, ...)                                             \
	[code] = {                                                                           \
		.name = #call,                                                               \
		.class = CLASS_##class_,                                                     \
		.ret = RET_##ret_,                                                           \
		.decoded = 1,                                                                \
		.sets = (sets_),                                                             \
		.arg_count = sizeof((struct op_arg[]){__VA_ARGS__}) / sizeof(struct op_arg), \
		.args = {__VA_ARGS__},                                                       \
	},
#define OP_RAW(code, call, class_, count, sets_)        \
	[code] = {                                      \
		.name = #call,                          \
		.class = CLASS_##class_,                \
		.ret = RET_INT,                         \
		.decoded = 0,                           \
		.sets = (sets_),                        \
		.arg_count = (count),                   \
		.args = {HEX, HEX, HEX, HEX, HEX, HEX}, \
	},

static const struct op_def ops[] = {
#include "schema/ops.def"
};
#undef OP
#undef OP_RAW

static_assert(ARRAY_SIZE(ops) <= OP_CODE_CALLS, "codes below OP_CODE_CALLS are in one table");
static_assert(ARRAY_SIZE(ops) > OP_CODE_NUMBERED, "calls without a code of their own have a row");
static_assert(OP_CODE_NOT_A_CALL < OP_CODE_NUMBERED && OP_CODE_NUMBERED < OP_CODE_OTHER &&
		      OP_CODE_OTHER < OP_CODE_MAX,
	      "the ranges of codes follow one another");
static_assert(WORDS_COUNT <= UINT8_MAX && ARG_TARGET <= UINT8_MAX, "struct op_arg has bytes");
static_assert(CLASS_COUNT <= UINT8_MAX && RET_NEVER <= UINT8_MAX, "struct op_def has bytes");
#define OP(code, call, class_, ret_, sets_, ...)                                                 \
	static_assert(sizeof((struct op_arg[]){__VA_ARGS__}) <= OP_ARGS * sizeof(struct op_arg), \
		      #call " has more arguments than a call can have");
#define OP_RAW(code, call, class_, count, sets_) \
	static_assert((count) <= OP_ARGS, #call " has more arguments than a call can have");
#include "schema/ops.def"
#undef OP
#undef OP_RAW

/* CODE_write, ...: the calls that a function of this file names */
#define OP(code, call, ...)	CODE_##call = (code),
#define OP_RAW(code, call, ...) CODE_##call = (code),
enum ops_code {
#include "schema/ops.def"
};
#undef OP
#undef OP_RAW

const struct op_def *op_def(uint32_t code)
{
	return code < ARRAY_SIZE(ops) && ops[code].name ? &ops[code] : NULL;
}

int op_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (ops[i].name && !strcmp(ops[i].name, name))
			return (int)i;
	}
	return -1;
}

bool op_hands_over(uint32_t code)
{
	return code == CODE_io_submit || code == CODE_io_uring_setup || code == CODE_io_uring_enter;
}

static bool ops_has_role(const struct op_def *op, enum arg_role role)
{
	for (unsigned int i = 0; i < OP_ARGS; i++) {
		if (op->args[i].role == role)
			return true;
	}
	return false;
}

enum op_copy op_copy(uint32_t code)
{
	const struct op_def *op = op_def(code);

	if (!op || op->ret != RET_BYTES || !ops_has_role(op, ARG_FD2))
		return OP_COPY_NONE;
	assert(ops_has_role(op, ARG_FD)); /* bytes go from one file to another */
	/* if only one of the files has a position, it is the one that is read */
	return ops_has_role(op, ARG_POSP2) && !ops_has_role(op, ARG_POSP) ? OP_COPY_TO_FIRST
									  : OP_COPY_TO_SECOND;
}

enum op_way op_way(uint32_t code)
{
	if (!op_def(code) || op_copy(code) != OP_COPY_NONE)
		return OP_WAY_NONE;
	switch (code) {
	case CODE_write:
	case CODE_pwrite64:
	case CODE_writev:
	case CODE_pwritev:
	case CODE_pwritev2:
	case CODE_sendto:
	case CODE_sendmsg:
	case CODE_sendmmsg:
	case CODE_vmsplice:
	case CODE_process_vm_writev:
	case CODE_msgsnd:
	case CODE_mq_timedsend:
		return OP_WAY_OUT;
	default:
		return OP_WAY_IN;
	}
}

uint32_t op_code_end(void)
{
	return ARRAY_SIZE(ops);
}

#if defined(__x86_64__)
uint32_t op_code_of_native(uint32_t nr)
{
	return nr < OP_CODE_NOT_A_CALL ? nr : OP_CODE_NUMBERED;
}
#elif defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
uint32_t op_code_of_native(uint32_t nr)
{
	static const uint16_t codes[] = {
#	define NATIVE(nr, code, name) [nr] = (code) + 1,
#	include "schema/native_generic.def"
#	undef NATIVE
	};

	if (nr < ARRAY_SIZE(codes) && codes[nr])
		return codes[nr] - 1u;
	if (nr >= OP_CODE_NOT_A_CALL)
		return OP_CODE_NUMBERED;
	/* Numbers between the table's end and 424 are not calls; keep them apart from x86-64's. */
	return nr < 424 ? OP_CODE_OTHER + nr : nr;
}
#else
#	error "op_code_of_native: this machine's call numbers are not known"
#endif

const char *op_name(uint32_t code, char buf[static 32])
{
	const struct op_def *def = op_def(code);

	if (def)
		return def->name;
	snprintf(buf, 32, "syscall_0x%x", code);
	return buf;
}

enum word_set op_flag_words(uint32_t code)
{
	const struct op_def *def = op_def(code);

	for (unsigned int i = 0; def && i < def->arg_count; i++) {
		if (def->args[i].role != ARG_FLAGS && def->args[i].role != ARG_HOW)
			continue;
		assert(def->args[i].words < WORDS_COUNT);
		return (enum word_set)def->args[i].words;
	}
	return WORDS_NONE;
}
