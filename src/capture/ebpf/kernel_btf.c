/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/kernel_btf.h"

#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MODULES	     "/sys/kernel/btf"
#define TYPE_ID_ENUM "kernel_type_id"
#define TYPE_ID	     "ID_OF_" /* begins the names of its enumerators */

/* From the BTF of the kernel and of its modules into that of the file. */
struct copy {
	struct btf *to;
	const struct btf *from;
	uint32_t kernel_count; /* of types: later ones are of the module */
	uint32_t module;       /* 0: the kernel's own */
	struct map done;       /* copy_key() -> its number in `to` */
};

enum copy_how {
	COPY_WHOLE,	 /* with all that lies in it; what it points to is void */
	COPY_PROTOTYPES, /* of a type by name: what it points to, of structs their names */
	COPY_NAME,	 /* a struct without its members */
};

static uint64_t copy_key(const struct copy *c, uint32_t id, enum copy_how how)
{
	return (uint64_t)(id < c->kernel_count ? 0 : c->module) << 34 | (uint64_t)id << 2 |
	       (uint64_t)how;
}

/* The place of the i-th type that a type consists of or points to; NULL past the last. */
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

/* How what a type consists of or points to is copied. */
static enum copy_how how_of(const struct copy *c, const struct btf_type *t, uint32_t ref,
			    enum copy_how how)
{
	const struct btf_type *to = btf__type_by_id(c->from, ref);

	if (!btf_is_composite(to))
		return how;
	return btf_is_ptr(t) ? COPY_NAME : COPY_WHOLE;
}

static int copy_type(struct copy *c, uint32_t id, enum copy_how how, uint32_t *ret);

/* The number in `to` of what a type consists of or points to. */
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

/* What it consists of goes first: of types that lie in one another none is met twice, as pointers are not followed. */
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

/* The name of a type by which programs may find it; NULL: it has none. */
static const char *name_of_type(const struct btf *btf, const struct btf_type *t)
{
	if (!btf_is_composite(t) && !btf_is_any_enum(t) && !btf_is_typedef(t))
		return NULL;
	return t->name_off ? btf__name_by_offset(btf, t->name_off) : NULL;
}

/* Copies those of the types from `first` on that are named and were not found before. */
static int copy_named(struct copy *c, const struct kernel_btf *k, uint32_t first,
		      const bool *found_before, bool *found)
{
	uint32_t count = btf__type_cnt(c->from), name, copied;
	int r = 0;

	for (uint32_t id = first; id < count && r >= 0; id++) {
		const struct btf_type *t = btf__type_by_id(c->from, id);
		const char *text = name_of_type(c->from, t);

		if (!text || !intern_find(&k->names, text, name_len(text), &name) ||
		    (found_before && found_before[name]))
			continue;
		found[name] = true;
		r = copy_type(c, id, btf_is_typedef(t) ? COPY_PROTOTYPES : COPY_WHOLE, &copied);
	}
	return r;
}

/* As libbpf does: what the kernel itself does not have is looked for in its modules. */
static int copy_modules(struct copy *c, const struct kernel_btf *k, const bool *in_kernel,
			bool *found)
{
	DIR *folder = opendir(MODULES);
	struct dirent *e;
	int r = 0;

	while (folder && r >= 0 && (e = readdir(folder))) {
		struct btf *module;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		module = btf__load_module_btf(e->d_name, k->vmlinux);
		if (!module) /* gone meanwhile */
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

/* The enumeration by which programs know the kernel's own number of a type. */
static int copy_numbers(struct copy *c, const struct kernel_btf *k)
{
	const struct btf_type *t = btf__type_by_id(k->programs, (uint32_t)k->enum_of);
	int r = btf__add_enum(c->to, TYPE_ID_ENUM, sizeof(uint32_t));

	for (uint32_t i = 0; i < btf_vlen(t) && r >= 0; i++) {
		const char *name = btf__name_by_offset(k->programs, btf_enum(t)[i].name_off);
		int id =
			btf__find_by_name_kind(k->vmlinux, name + strlen(TYPE_ID), BTF_KIND_STRUCT);

		r = id > 0 ? btf__add_enum_value(c->to, name, id) : 0;
	}
	return r;
}

static int copy_all(struct copy *c, const struct kernel_btf *k)
{
	_cleanup_free_ bool *found = calloc(2 * k->names.count + 1, sizeof(*found));
	int r;

	if (!found)
		return -ENOMEM;
	r = copy_named(c, k, 1, NULL, found);
	r = r < 0 ? r : copy_modules(c, k, found, found + k->names.count);
	return r < 0 || k->enum_of < 1 ? r : copy_numbers(c, k);
}

int kernel_btf_open(struct kernel_btf *ret)
{
	ret->vmlinux = btf__load_vmlinux_btf();
	if (!ret->vmlinux)
		return -errno;
	ret->casts = btf__find_by_name_kind(ret->vmlinux, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	ret->fd = memfd_create("weir-btf", MFD_CLOEXEC);
	if (ret->fd < 0)
		return -errno;
	snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", ret->fd);
	return 0;
}

int kernel_btf_add(struct kernel_btf *k, const struct bpf_object *bpf)
{
	const struct btf *btf = bpf_object__btf(bpf);
	uint32_t count = btf__type_cnt(btf), unused;
	int r = 0;

	for (uint32_t id = 1; id < count && r >= 0; id++) {
		const char *name = name_of_type(btf, btf__type_by_id(btf, id));

		r = name ? intern_add(&k->names, name, name_len(name), &unused) : 0;
	}
	if (!k->programs) {
		k->programs = btf;
		k->enum_of = btf__find_by_name_kind(btf, TYPE_ID_ENUM, BTF_KIND_ENUM);
	}
	return r;
}

int kernel_btf_write(struct kernel_btf *k)
{
	struct copy c = {.to = btf__new_empty(),
			 .from = k->vmlinux,
			 .kernel_count = btf__type_cnt(k->vmlinux)};
	const void *data = NULL;
	uint32_t size;
	int r = c.to ? copy_all(&c, k) : -errno;

	if (r >= 0)
		data = btf__raw_data(c.to, &size);
	if (r >= 0)
		r = data ? 0 : -ENOMEM;
	if (r >= 0 && pwrite(k->fd, data, size, 0) != (ssize_t)size)
		r = -EIO;
	btf__free(c.to);
	map_free(&c.done);
	btf__free(k->vmlinux);
	k->vmlinux = NULL;
	k->programs = NULL;
	return r < 0 ? r : 0;
}

void kernel_btf_free(struct kernel_btf *k)
{
	btf__free(k->vmlinux);
	intern_free(&k->names);
	if (k->fd > 0)
		close(k->fd);
	*k = (struct kernel_btf){0};
}
