/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/id_array.h"

#include <errno.h>

#define SPARSE 4u /* ids beyond this multiple of the row count have no slot */

void id_array_free(struct id_array *a)
{
	for (size_t i = 0; i < ID_RECORDINGS_MAX; i++)
		free(a->values[i]);
	*a = (struct id_array){0};
}

int id_array_need(struct id_array *a, const struct dims *d, enum table_id table, int64_t id,
		  uint32_t **ret)
{
	uint64_t recording = id_recording(id), own = id_own(id);
	size_t cap;
	void *p;

	*ret = id_array_at(a, id);
	if (*ret || id < 0 || recording >= ID_RECORDINGS_MAX ||
	    own / SPARSE > dims_rows(d, table) + 1024)
		return 0;
	cap = MAX(2 * a->count[recording], (size_t)1024);
	cap = MAX(cap, own + 1);
	p = reallocarray(a->values[recording], cap, sizeof(uint32_t));
	if (!p)
		return -ENOMEM;
	a->values[recording] = p;
	for (size_t i = a->count[recording]; i < cap; i++)
		a->values[recording][i] = ID_ARRAY_NONE;
	a->count[recording] = cap;
	*ret = id_array_at(a, id);
	return 0;
}
