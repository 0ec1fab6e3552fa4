/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_timeline.h: `weir export --perfetto`, `--chrome`, `--otlp-profiles`: exports calls to timeline and profile
 * viewers.
 */
#pragma once

#include "cli/options/shared.h"

struct export_timeline {
	struct read_flags flags;
	const char *output; /* NULL: standard output */
	bool chrome;
	bool profiles, protobuf; /* OTLP profiles; as protobuf */
};

/* 0 or negative with a message. */
int export_timeline(const struct export_timeline *o, int argc, char **argv, struct error *err);
