/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base: what every module needs and libc does not provide. Uses libc only; never prints, never exits.
 *
 * util.h: attributes, cleanup, checked arithmetic.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)                       \
	({                              \
		__typeof__(a) a_ = (a); \
		__typeof__(b) b_ = (b); \
		a_ < b_ ? a_ : b_;      \
	})
#define MAX(a, b)                       \
	({                              \
		__typeof__(a) a_ = (a); \
		__typeof__(b) b_ = (b); \
		a_ > b_ ? a_ : b_;      \
	})
/*
 * A sanitizer reads /proc, starts processes, traces its own at exit, takes terabytes of address space, and must intercept
 * every fork and malloc().
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define SANITIZED true
#else
#	define SANITIZED false
#endif
/* Checks that the mutex is held (by any thread). */
#define assert_locked(mutex) assert(pthread_mutex_trylock(mutex) == EBUSY)
#define likely(x)	     __builtin_expect(!!(x), 1)
#define unlikely(x)	     __builtin_expect(!!(x), 0)

#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_	    __attribute__((unused))
#define _must_check_	    __attribute__((warn_unused_result))
#define _cleanup_(f)	    __attribute__((cleanup(f)))

/* Declares f##p(), the function that _cleanup_ calls, for an f() that accepts NULL. */
#define DEFINE_CLEANUP(type, f)                   \
	static inline _unused_ void f##p(type *p) \
	{                                         \
		if (*p)                           \
			f(*p);                    \
	}

/* Takes the pointer out of the variable, whose cleanup then does nothing. */
#define TAKE_PTR(p)                     \
	({                              \
		__typeof__(p) p_ = (p); \
		(p) = NULL;             \
		p_;                     \
	})
#define TAKE_FD(fd)             \
	({                      \
		int fd_ = (fd); \
		(fd) = -1;      \
		fd_;            \
	})

static inline _unused_ void freep(void *p)
{
	free(*(void **)p);
}

static inline _unused_ void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_	_cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)

/* Grows *items (of *cap elements of `size` bytes) by doubling until `want` fit. 0 or -ENOMEM. */
int grow(void **items, size_t *cap, size_t want, size_t size) _must_check_;

/* The same, and new elements are zero. */
int grow_zeroed(void **items, size_t *cap, size_t want, size_t size) _must_check_;

/* The value of a hexadecimal digit in lower case; -1: it is none. */
static inline int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes of somebody else; {0}: none. */
struct bytes {
	const uint8_t *data;
	size_t len;
};

static inline uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}
