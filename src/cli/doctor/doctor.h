/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: shared by the files of `weir doctor`: a list of findings, and the test recording. */
#pragma once

#include "cli/terminal/loss_text.h"

enum doctor_result {
	DOCTOR_OK,
	DOCTOR_WARN, /* works in part, or needs attention */
	DOCTOR_NONE, /* missing, but nothing needs it */
	DOCTOR_NO,   /* does not work: exit status 1 */
};

#define DOCTOR_LINES_MAX 48
#define DOCTOR_TEXT_MAX	 512

struct doctor_line {
	const char *section; /* "RECORD", "READ", "WITHOUT ROOT" */
	enum doctor_result result;
	char name[32];
	char detail[DOCTOR_TEXT_MAX];
	char remedy[DOCTOR_TEXT_MAX]; /* "" if none is needed */
};

struct doctor {
	struct doctor_line lines[DOCTOR_LINES_MAX];
	size_t count;
	const char *section; /* of the following lines */
	struct loss loss;    /* in the test recording */
};

/* Adds a line; `remedy` may be NULL. */
void doctor_add(struct doctor *d, enum doctor_result result, const char *name, const char *remedy,
		const char *fmt, ...) _printf_(5, 6);

/* doctor_try.c: records a worker whose calls are known, and checks each of them. */
void doctor_try_recording(struct doctor *d);
/* doctor_kernel.c: the kernel's capabilities, each one tried. */
void doctor_check_kernel(struct doctor *d);
/* doctor_place.c: weir's environment: other tracers, disk, the engine, privileges. */
void doctor_check_tracers(struct doctor *d);
void doctor_check_reading(struct doctor *d);
void doctor_check_rights(struct doctor *d);
