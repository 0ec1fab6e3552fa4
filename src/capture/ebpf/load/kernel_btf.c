/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/load/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/ebpf/load/kept_types.h"

#define MODULES	     "/sys/kernel/btf"
#define TYPE_ID_ENUM "kernel_type_id"
#define TYPE_ID	     "ID_OF_" /* prefix of its enumerators */

#define TARGET_MAX	    96 /* length of an attach target's name with its prefix */
#define FUNCTION_NAME(name) #name,

static struct bpf_link *target_iterator(const struct bpf_program *program)
{
	return bpf_program__attach_iter(program, NULL);
}

/* What programs of a section attach to: a type or function with this prefix. */
static const struct target {
	const char *section;
	enum bpf_attach_type attach;
	const char *prefix;
	uint8_t kind;
	struct bpf_link *(*link)(const struct bpf_program *program);
} targets[] = {
	{"tp_btf", BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF, bpf_program__attach_trace},
	{"iter", BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC, target_iterator},
};
/* The one whose objects are being loaded: libbpf passes only the program to section handlers. */
static struct kernel_btf *kernel_btf_loading;

/* Copies from the BTF of the kernel and its modules to that of the file. */
struct copy {
	struct btf *to;
	const struct btf *from;
	uint32_t kernel_count; /* number of its types: later ids belong to the module */
	uint32_t module;       /* 0: the kernel's own */
	struct map done;       /* copy_key() -> id in `to` */
};

enum copy_how {
	COPY_WHOLE,	 /* including embedded types; pointers become void * */
	COPY_PROTOTYPES, /* a type by name: including what it points to, but structs without members */
	COPY_NAME,	 /* a struct without its members */
};

static uint64_t copy_key(const struct copy *c, uint32_t id, enum copy_how how)
{
	return (uint64_t)(id < c->kernel_count ? 0 : c->module) << 34 | (uint64_t)id << 2 |
	       (uint64_t)how;
}

/* The i-th type id in a type, of a part or pointer target; NULL past the last. */
static uint32_t *type_ref(const struct btf_type *of, uint32_t i)
{
	struct btf_type *t = (struct btf_type *)of;

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return i ? NULL : &t->type;
	case BTF_KIND_ARRAY:
		return i == 0 ? &btf_array(t)->type : i == 1 ? &btf_array(t)->index_type : NULL;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return i < btf_vlen(t) ? &btf_members(t)[i].type : NULL;
	case BTF_KIND_FUNC_PROTO:
		return i == 0 ? &t->type : i <= btf_vlen(t) ? &btf_params(t)[i - 1].type : NULL;
	default:
		return NULL;
	}
}

/* How to copy a part or pointer target of a type. */
static enum copy_how how_of(const struct copy *c, const struct btf_type *t, uint32_t ref,
			    enum copy_how how)
{
	const struct btf_type *to = btf__type_by_id(c->from, ref);

	if (!btf_is_composite(to))
		return how;
	return btf_is_ptr(t) ? COPY_NAME : COPY_WHOLE;
}

static int copy_type(struct copy *c, uint32_t id, enum copy_how how, uint32_t *ret);

/* The id in `to` of a part or pointer target. */
static int copy_ref(struct copy *c, const struct btf_type *t, uint32_t ref, enum copy_how how,
		    uint32_t *ret)
{
	*ret = 0; /* void */
	if (!ref || (btf_is_ptr(t) && how == COPY_WHOLE))
		return 0;
	return copy_type(c, ref, how_of(c, t, ref, how), ret);
}

static int copy_name(struct copy *c, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(c->from, t->name_off);

	return btf_is_struct(t) ? btf__add_struct(c->to, name, t->size)
				: btf__add_union(c->to, name, t->size);
}

