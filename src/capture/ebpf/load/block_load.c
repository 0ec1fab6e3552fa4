/* SPDX-License-Identifier: Apache-2.0 */
/* block_load.c: configures the object of block requests before it is loaded. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/ebpf/load/objects.h"
#include "capture/ebpf/side/block.h"

/* The limit of the array of page frames: 8 bytes each, 0.2 % of memory. With more frames, several share a word, so that
 * fewer owners of write-back are found. */
#define FRAMES_MAX (1ull << 26)

/* One past the number of the last page frame; 0: unknown. */
static uint64_t frames_end(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	uint64_t spanned = 0, end = 0, v;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " spanned %lu", &v) == 1)
			spanned = v;
		else if (sscanf(line, " start_pfn: %lu", &v) == 1 && spanned)
			end = MAX(end, v + spanned);
	}
	if (f)
		fclose(f);
	return end;
}

static int set_constants(struct bpf_object *bpf, const struct wire_block_constants *c)
{
	struct bpf_map *map = bpf_object__find_map_by_name(bpf, ".rodata.block");
	size_t size = 0;
	void *ro = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

	if (!ro || size < sizeof(*c))
		return -ENOENT;
	memcpy(ro, c, sizeof(*c));
	return 0;
}

int block_prepare(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct bpf_map *frames = bpf_object__find_map_by_name(bpf, "frames");
	uint64_t end = frames_end(), count = 1;
	long page = sysconf(_SC_PAGESIZE);

	while (count < end && count < FRAMES_MAX)
		count *= 2;
	if (!frames || bpf_map__set_max_entries(frames, (uint32_t)count))
		return -ENOENT;
	return set_constants(bpf,
			     &(struct wire_block_constants){
				     .frame_mask = (uint32_t)(count - 1),
				     .page_shift = (uint32_t)__builtin_ctzl((unsigned long)page)});
}

void block_find_symbols(const struct objects *o)
{
	int program = object_program(o, OBJECT_BLOCK, "weir_block_symbols");
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (program >= 0)
		(void)bpf_prog_test_run_opts(program, &run);
}
