/* SPDX-License-Identifier: Apache-2.0 */
/* call_struct_text.h: the words inside structures: sets of signals, flags, terminals; for call_struct.c and lines of signals. */
#pragma once

#include "cli/trace/call_memory.h"

/* "EXT2_SUPER_MAGIC"; NULL: unknown. */
const char *struct_fs_name(uint64_t magic);
/* "ST_VALID|ST_RELATIME" */
void struct_put_mount_flags(struct call_writer *w, uint64_t flags);
/* "SA_RESTORER|SA_RESTART" */
void struct_put_action_flags(struct call_writer *w, uint64_t flags);
/* "[INT CHLD]", "~[KILL]" */
void struct_put_sigset(struct call_writer *w, uint64_t set);
/* "{si_signo=SIGCHLD, si_code=CLD_EXITED, ...}" for a siginfo_t. */
void struct_put_siginfo(struct call_writer *w, struct bytes b);
/* Prints the argument of an ioctl. False: it is unknown. */
bool struct_put_ioctl(struct call_writer *w, uint32_t command, struct bytes b);
