/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_process.h: what an OpenTelemetry SDK publishes about its process in memory ("process context", OTEP 4719): a
 * record that begins with "OTEL_CTX" and refers to a protobuf message with the attributes of the resource, and the
 * format in which the process's threads publish contexts ("thread context", OTEP 4947).
 */
#pragma once

#include "base/util.h"
#include "capture/ebpf/contexts/remote_tls.h"

#define OTEL_SERVICE_MAX 256

struct otel_process {
	uint32_t service_len; /* 0: no name is set */
	bool own; /* published by libweir-span, whose spans the recorder reads directly */
	/* 0: threads publish contexts at `tls`; -ENODATA: none, or not specified; -EPROTO: in an unknown format; else
	 * the result of remote_tls_find(). */
	int32_t threads;
	struct remote_tls tls;
	char service[OTEL_SERVICE_MAX]; /* service.name */
};

/* State of the reading thread: lives as long as the recorder. */
struct otel_reader {
	uint32_t stuck; /* threads that did not answer in time */
};

/*
 * Reads the record in a separate thread with the caller's privileges, as the program's memory may be a file of a file
 * system that never answers. at: the announced address, by the name at an address, which must still be compared (0:
 * done). 0; -ENODATA: the name is different; -EAGAIN: being changed; -ENOENT: there is none; -ETIME: no answer within
 * 0.3 s; -EBADMSG: malformed.
 */
int otel_process_read(struct otel_reader *reader, int32_t pid, uint64_t at, uint64_t name,
		      struct otel_process *ret);
/* Parses the message that the record refers to; sets everything but tls. 0 or -EBADMSG. For fuzz/otel.c. */
int otel_process_parse(const uint8_t *message, size_t len, struct otel_process *ret);
