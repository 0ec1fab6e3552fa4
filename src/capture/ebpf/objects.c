/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/objects.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "schema/wire.h"
#include "polled.skel.h"
#include "signals.skel.h"

static bool object_always(const struct ebpf_options *opt)
{
	return true;
}

static bool object_with_command(const struct ebpf_options *opt)
{
	return opt->command_pid > 0;
}

/* Another kind of data is another row. */
static const struct object_row {
	const char *shows;	/* what is missing without it */
	const char *tracepoint; /* that it needs; every other need is one of calls as well */
	const void *(*elf)(size_t *ret_size);
	bool (*requested)(const struct ebpf_options *opt);
} object_rows[OBJECT_COUNT] = {
	[OBJECT_POLLED] = {"processes with an io_uring that the kernel polls", "io_uring_create",
			   polled_bpf__elf_bytes, object_always},
	[OBJECT_SIGNALS] = {"which signals to weir were sent to the command as well",
			    "signal_generate", signals_bpf__elf_bytes, object_with_command},
};

const char *object_shows(size_t i, const char **ret_tracepoint)
{
	if (i >= OBJECT_COUNT)
		return NULL;
	*ret_tracepoint = object_rows[i].tracepoint;
	return object_rows[i].shows;
}

static bool object_shares(const struct bpf_map *map)
{
	static const char end[] = ".shared";
	const char *name = bpf_map__name(map);
	size_t len = strlen(name);

	if (!bpf_map__is_internal(map))
		return true;
	return len >= strlen(end) && !strcmp(name + len - strlen(end), end);
}

static int object_share_maps(struct bpf_object *bpf, const struct bpf_object *calls)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf)
	{
		const struct bpf_map *of_calls =
			object_shares(map) ? bpf_object__find_map_by_name(calls, bpf_map__name(map))
					   : NULL;
		int r = of_calls ? bpf_map__reuse_fd(map, bpf_map__fd(of_calls)) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int object_load(struct object *ret, const struct object_row *row, struct bpf_object *calls)
{
	struct bpf_object *bpf;
	size_t size;
	const void *elf = row->elf(&size);
	int r;

	bpf = bpf_object__open_mem(elf, size, NULL);
	if (!bpf)
		return -errno;
	r = object_share_maps(bpf, calls);
	if (r >= 0)
		r = bpf_object__load(bpf);
	if (r < 0) {
		bpf_object__close(bpf);
		return r;
	}
	ret->bpf = bpf;
	return 0;
}

void objects_load(struct objects *o, struct bpf_object *calls, const struct ebpf_options *opt)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		const struct object_row *row = &object_rows[i];
		int r;

		if (!row->requested(opt))
			continue;
		r = object_load(&o->all[i], row, calls);
		if (r < 0)
			o->missing[o->missing_count++] =
				(struct ebpf_missing){row->shows, row->tracepoint, r};
	}
}

static int object_attach(struct object *o)
{
	struct bpf_program *program;
	size_t n = 0;

	if (!o->bpf)
		return 0;
	bpf_object__for_each_program(program, o->bpf)
	{
		if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
			continue;
		assert(n < OBJECT_PROGRAMS_MAX);
		o->links[n] = bpf_program__attach(program);
		if (!o->links[n++])
			return -errno;
	}
	return 0;
}

int objects_attach(struct objects *o)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		int r = object_attach(&o->all[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

void objects_detach(struct objects *o)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		for (size_t n = 0; n < OBJECT_PROGRAMS_MAX; n++) {
			bpf_link__destroy(o->all[i].links[n]);
			o->all[i].links[n] = NULL;
		}
	}
}

void objects_free(struct objects *o)
{
	objects_detach(o);
	for (size_t i = 0; i < OBJECT_COUNT; i++)
		bpf_object__close(o->all[i].bpf);
	*o = (struct objects){0};
}

int object_map(const struct objects *o, enum object_id id, const char *name)
{
	const struct bpf_object *bpf = o->all[id].bpf;

	return bpf ? bpf_object__find_map_fd_by_name(bpf, name) : -1;
}

int object_program(const struct objects *o, enum object_id id, const char *name)
{
	const struct bpf_object *bpf = o->all[id].bpf;
	const struct bpf_program *program =
		bpf ? bpf_object__find_program_by_name(bpf, name) : NULL;

	return program ? bpf_program__fd(program) : -1;
}