/* Parts are copied first. There are no cycles, as pointers are not followed. */
static int copy_type(struct copy *c, uint32_t id, enum copy_how how, uint32_t *ret)
{
	const struct btf_type *t = btf__type_by_id(c->from, id);
	const uint32_t *ref;
	uint32_t copied;
	uint64_t done;
	int r = 0, new;

	if (map_get(&c->done, copy_key(c, id, how), &done)) {
		*ret = (uint32_t)done;
		return 0;
	}
	for (uint32_t i = 0; how != COPY_NAME && (ref = type_ref(t, i)) && r >= 0; i++)
		r = copy_ref(c, t, *ref, how, &copied);
	if (r < 0)
		return r;
	new = how == COPY_NAME ? copy_name(c, t) : btf__add_type(c->to, c->from, t);
	if (new < 0)
		return new;
	*ret = (uint32_t) new;
	for (uint32_t i = 0; how != COPY_NAME && (ref = type_ref(t, i)) && r >= 0; i++) {
		r = copy_ref(c, t, *ref, how, &copied); /* found: it was copied above */
		*type_ref(btf__type_by_id(c->to, *ret), i) = copied;
	}
	return r < 0 ? r : map_set(&c->done, copy_key(c, id, how), *ret);
}

/* The length of a name without its flavour. */
static size_t name_len(const char *name)
{
	const char *flavour = strstr(name, "___");

	return flavour && flavour > name ? (size_t)(flavour - name) : strlen(name);
}

/* The name by which programs may refer to a type; NULL: it has none. */
static const char *name_of_type(const struct btf *btf, const struct btf_type *t)
{
	if (!btf_is_composite(t) && !btf_is_any_enum(t) && !btf_is_typedef(t))
		return NULL;
	return t->name_off ? btf__name_by_offset(btf, t->name_off) : NULL;
}

/* The name of a type or function that may be wanted: programs refer to few of the kernel's many functions. */
static const char *name_wanted(const struct btf *btf, const struct btf_type *t)
{
	const char *name;

	if (!btf_is_func(t))
		return name_of_type(btf, t);
	name = btf__name_by_offset(btf, t->name_off);
	return strncmp(name, "bpf_", 4) != 0 ? NULL : name;
}

/* Sets the id of a wanted type, from the kernel's own types. */
static void number_found(struct kernel_name *n, const struct btf_type *t, uint32_t id)
{
	if (n->kind == btf_kind(t) && !n->id)
		n->id = id;
}

/* Copies the types from `first` on whose names are wanted and were not found before. */
static int copy_named(struct copy *c, struct kernel_btf *k, uint32_t first,
		      const bool *found_before, bool *found)
{
	uint32_t count = btf__type_cnt(c->from), name, copied;
	int r = 0;

	for (uint32_t id = first; id < count && r >= 0; id++) {
		const struct btf_type *t = btf__type_by_id(c->from, id);
		const char *text = name_wanted(c->from, t);

		if (!text || !intern_find(&k->names, text, name_len(text), &name))
			continue;
		if (!c->module)
			number_found(&k->named[name], t, id);
		if (!k->named[name].copied || btf_is_func(t) ||
		    (found_before && found_before[name]))
			continue;
		found[name] = true;
		r = copy_type(c, id, btf_is_typedef(t) ? COPY_PROTOTYPES : COPY_WHOLE, &copied);
	}
	return r;
}

/* As in libbpf: types that the kernel itself lacks are searched in its modules. */
static int copy_modules(struct copy *c, struct kernel_btf *k, const bool *in_kernel, bool *found)
{
	DIR *folder = opendir(MODULES);
	struct dirent *e;
	int r = 0;

	while (folder && r >= 0 && (e = readdir(folder))) {
		struct btf *module;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		module = btf__load_module_btf(e->d_name, k->vmlinux);
		if (!module) /* unloaded meanwhile */
			continue;
		c->from = module;
		c->module++;
		r = copy_named(c, k, c->kernel_count, in_kernel, found);
		btf__free(module);
	}
	if (folder)
		closedir(folder);
	return r;
}

/* The entry of a name, added if new; NULL: out of memory. Valid until the next one. */
static struct kernel_name *add_name(struct kernel_btf *k, const char *name, size_t len)
{
	size_t count = k->names.count;
	uint32_t id;

