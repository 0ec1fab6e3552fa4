/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel objects beside that of calls: loaded where they are requested, named where the kernel refuses them. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "capture/ebpf/side/host_sums.h"
#include "capture/ebpf/load/load.h"
#include "schema/wire_block.h"
#include "calls.skel.h"

static int be_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* The object of calls is not loaded, so that it has no maps to share: every other one is refused. */
static void refused(void **unused)
{
	const struct select select = {.everything = true, .tids = {getpid()}, .tid_count = 1};
	const struct ebpf_options opt = {.command_pid = 1,
					 .select = &select,
					 .with = UINT32_MAX,
					 .stacks = {.of = 1},
					 .content = {.mode = WIRE_CONTENT_HASH}};
	struct kernel_btf types = {0};
	struct objects o = {0};
	struct calls_bpf *calls;

	assert_int_equal(kernel_btf_open(&types, 0), 0);
	calls = load_open_calls(&types, false);
	assert_non_null(calls);
	assert_int_equal(objects_open(&o, &types, &opt), 0);
	assert_int_equal(kernel_btf_write(&types), 0);
	objects_load(&o, calls->obj, &types, &opt);
	assert_int_equal(o.missing_count, OBJECT_COUNT);
	for (size_t i = 0; i < o.missing_count; i++) {
		assert_true(o.missing[i].error < 0);
		assert_non_null(o.missing[i].shows);
		assert_non_null(o.missing[i].tracepoint);
	}
	objects_attach(&o, true);
	objects_attach(&o, false);
	assert_int_equal(object_map(&o, OBJECT_SIGNALS, "signals"), -1);
	assert_int_equal(object_program(&o, OBJECT_POLLED, "weir_polled"), -1);
	objects_free(&o);
	calls_bpf__destroy(calls);
	kernel_btf_free(&types);
}

static const struct btf_type *struct_of(const struct btf *btf, const char *name, int32_t *ret_id)
{
	*ret_id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	assert_true(*ret_id > 0);
	return btf__type_by_id(btf, (uint32_t)*ret_id);
}

/* The file of types against the kernel's own: fields of structs where they are, numbers of types, and only what is named. */
static void types_written(void **unused)
{
	const char *const structs[] = {"task_struct", "file", "inode", "dentry", "sock"};
	const struct select select = {.everything = true};
	const struct ebpf_options opt = {.select = &select};
	struct kernel_btf types = {0};
	struct objects o = {0};
	struct calls_bpf *calls;
	struct btf *kernel = btf__load_vmlinux_btf(), *file;
	const struct btf_type *ids, *here, *there;
	int32_t id;

	assert_int_equal(kernel_btf_open(&types, 0), 0);
	calls = load_open_calls(&types, false);
	assert_int_equal(kernel_btf_add(&types, calls->obj), 0);
	assert_int_equal(objects_open(&o, &types, &opt), 0);
	assert_int_equal(kernel_btf_write(&types), 0);
	file = btf__parse(types.path, NULL);
	assert_non_null(file);
	assert_true(btf__type_cnt(file) < btf__type_cnt(kernel) / 10);
	for (size_t i = 0; i < ARRAY_SIZE(structs); i++) {
		here = struct_of(file, structs[i], &id);
		there = struct_of(kernel, structs[i], &id);
		assert_int_equal(here->size, there->size);
		assert_int_equal(btf_vlen(here), btf_vlen(there));
		for (uint32_t m = 0; m < btf_vlen(here); m++) {
			const struct btf_member *a = &btf_members(here)[m],
						*b = &btf_members(there)[m];

			assert_int_equal(a->offset, b->offset);
			assert_string_equal(btf__name_by_offset(file, a->name_off),
					    btf__name_by_offset(kernel, b->name_off));
			assert_int_equal(btf__resolve_size(file, a->type),
					 btf__resolve_size(kernel, b->type));
		}
	}
	id = btf__find_by_name_kind(file, "kernel_type_id", BTF_KIND_ENUM);
	assert_int_equal(types.casts, id > 0);
	ids = types.casts ? btf__type_by_id(file, (uint32_t)id) : NULL;
	assert_true(!ids || btf_vlen(ids) > 20);
	for (uint32_t i = 0; ids && i < btf_vlen(ids); i++) {
		const char *name = btf__name_by_offset(file, btf_enum(ids)[i].name_off);

		struct_of(kernel, name + strlen("ID_OF_"), &id);
		assert_int_equal(btf_enum(ids)[i].val, id);
	}
	btf__free(file);
	btf__free(kernel);
	objects_free(&o);
	calls_bpf__destroy(calls);
	kernel_btf_free(&types);
}

