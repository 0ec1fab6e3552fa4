/* SPDX-License-Identifier: Apache-2.0 */
/* body.h: the answers of a receiver of OTLP/HTTP, in the form of the request. */
#pragma once

#include "base/buf.h"
#include "exchange/spans_in.h"

/* ExportTraceServiceResponse: how many spans were not taken, and a word on what was left out. 0 or -ENOMEM. */
int otlp_response(struct buf *to, bool protobuf, uint64_t rejected, const char *message);
/* google.rpc.Status: why a request was refused. 0 or -ENOMEM. */
int otlp_refusal(struct buf *to, bool protobuf, unsigned int code, const char *message);
