/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_btf.h: the part of the kernel's type information (BTF) that the programs refer to. libbpf searches all of it,
 * about 126,000 types, for each type that an object refers to, 149 in the objects of a recording: half of the CPU time
 * of a start. So it is given a file with only those types, generated once per boot and set of objects (kept_types.h).
 * libbpf also reads all of it for each object that calls a kernel function or attaches by a type, about 10 ms each: so
 * these ids are provided as well.
 *
 *   kernel_btf_open(), kernel_btf_elf() and open with its path, kernel_btf_add() for each object, kernel_btf_write(),
 *   kernel_btf_target() and load for each
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/map.h"
#include "schema/wire_function.h"

struct kernel_btf {
	struct btf *vmlinux; /* NULL once written, and if its types were kept */
	uint64_t key;	     /* of kept_types.h; 0: none */
	struct intern names; /* type names in objects, without flavours ("___mapped") */
	struct kernel_name {
		uint8_t kind; /* BTF_KIND_* of the type whose id is wanted; 0: none */
		bool copied;  /* types of this name are copied to the file */
		uint32_t id;  /* in the kernel's BTF; 0: not found */
	} *named;	      /* by index in `names` */
	size_t named_cap;
	uint32_t functions[WIRE_FUNCTIONS]; /* ids in the kernel's BTF */
	int32_t enum_of; /* id in `programs` of enum kernel_type_id of src/bpf/lib/kernel.h; below 1: none */
	const struct btf *programs; /* borrowed until kernel_btf_write() */
	int fd;			    /* of the file; 0: none */
	/* Called once, if set, when the first object has its maps, before its programs are verified. */
	void (*mapped)(void *data);
	void *mapped_data;
	char path[32]; /* for bpf_object_open_opts.btf_custom_path */
	bool casts;    /* the kernel has bpf_rdonly_cast(): Linux 6.2 and later */
};

/* Reads the kernel's types; 0 or negative errno. `objects`: objects_key() of those that will be added; 0: keep
 * nothing. */
int kernel_btf_open(struct kernel_btf *ret, uint64_t objects);
/* A copy of an object's ELF file with the kernel's ids in calls of kernel functions; NULL with errno. */
void *kernel_btf_elf(const struct kernel_btf *k, const void *elf, size_t size);
/* Adds the names in an object, which must stay open until kernel_btf_write(). 0 or -ENOMEM. */
int kernel_btf_add(struct kernel_btf *k, const struct bpf_object *bpf);
/* Writes the file at the path; 0 or negative errno. */
int kernel_btf_write(struct kernel_btf *k);
/* Whether the kernel has the attach target of a program that attaches by a type. */
bool kernel_btf_has(const struct kernel_btf *k, const struct bpf_program *program);
/* Sets the attach targets of an object's programs; load it before kernel_btf_free(). 0 or negative errno. */
int kernel_btf_target(const struct kernel_btf *k, struct bpf_object *bpf);
void kernel_btf_free(struct kernel_btf *k);