	if (intern_add(&k->names, name, len, &id) < 0 ||
	    grow((void **)&k->named, &k->named_cap, k->names.count, sizeof(*k->named)) < 0)
		return NULL;
	if (id == count)
		k->named[id] = (struct kernel_name){0};
	return &k->named[id];
}

static int want_number(struct kernel_btf *k, const char *name, uint8_t kind)
{
	struct kernel_name *n = add_name(k, name, strlen(name));

	if (n)
		n->kind = kind;
	return n ? 0 : -ENOMEM;
}

/* The id of a wanted name; 0: the kernel has none. */
static uint32_t number_wanted(const struct kernel_btf *k, const char *name)
{
	uint32_t id;

	return intern_find(&k->names, name, strlen(name), &id) ? k->named[id].id : 0;
}

/* The enumeration through which programs get the kernel's type ids. */
static int copy_numbers(struct copy *c, const struct kernel_btf *k)
{
	const struct btf_type *t = btf__type_by_id(k->programs, (uint32_t)k->enum_of);
	int r = btf__add_enum(c->to, TYPE_ID_ENUM, sizeof(uint32_t));

	for (uint32_t i = 0; i < btf_vlen(t) && r >= 0; i++) {
		const char *name = btf__name_by_offset(k->programs, btf_enum(t)[i].name_off);
		uint32_t id = number_wanted(k, name + strlen(TYPE_ID));

		r = id ? btf__add_enum_value(c->to, name, id) : 0;
	}
	return r;
}

static int copy_all(struct copy *c, struct kernel_btf *k)
{
	_cleanup_free_ bool *found = calloc(2 * k->names.count + 1, sizeof(*found));
	int r;

	if (!found)
		return -ENOMEM;
	r = copy_named(c, k, 1, NULL, found);
	r = r < 0 ? r : copy_modules(c, k, found, found + k->names.count);
	return r < 0 || k->enum_of < 1 ? r : copy_numbers(c, k);
}

/* The name of a program's attach target in the kernel's BTF; NULL: it does not attach by a type. */
static const struct target *target_of(const struct bpf_program *program, char name[TARGET_MAX])
{
	const char *section = bpf_program__section_name(program), *slash = strchr(section, '/');

	section += *section == '?';
	for (size_t i = 0; slash && i < ARRAY_SIZE(targets); i++) {
		const struct target *t = &targets[i];

		if (strncmp(section, t->section, (size_t)(slash - section)) != 0 ||
		    strlen(t->section) != (size_t)(slash - section))
			continue;
		snprintf(name, TARGET_MAX, "%s%s", t->prefix, slash + 1);
		return t;
	}
	return NULL;
}

static uint32_t target_number(const struct kernel_btf *k, const struct bpf_program *program)
{
	char name[TARGET_MAX];

	return k && target_of(program, name) ? number_wanted(k, name) : 0;
}

static int target_load(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	struct kernel_btf *k = kernel_btf_loading;
	uint32_t id = target_number(k, program);
	void (*mapped)(void *) = k ? k->mapped : NULL;

	if (mapped) {
		k->mapped = NULL;
		mapped(k->mapped_data);
	}
	if (!id) /* kernel_btf_target() left it to libbpf */
		return 0;
	opts->attach_prog_fd = 0;
	opts->attach_btf_id = id;
	return 0;
}

static int target_attach(const struct bpf_program *program, long cookie, struct bpf_link **ret)
{
	*ret = targets[cookie].link(program);
	return *ret ? 0 : -errno;
}

/* Only once per process: libbpf's objects point to its table of handlers. */
static int targets_handle(void)
{
	static bool done;
	int r = 0;

	for (size_t i = 0; !done && i < ARRAY_SIZE(targets) && r >= 0; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)i,
			    .prog_prepare_load_fn = target_load, .prog_attach_fn = target_attach);
		char section[16];

		snprintf(section, sizeof(section), "%s+", targets[i].section);
		r = libbpf_register_prog_handler(section, BPF_PROG_TYPE_TRACING, targets[i].attach,
						 &opts);
	}
	done = r >= 0;
	return r;
}

