/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_process.h: what an OpenTelemetry SDK publishes of its process in memory ("process context", OTEP 4719): a record that
 * begins with "OTEL_CTX" and refers to a protobuf message with the attributes of the resource, and with the form in which
 * the process's threads publish contexts ("thread context", OTEP 4947).
 */
#pragma once

#include "base/util.h"
#include "capture/ebpf/remote_tls.h"

#define OTEL_SERVICE_MAX 256

struct otel_process {
	uint32_t service_len; /* 0: it does not name itself */
	bool own;	      /* libweir-span publishes: the recorder reads its spans themselves */
	/* Of its threads: 0: they publish contexts at `tls`; -ENODATA: they publish none, or are not said to; -EPROTO: in a
	 * form that is not known; else that of remote_tls_find(). */
	int32_t threads;
	struct remote_tls tls;
	char service[OTEL_SERVICE_MAX]; /* service.name */
};

/* Whoever reads: it lives as long as the recorder. */
struct otel_reader {
	uint32_t stuck; /* threads whose answer was not waited for */
};

/*
 * Reads it in a thread of its own, which has what privileges the caller has, as memory of the program may be a file of a file
 * system that never answers. at: as announced, by the name at an address that has to be compared yet (0: it was). 0;
 * -ENODATA: it is another name; -EAGAIN: it is being changed; -ENOENT: there is none; -ETIME: no answer
 * within 0.3 s; -EBADMSG: it makes no sense.
 */
int otel_process_read(struct otel_reader *reader, int32_t pid, uint64_t at, uint64_t name,
		      struct otel_process *ret);