/* The numbers that libbpf is given in place of all types: of functions in the file of an object, of what programs attach to. */
static void numbers_given(void **unused)
{
	static const char *const functions[] = {"bpf_rdonly_cast", "bpf_preempt_disable",
						"bpf_preempt_enable"};
	const struct bpf_insn program[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = WIRE_FUNCTION},
		{.code = BPF_JMP | BPF_CALL, .imm = WIRE_FUNCTION + WIRE_FUNCTIONS},
		{.code = BPF_JMP | BPF_CALL, .imm = WIRE_FUNCTION, .src_reg = BPF_PSEUDO_CALL},
		{.code = BPF_JMP | BPF_CALL, .imm = WIRE_FUNCTION + 1},
	};
	struct kernel_btf types = {0};
	struct calls_bpf *calls;
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_insn *copy;

	assert_int_equal(kernel_btf_open(&types, 0), 0);
	assert_int_equal(ARRAY_SIZE(functions), WIRE_FUNCTIONS);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		int32_t id = btf__find_by_name_kind(kernel, functions[i], BTF_KIND_FUNC);

		assert_int_equal(types.functions[i], id > 0 ? id : 0);
	}
	types.functions[0] = 4711;
	types.functions[1] = 0;
	copy = kernel_btf_elf(&types, program, sizeof(program));
	assert_non_null(copy);
	assert_int_equal(copy[0].src_reg, BPF_PSEUDO_KFUNC_CALL);
	assert_int_equal(copy[0].imm, 4711);
	assert_memory_equal(&copy[1], &program[1], 2 * sizeof(program[0]));
	assert_int_equal(copy[3].code, BPF_ALU64 | BPF_MOV | BPF_K); /* no such function here */
	free(copy);
	calls = load_open_calls(&types, false);
	assert_non_null(calls);
	assert_int_equal(kernel_btf_add(&types, calls->obj), 0);
	assert_false(kernel_btf_has(&types, calls->progs.weir_enter)); /* not looked for yet */
	assert_int_equal(kernel_btf_write(&types), 0);
	assert_true(kernel_btf_has(&types, calls->progs.weir_enter));
	assert_true(kernel_btf_has(&types, calls->progs.weir_running));
	btf__free(kernel);
	calls_bpf__destroy(calls);
	kernel_btf_free(&types);
}

static bool is_same_map(int fd, const struct bpf_map *map)
{
	struct bpf_map_info a = {0}, b = {0};
	uint32_t a_size = sizeof(a), b_size = sizeof(b);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &a, &a_size), 0);
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_map__fd(map), &b, &b_size), 0);
	return a.id == b.id;
}

static const struct btf_type *section_of(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_DATASEC);

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

/* Where a variable lies in a section. */
static int64_t offset_of(const struct btf *btf, const struct btf_type *section, const char *name)
{
	const struct btf_var_secinfo *v = btf_var_secinfos(section);

	for (uint16_t i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *t = btf__type_by_id(btf, v[i].type);

		if (!strcmp(btf__name_by_offset(btf, t->name_off), name))
			return v[i].offset;
	}
	return -1;
}

/* Each variable in a section of an object lies where that of calls has it. */
static void same_section(const struct bpf_object *object, const struct bpf_object *calls,
			 const char *section)
{
	const struct btf *btf = bpf_object__btf(object), *btf_calls = bpf_object__btf(calls);
	const struct btf_type *own = section_of(btf, section),
			      *theirs = section_of(btf_calls, section);
	const struct btf_var_secinfo *v = own ? btf_var_secinfos(own) : NULL;

	assert_non_null(theirs);
	for (uint16_t k = 0; own && k < btf_vlen(own); k++) {
		const struct btf_type *t = btf__type_by_id(btf, v[k].type);
		const char *name = btf__name_by_offset(btf, t->name_off);

		if (offset_of(btf_calls, theirs, name) != v[k].offset)
			fail_msg("%s lies elsewhere in %s", name, section);
	}
}

static void same_layout(const struct bpf_object *object, const struct bpf_object *calls)
{
	static const char *const sections[] = {".data.shared", ".rodata.shared",
					       ".data.calls.shared", ".rodata.calls.shared"};

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		same_section(object, calls, sections[i]);
}