/* Finds the ids of the functions that programs call. */
static void find_functions(struct kernel_btf *k)
{
	static const char *const names[] = {WIRE_FUNCTION_LIST(FUNCTION_NAME)};
	uint32_t count = btf__type_cnt(k->vmlinux);

	for (uint32_t id = 1; id < count; id++) {
		const struct btf_type *t = btf__type_by_id(k->vmlinux, id);
		const char *name = btf_is_func(t) ? name_wanted(k->vmlinux, t) : NULL;

		for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
			if (!k->functions[i] && !strcmp(name, names[i]))
				k->functions[i] = id;
		}
	}
}

/* ---- kept types: the ids of functions and names, then the file ---- */

struct kept_id {
	uint32_t id, len; /* the name follows */
};

static void kept_put(const struct kernel_btf *k, const void *file, size_t size)
{
	_cleanup_buf_ struct buf b = {0};
	uint32_t count = (uint32_t)k->names.count;

	buf_append(&b, k->functions, sizeof(k->functions));
	buf_append(&b, &count, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		struct bytes name = intern_get(&k->names, i);
		struct kept_id id = {k->named[i].id, name.len};

		buf_append(&b, &id, sizeof(id));
		buf_append(&b, name.data, name.len);
	}
	if (buf_append(&b, file, size) >= 0)
		kept_types_write(k->key, &b);
}

static bool kept_take_bytes(struct bytes *from, void *to, size_t len)
{
	if (from->len < len)
		return false;
	memcpy(to, from->data, len);
	from->data += len;
	from->len -= (uint32_t)len;
	return true;
}

/* False: there are none, or something failed. */
static bool kept_take(struct kernel_btf *k)
{
	_cleanup_buf_ struct buf b = {0};
	struct bytes rest;
	uint32_t count;

	if (!k->key || !kept_types_read(k->key, &b))
		return false;
	rest = buf_bytes(&b);
	if (!kept_take_bytes(&rest, k->functions, sizeof(k->functions)) ||
	    !kept_take_bytes(&rest, &count, sizeof(count)))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct kept_id id;
		struct kernel_name *n;

		if (!kept_take_bytes(&rest, &id, sizeof(id)) || rest.len < id.len)
			return false;
		n = add_name(k, (const char *)rest.data, id.len);
		if (!n)
			return false;
		n->id = id.id;
		rest.data += id.len;
		rest.len -= id.len;
	}
	return rest.len && pwrite(k->fd, rest.data, rest.len, 0) == (ssize_t)rest.len;
}

/* ---- the kernel's types ---- */

int kernel_btf_open(struct kernel_btf *ret, uint64_t objects)
{
	int r = targets_handle();

	if (r < 0)
		return r;
	ret->fd = memfd_create("weir-btf", MFD_CLOEXEC);
	if (ret->fd < 0)
		return -errno;
	snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", ret->fd);
	ret->key = objects ? kept_types_key(objects) : 0;
	if (!kept_take(ret)) {
		memset(ret->functions, 0, sizeof(ret->functions));
		intern_free(&ret->names);
		ret->vmlinux = btf__load_vmlinux_btf();
		if (!ret->vmlinux)
			return -errno;
		find_functions(ret);
	}
	ret->casts = ret->functions[WIRE_NUMBER_bpf_rdonly_cast] > 0;
	return 0;
}

void *kernel_btf_elf(const struct kernel_btf *k, const void *elf, size_t size)
{
	struct bpf_insn *copy = malloc(size);

	if (!copy)
		return NULL;
	memcpy(copy, elf, size);
	/* Program sections are aligned to the size of an instruction. */
	for (size_t i = 0; i < size / sizeof(*copy); i++) {
		uint32_t function = (uint32_t)copy[i].imm - WIRE_FUNCTION;

		if (copy[i].code != (BPF_JMP | BPF_CALL) || copy[i].src_reg ||
		    function >= WIRE_FUNCTIONS)
			continue;
		if (k->functions[function]) {
			copy[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
			copy[i].imm = (int32_t)k->functions[function];
		} else { /* r0 = 0 */
			copy[i] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K};
		}
	}
	return copy;
}

