/* SPDX-License-Identifier: Apache-2.0 */
/* body.h: response bodies of an OTLP/HTTP receiver, in the encoding of the request. */
#pragma once

#include "base/buf.h"
#include "exchange/spans_in.h"

/* ExportTraceServiceResponse: the number of rejected spans, and a message about anything dropped. 0 or -ENOMEM. */
int otlp_response(struct buf *to, bool protobuf, uint64_t rejected, const char *message);
/* google.rpc.Status: why a request was rejected. 0 or -ENOMEM. */
int otlp_refusal(struct buf *to, bool protobuf, unsigned int code, const char *message);
