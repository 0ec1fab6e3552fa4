/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.h: a workload program makes calls through DO() and thereby notes what a recorder must have seen: the thread,
 * the call, its arguments and its result; and, stated by the program because only it knows, the file, the position,
 * the peer. At the end the facts are printed, one line per call:
 *
 *   op=pwrite64 tid=4711 a0=3 a1=140.. a2=10 a3=4096 ret=10 path=/tmp/w/f pos=4096
 *
 * Texts are escaped: every byte outside 0x21 .. 0x7e and the backslash is \xHH. The facts are in a memfd that is
 * shared across fork and passed across exec (descriptor FACTS_FD), so noting them makes no call.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FACTS_FD 900

/* The folder of a case: empty, its own, absolute, without symbolic links. */
extern char work_dir[3072];

/* One case: a named workload. Returns 0, or 77 with `skip_reason` set if the machine lacks something. */
struct work_case {
	const char *name;
	int (*run)(void);
	const char *what;
};
extern const char *skip_reason;

/* Runs the part of a case after it has executed the program again. */
int after_exec(int argc, char **argv);
/* Runs a command and writes its CPU time to a file; see load.c. */
int load_cpu(const char *path, char **argv);

/* Writes through an io_uring; see sqpoll.c. */
int run_sqpoll(void);

extern const struct work_case data_cases[], meta_cases[], name_cases[], space_cases[],
	share_cases[], sock_cases[], thread_cases[], process_cases[], wait_cases[], compat_cases[],
	load_cases[], mapped_cases[], uring_cases[], aio_cases[];

/* Makes the call and notes it; returns the kernel's own value (-errno on failure). */
long fact_call(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
	       long a5);
/* Notes a call before it is made, because it will not return (exit, a read in which the thread
 * dies). */
void fact_before(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
		 long a5);
/* Notes a call made by other means. */
void fact_note(const char *name, long nr, int argc, long a0, long a1, long a2, long a3, long a4,
	       long a5, long ret);

#define PICK(_0, _1, _2, _3, _4, _5, _6, f, ...) f
#define CALL0(f, n)				 f(#n, SYS_##n, 0, 0, 0, 0, 0, 0, 0)
#define CALL1(f, n, a)				 f(#n, SYS_##n, 1, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(f, n, a, b)			 f(#n, SYS_##n, 2, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(f, n, a, b, c)			 f(#n, SYS_##n, 3, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(f, n, a, b, c, d)			 f(#n, SYS_##n, 4, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL5(f, n, a, b, c, d, e) \
	f(#n, SYS_##n, 5, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define CALL6(f, n, a, b, c, d, e, g) \
	f(#n, SYS_##n, 6, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(g))
#define DO(...) \
	PICK(__VA_ARGS__, CALL6, CALL5, CALL4, CALL3, CALL2, CALL1, CALL0)(fact_call, __VA_ARGS__)
#define BEFORE(...) \
	PICK(__VA_ARGS__, CALL6, CALL5, CALL4, CALL3, CALL2, CALL1, CALL0)(fact_before, __VA_ARGS__)
/* The same, and stops the program on an error: a wrong set-up must not pass for a correct trace. */
#define MUST(...) must(DO(__VA_ARGS__), __FILE__, __LINE__)
/* The call must fail with this error. */
#define FAILS(error, ...) must_fail(DO(__VA_ARGS__), error, __FILE__, __LINE__)
long must(long ret, const char *file, int line);
void must_fail(long ret, int error, const char *file, int line);
#define CHECK(what) must((what) ? 0 : -EPROTO, __FILE__, __LINE__)

/* Facts about the last call of this thread. The path is the one that the process sees. */
void is_path(const char *path);
void is_path2(const char *path);
/* The same below the case's folder. */
void is_file(const char *name);
void is_file2(const char *name);
void is_pos(long pos);
void is_pos2(long pos);
void is_size(long size);   /* requested size, if it is not a plain argument: vectors, messages */
void is_flags(long flags); /* if they are not a plain argument: openat2 */
void is_peer(const char *address);  /* the address passed to or filled in by the call */
void is_local(const char *address); /* of the socket */
void is_remote(const char *address);
void is_inode(
	int fd); /* the file has the device and inode of this descriptor (by an unnoted fstat) */
/* The inode number of a descriptor, by an unnoted fstat. */
long ino_of(int fd);
void is_any(const char *key, long value); /* key=value, for facts without a function */

/* The same if the value is known only after other calls. */
struct later {
	int64_t *value;
};
void is_later(const char *key, struct later *ret);
void is_now(struct later of, long value);
/*
 * For a call that slept until one of several descriptors was ready: the one found ready and its events, or one that
 * it waited on and the events requested.
 */
void is_found(int fd, long revents);
void is_waited(int fd, long events);

/* Sets the id that this thread has outside its pid namespace. */
void facts_tid(int tid);
/* A path below the case's folder: dir("a/b"); valid until the 16th call after. */
const char *dir(const char *name);
/* A child that runs f and exits with its result; clone(2) and wait4(2) are noted. */
int child(int (*f)(void *), void *arg);
void child_join(int pid);
/* Unnoted helpers: wait until the file has the text, or stop the program after ten seconds. */
void pause_ms(int ms);
/* Unnoted: waits until a process sleeps in a call, or stops the program after ten seconds. */
void until_in(int pid, long nr);

void facts_open(void);
void facts_print(void);