/* Adds types by name, and the wanted ids of attach targets. */
static int add_types(struct kernel_btf *k, const struct btf *btf)
{
	uint32_t count = btf__type_cnt(btf);

	for (uint32_t id = 1; id < count; id++) {
		const char *name = name_of_type(btf, btf__type_by_id(btf, id));
		struct kernel_name *n = name ? add_name(k, name, name_len(name)) : NULL;

		if (name && !n)
			return -ENOMEM;
		if (n)
			n->copied = true;
	}
	return 0;
}

/* Adds the types of enum kernel_type_id; once, as it is the same in all objects. */
static int add_numbers(struct kernel_btf *k, const struct btf *btf)
{
	const struct btf_type *t;
	int r = 0;

	if (k->programs)
		return 0;
	k->programs = btf;
	k->enum_of = btf__find_by_name_kind(btf, TYPE_ID_ENUM, BTF_KIND_ENUM);
	t = k->enum_of > 0 ? btf__type_by_id(btf, (uint32_t)k->enum_of) : NULL;
	for (uint32_t i = 0; t && i < btf_vlen(t) && r >= 0; i++)
		r = want_number(k,
				btf__name_by_offset(btf, btf_enum(t)[i].name_off) + strlen(TYPE_ID),
				BTF_KIND_STRUCT);
	return r;
}

int kernel_btf_add(struct kernel_btf *k, const struct bpf_object *bpf)
{
	const struct btf *btf = bpf_object__btf(bpf);
	struct bpf_program *program = NULL;
	int r;

	if (!k->vmlinux) /* kept: found before */
		return 0;
	r = add_types(k, btf);
	r = r < 0 ? r : add_numbers(k, btf);
	while (r >= 0 && (program = bpf_object__next_program(bpf, program))) {
		char name[TARGET_MAX];
		const struct target *t = target_of(program, name);

		r = t ? want_number(k, name, t->kind) : 0;
	}
	return r;
}

int kernel_btf_write(struct kernel_btf *k)
{
	struct copy c = {.from = k->vmlinux};
	const void *data = NULL;
	uint32_t size;
	int r;

	kernel_btf_loading = k;
	if (!k->vmlinux)
		return 0;
	c.to = btf__new_empty();
	c.kernel_count = btf__type_cnt(k->vmlinux);
	r = c.to ? copy_all(&c, k) : -errno;
	if (r >= 0)
		data = btf__raw_data(c.to, &size);
	if (r >= 0)
		r = data ? 0 : -ENOMEM;
	if (r >= 0 && pwrite(k->fd, data, size, 0) != (ssize_t)size)
		r = -EIO;
	if (r >= 0 && k->key)
		kept_put(k, data, size);
	btf__free(c.to);
	map_free(&c.done);
	btf__free(k->vmlinux);
	k->vmlinux = NULL;
	k->programs = NULL;
	return r < 0 ? r : 0;
}

bool kernel_btf_has(const struct kernel_btf *k, const struct bpf_program *program)
{
	return target_number(k, program) > 0;
}

int kernel_btf_target(const struct kernel_btf *k, struct bpf_object *bpf)
{
	struct bpf_program *program;
	int r = 0;

	bpf_object__for_each_program(program, bpf)
	{
		char name[TARGET_MAX];
		const struct target *t = target_of(program, name);

		if (!t || !bpf_program__autoload(program))
			continue;
		/* Pretends that it attaches to a program, so that libbpf does not search; see target_load(). */
		if (number_wanted(k, name))
			r = bpf_program__set_attach_target(program, 1, NULL);
		else /* may be in a module */
			r = bpf_program__set_attach_target(program, 0, name + strlen(t->prefix));
		if (r < 0)
			return r;
	}
	return 0;
}

void kernel_btf_free(struct kernel_btf *k)
{
	btf__free(k->vmlinux);
	intern_free(&k->names);
	free(k->named);
	if (k->fd > 0)
		close(k->fd);
	if (kernel_btf_loading == k)
		kernel_btf_loading = NULL;
	*k = (struct kernel_btf){0};
}
