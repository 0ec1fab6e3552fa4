/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synth.h: seeded streams as a source: realistic ones for tests and benchmarks without a kernel, and hostile ones. The
 * same options produce the same rows, byte for byte, on every machine: integers only, no clock, no libm.
 */
#pragma once

#include "capture/source.h"

/* P(NAME, name, "what it is like") */
#define SYNTH_PROFILES(P)                                                                \
	P(MIXED, mixed, "all of redis, rocksdb, fio, network and a folder walk at once") \
	P(REDIS, redis, "a redis server with an append-only file under redis-benchmark") \
	P(ROCKSDB, rocksdb, "db_bench reading and writing at random while it compacts")  \
	P(FIO, fio, "fio's 4 KiB random reads and writes on two files")                  \
	P(NETWORK, network, "a web server's workers: accept, read, sendfile, close")     \
	P(HOSTILE, hostile, "names, values and orders that break careless readers")

enum synth_profile {
#define SYNTH_ENUM(N, n, doc) SYNTH_##N,
	SYNTH_PROFILES(SYNTH_ENUM)
#undef SYNTH_ENUM
		SYNTH_PROFILE_COUNT,
};

/* 21 Nov 2026 09:55:02.114 UTC */
#define SYNTH_ORIGIN_NS 1795254902114000000ll

struct synth_options {
	enum synth_profile profile;
	uint64_t seed;
	uint64_t rows;	   /* total rows of op, including those still running at the end */
	int64_t origin_ns; /* of the first call; 0: SYNTH_ORIGIN_NS */
	const char *host;  /* name of the machine, not copied; NULL: "synth" */
};

/* The stream ends by itself after `rows` rows; source_stop() ends it earlier. 0 or -ENOMEM,
 * -EINVAL. */
int synth_source_new(struct source **ret, const struct synth_options *opt, struct error *err);

/* The name of a profile, NULL past the last. */
const char *synth_profile_name(size_t i);
/* The profile with a name, or -1. */
int synth_profile_find(const char *name);
