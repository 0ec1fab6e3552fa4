/* SPDX-License-Identifier: Apache-2.0 */
/* What a program published of itself as an OpenTelemetry process context, in its memory: any bytes. */
#include <stdlib.h>
#include <string.h>

#include "capture/ebpf/contexts/otel_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *message = malloc(size + 1); /* of its own size, so that a step beyond it is seen */
	struct otel_process p;

	if (!message)
		return 0;
	memcpy(message, data, size);
	if (!otel_process_parse(message, size, &p) && p.service_len > sizeof(p.service))
		abort();
	free(message);
	return 0;
}
