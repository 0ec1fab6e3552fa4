/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h: the decoder's own state, shared by decode.c (calls) and dimension.c (who and what they are about). */
#pragma once

#include "base/records.h"
#include "capture/ebpf/internal.h"
#include "capture/ebpf/mounts.h"

#define DECODE_NO_CPU UINT32_MAX

/* Frees a map of copies of records. */
void kept_free(struct map *kept);

struct decode {
	struct decode_options opt;
	struct records files; /* by file number */
	struct names *names;
	struct mounts mounts;
	struct recent inodes;	  /* hash of (dev, ino, generations) -> key of its first version */
	struct map processes;	  /* hash of (tgid, start) -> key, of those that have not ended */
	struct recent ended;	  /* and of those that have */
	struct map cgroups;	  /* kernel ids that have a row */
	struct intern peers;	  /* addresses -> key */
	struct recent sock_peers; /* file number -> hash of the peer that its last row has */
	struct recent
		sock_keys; /* file number of a socket that got another peer -> key of its last row */
	uint64_t sock_low, sock_high; /* of those numbers */
	uint64_t sock_count;
	uint64_t sock_newest, sock_mark, sock_gone; /* see peer_changed() */
	uint64_t process_count;
	struct map tids;			    /* of threads that the kernel programs saw */
	struct map thread_records, process_records; /* copies, until they end */
	int64_t boot_offset; /* wall time minus the clock that counts suspended time too */
	int64_t clock_at;    /* when clock_offset was measured, ns since the epoch */
	uint32_t *threads;   /* next call number by thread version */
	size_t thread_count, thread_cap;
	uint64_t gaps; /* call numbers that never came */
	uint64_t filtered;
	uint64_t paths_cut, argvs_cut;
	struct bytes unseen_exe; /* of decode_unseen() */
	uint16_t codes[WIRE_CALLS_MAX];
	uint8_t fates[WIRE_CALLS_MAX][2]; /* of path and path2: enum name_fate */
};

/* The key of the last row of a file number. */
int64_t decode_file_key(struct decode *d, uint64_t file);
/* The key of an address given to a call; its row is added when it is new. */
int decode_peer(struct decode *d, const uint8_t *addr, size_t len, uint64_t time,
		struct batch_set *out, int64_t *ret_key);
/* Whether a thread was seen; the start of a process that was, else 0. */
bool decode_knows_tid(const struct decode *d, int32_t tid);
uint64_t decode_process_start(const struct decode *d, int32_t tgid);
/* A thread that the kernel programs never saw, with the path of its program, of length 0 where that is unknown. */
int decode_unseen(struct decode *d, const struct wire_thread *w, struct bytes exe,
		  struct batch_set *out);
/* Whether the end of this call was given. */
bool decode_has_ended(const struct decode *d, const struct wire_op *w);
void decode_call_number(struct decode *d, const struct wire_op *w);
/* "10.0.0.1:80", "[::1]:80", "unix:/path", "unix:@name"; the length of the text, 0: none. */
size_t address_text(uint16_t family, const uint8_t *addr, size_t len, uint16_t port, char *buf,
		    size_t size);
