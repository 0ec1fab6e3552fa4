/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/probes/probe_attach.h"

#include <errno.h>
#include <string.h>

#include "capture/ebpf/probes/probe_file.h"

#define ALL_PROCESSES (-1)

bool probes_requested(const struct ebpf_options *opt)
{
	return (opt->spans && opt->spans->count) || opt->with & 1u << OBJECT_PROBES;
}

static const struct probe_point *point_of(const struct probe_span *s, size_t end)
{
	return end ? &s->end : &s->begin;
}

static void how_fill(struct wire_probe_how *how, const struct probe_point *p)
{
	size_t texts = 0;

	*how = (struct wire_probe_how){.count = p->arg_count, .texts = p->texts};
	for (size_t i = 0; i < p->arg_count; i++) {
		how->args[i].number = p->args[i].number;
		how->args[i].type = (uint8_t)p->args[i].type;
		if (p->args[i].type == WIRE_PROBE_STRING)
			how->text_args[texts++] = (uint8_t)i;
	}
	while (texts < WIRE_PROBE_TEXTS)
		how->text_args[texts++] = WIRE_PROBE_ARGS;
}

int probes_prepare(struct bpf_object *bpf, const struct ebpf_options *opt)
{
	struct bpf_map *map = bpf_object__find_map_by_name(bpf, ".rodata.probes");
	size_t size = 0;
	struct wire_probe_how *hows =
		map ? (struct wire_probe_how *)bpf_map__initial_value(map, &size) : NULL;

	if (!hows || size < 2 * WIRE_PROBE_SPANS * sizeof(*hows))
		return -ENOENT;
	for (size_t i = 0; opt->spans && i < 2 * opt->spans->count; i++)
		how_fill(&hows[i], point_of(&opt->spans->list[i / 2], i % 2));
	return 0;
}

static struct bpf_link *point_attach(const struct objects *o, const struct probe_point *p,
				     uint64_t index)
{
	static const char *const programs[] = {
		[PROBE_USDT] = "weir_probe_usdt",
		[PROBE_ENTRY] = "weir_probe_entry",
		[PROBE_RETURN] = "weir_probe_return",
	};
	struct bpf_program *program =
		bpf_object__find_program_by_name(o->all[OBJECT_PROBES].bpf, programs[p->kind]);
	LIBBPF_OPTS(bpf_usdt_opts, usdt, .usdt_cookie = index);
	LIBBPF_OPTS(bpf_uprobe_opts, uprobe, .bpf_cookie = index, .func_name = p->name,
		    .retprobe = p->kind == PROBE_RETURN);

	if (p->kind == PROBE_USDT)
		return bpf_program__attach_usdt(program, ALL_PROCESSES, p->path, p->provider,
						p->name, &usdt);
	return bpf_program__attach_uprobe_opts(program, ALL_PROCESSES, p->path, p->offset, &uprobe);
}

static const char *refusal(int code)
{
	return code == -EINVAL	  ? ": its location, or the form of its arguments, is not supported"
	       : code == -ENOTSUP ? ": the kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
	       : code == -EPERM || code == -EACCES
		       ? ": the kernel refuses it; CAP_PERFMON and CAP_SYS_ADMIN are needed"
		       : "";
}

int probes_check(struct probe_spans *spans, struct error *err)
{
	for (size_t i = 0; spans && i < 2 * spans->count; i++) {
		struct probe_span *s = &spans->list[i / 2];

		if (probe_file_check(i % 2 ? &s->end : &s->begin, err) < 0)
			return error_prefix(err, "--span '%.200s'", s->name);
	}
	return 0;
}

int probes_attach(struct probe_links *links, const struct objects *o,
		  const struct probe_spans *spans, struct error *err)
{
	for (size_t i = 0; spans && i < 2 * spans->count && o->all[OBJECT_PROBES].bpf; i++) {
		const struct probe_span *s = &spans->list[i / 2];
		const struct probe_point *p = point_of(s, i % 2);
		int r;

		links->all[i] = point_attach(o, p, i);
		if (links->all[i])
			continue;
		r = -errno;
		error_errno(err, r, "cannot use %s of %.400s%s", p->name, p->path, refusal(r));
		return error_prefix(err, "--span '%.200s'", s->name);
	}
	return 0;
}

void probes_detach(struct probe_links *links)
{
	for (size_t i = 0; i < ARRAY_SIZE(links->all); i++) {
		bpf_link__destroy(links->all[i]);
		links->all[i] = NULL;
	}
}