/* The plain objects are those with options, without the code of these. */
static void plain_objects(void **unused)
{
	const struct select select = {.everything = true};
	const struct ebpf_options opt = {.select = &select};
	struct kernel_btf types = {0};
	struct calls_bpf *calls, *plain;
	struct loaded l = {0};
	struct error err = {0};

	for (int casts = 0; casts < 2; casts++) {
		assert_int_equal(kernel_btf_open(&types, 0), 0);
		types.casts = casts;
		calls = load_open_calls(&types, false);
		plain = load_open_calls(&types, true);
		assert_true(calls && plain);
		same_layout(plain->obj, calls->obj);
		same_section(plain->obj, calls->obj, ".rodata");
		same_section(plain->obj, calls->obj, ".bss");
		assert_true(bpf_program__insn_cnt(plain->progs.weir_exit) <
			    bpf_program__insn_cnt(calls->progs.weir_exit));
		calls_bpf__destroy(calls);
		calls_bpf__destroy(plain);
		kernel_btf_free(&types);
	}
	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_int_equal(l.objects.missing_count, 0);
	assert_non_null(l.objects.all[OBJECT_URING].bpf);
	same_layout(l.objects.all[OBJECT_URING].bpf, l.skel->obj);
	loaded_free(&l);
}

/* Each option by itself needs the objects with options. */
static void plain_options(void **unused)
{
	static const struct call_filter filter = {.count = 1}, no_filter;
	const struct select none = {.everything = true};
	const struct select selects[] = {
		{.failed_only = true}, {.min_dur_ns = 1}, {.path_count = 1}};
	const struct ebpf_options opts[] = {
		{.select = &none, .filter = &filter},
		{.select = &none, .lossless = true},
		{.select = &none, .stacks = {.of = 1}},
		{.select = &none, .with = ebpf_with("phases", 6)},
		{.select = &none, .with = ebpf_with("net", 3)},
		{.select = &selects[0]},
		{.select = &selects[1]},
		{.select = &selects[2]},
	};
	const struct ebpf_options plain = {.select = &none,
					   .filter = &no_filter,
					   .with = ~(ebpf_with("phases", 6) | ebpf_with("net", 3))};

	assert_true(objects_plain(&plain));
	for (size_t i = 0; i < ARRAY_SIZE(opts); i++)
		assert_false(objects_plain(&opts[i]));
}

static void requested(void **unused)
{
	struct select select = {.everything = true, .tids = {getpid()}, .tid_count = 1};
	struct ebpf_options opt = {.select = &select, .with = UINT32_MAX};
	struct loaded l = {0};
	struct error err = {0};

	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_int_equal(l.objects.missing_count, 0);
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (l.objects.all[i].bpf)
			same_layout(l.objects.all[i].bpf, l.skel->obj);
	}
	assert_null(l.objects.all[OBJECT_SIGNALS].bpf); /* there is no command */
	assert_true(object_program(&l.objects, OBJECT_POLLED, "weir_polled") >= 0);
	assert_true(is_same_map(object_map(&l.objects, OBJECT_POLLED, "select_pids"),
				l.skel->maps.select_pids));
	assert_true(is_same_map(object_map(&l.objects, OBJECT_POLLED, ".data.shared"),
				l.skel->maps.data_shared));
	assert_true(is_same_map(object_map(&l.objects, OBJECT_WAKERS, "threads"),
				l.skel->maps.threads));
	loaded_free(&l);

	/* Nobody asks who woke a futex where no wait for one is recorded. */
	assert_int_equal(select_ops(&select, "read", &err), 0);
	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_null(l.objects.all[OBJECT_WAKERS].bpf);
	loaded_free(&l);

	opt.command_pid = getpid();
	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_int_equal(l.objects.missing_count, 0);
	assert_true(object_map(&l.objects, OBJECT_SIGNALS, "signals") >= 0);
	assert_int_equal(load_attach(&l, &err), 0);
	assert_non_null(l.objects.all[OBJECT_SIGNALS].links[0]);
	load_detach(&l);
	assert_null(l.objects.all[OBJECT_SIGNALS].links[0]);
	loaded_free(&l);
}

static int missing_of(const struct objects *o, enum object_id id)
{
	const char *tracepoint, *shows = object_shows(id, &tracepoint);

	for (size_t i = 0; i < o->missing_count; i++) {
		if (o->missing[i].shows == shows)
			return o->missing[i].error;
	}
	return 0;
}

/* Objects that are loaded, of which the kernel refuses to attach one program: in the middle of one, and that of perf. */
static void not_attached(void **unused)
{
	struct select select = {.everything = true};
	struct ebpf_options opt = {.select = &select, .with = UINT32_MAX};
	struct loaded l = {0};
	struct error err = {0};
	int null = open("/dev/null", O_RDONLY), net, fault;

	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_int_equal(l.objects.missing_count, 0);
	net = object_program(&l.objects, OBJECT_NET, "weir_drop");
	fault = object_program(&l.objects, OBJECT_FAULTS, "weir_fault");
	assert_true(net >= 0 && fault >= 0);
	assert_int_equal(dup2(null, net), net);
	assert_int_equal(dup2(null, fault), fault);
	assert_int_equal(load_attach(&l, &err), 0);
	assert_int_equal(l.objects.missing_count, 2);
	assert_true(missing_of(&l.objects, OBJECT_NET) < 0);
	assert_true(missing_of(&l.objects, OBJECT_FAULTS) < 0);
	assert_null(l.objects.all[OBJECT_NET].bpf);
	assert_null(l.objects.all[OBJECT_NET].links[0]);
	assert_null(l.objects.all[OBJECT_FAULTS].bpf);
	assert_null(l.faults.events);
	assert_int_equal(object_map(&l.objects, OBJECT_NET, "packets"), -1);
	assert_non_null(l.objects.all[OBJECT_BLOCK].links[0]);
	load_detach(&l);
	loaded_free(&l);
	close(null);
}

static uint64_t side_lost(const struct loaded *l, int type)
{
	return l->skel->data_shared->shared.side_lost[WIRE_SIDE_STORAGE][type - WIRE_SIDE_FIRST];
}

/* A file that reaches a device: of those tried the first whose data does. */
static void write_out(void)
{
	static const char *const folders[] = {"/var/tmp", "/root", "."};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int fd = open(folders[i], O_TMPFILE | O_RDWR, 0600);

		if (fd < 0)
			continue;
		assert_int_equal(write(fd, "x", 1), 1);
		fsync(fd);
		close(fd);
	}
}

/* A bio for which there is no room among those that are under way is counted. */
static void bios_full(void **unused)
{
	const struct select select = {.tids = {1}, .tid_count = 1};
	const struct ebpf_options opt = {.select = &select, .with = ebpf_with("block", 5)};
	static const struct wire_block_state state;
	uint64_t before;
	struct loaded l = {0};
	struct error err = {0};
	int bios;

	assert_int_equal(load_programs(&l, &opt, &err), 0);
	bios = object_map(&l.objects, OBJECT_BLOCK, "bios");
	for (uint64_t key = 1; !bpf_map_update_elem(bios, &key, &state, BPF_ANY); key++)
		assert_true(key < 1 << 20);
	assert_int_equal(load_attach(&l, &err), 0);
	before = object_misses(&l.objects, OBJECT_BLOCK);
	write_out();
	load_detach(&l);
	assert_true(object_misses(&l.objects, OBJECT_BLOCK) >= before);
	if (side_lost(&l, WIRE_BLOCK) == 0)
		print_message("nothing was written to a device\n");
	else
		assert_true(l.skel->data_shared->shared.block_lost_first > 0);
	loaded_free(&l);
}

/* Nothing is added to any sum once recording is over, however long it takes to detach. */
static void over(void **unused)
{
	const struct select select = {.tids = {1}, .tid_count = 1};
	const struct ebpf_options opt = {.select = &select,
					 .with = ebpf_with("irq", 3) | ebpf_with("mem", 3)};
	struct buf first = {0}, second = {0};
	struct loaded l = {0};
	struct error err = {0};
	uint64_t at;

	assert_int_equal(load_programs(&l, &opt, &err), 0);
	assert_int_equal(load_attach(&l, &err), 0);
	usleep(20000);
	at = load_over(&l);
	usleep(20000); /* what had begun */
	assert_int_equal(sums_last(&l.objects, at, &first), 0);
	assert_true(first.len > 0);
	for (int i = 0; i < 10; i++) {
		write_out();
		usleep(5000);
	}
	assert_int_equal(sums_last(&l.objects, at, &second), 0);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	load_detach(&l);
	loaded_free(&l);
	buf_free(&first);
	buf_free(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),	 cmocka_unit_test(types_written),
		cmocka_unit_test(numbers_given), cmocka_unit_test(requested),
		cmocka_unit_test(not_attached),	 cmocka_unit_test(bios_full),
		cmocka_unit_test(over),		 cmocka_unit_test(plain_objects),
		cmocka_unit_test(plain_options)};

	if (geteuid() != 0) {
		printf("needs root\n");
		return 77;
	}
	libbpf_set_print(be_quiet);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
