/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_btf.h: the part of the kernel's type information (BTF) that the programs name. libbpf looks through all of it, some
 * 126,000 types, for each type that an object names, 149 in the objects of a recording: half of the CPU time of a start. So
 * it is given a file with those types alone, which is made anew at every start. libbpf also reads all of it for each object
 * that calls a function of the kernel or attaches by a type, some 10 ms each: so these numbers are given to it as well.
 *
 *   kernel_btf_open(), kernel_btf_elf() and open with its path, kernel_btf_add() for each object, kernel_btf_write(),
 *   kernel_btf_target() and load for each
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/map.h"
#include "schema/wire_function.h"

struct kernel_btf {
	struct btf *vmlinux; /* NULL once it is written */
	struct intern names; /* that objects name, of types without their flavour ("___mapped") */
	struct kernel_name {
		uint8_t kind; /* BTF_KIND_* of the one whose number is wanted; 0: none */
		bool copied;  /* types of this name go into the file */
		uint32_t id;  /* the number in the kernel's BTF; 0: it has none */
	} *named;	      /* by the number in `names` */
	size_t named_cap;
	uint32_t functions[WIRE_FUNCTIONS]; /* numbers in the kernel's BTF */
	int32_t enum_of; /* in `programs`: enum kernel_type_id of src/bpf/lib/kernel.h; below 1: none */
	const struct btf *programs; /* borrowed until kernel_btf_write() */
	int fd;			    /* of the file; 0: none */
	/* Called once where it is set: the first object has its maps, and its programs are about to be verified. */
	void (*mapped)(void *data);
	void *mapped_data;
	char path[32]; /* for bpf_object_open_opts.btf_custom_path */
	bool casts;    /* the kernel has bpf_rdonly_cast(): Linux 6.2 and later */
};

/* Reads the kernel's types; 0 or negative errno. */
int kernel_btf_open(struct kernel_btf *ret);
/* A copy of an object's file in which calls of kernel functions have the kernel's numbers; NULL with errno. */
void *kernel_btf_elf(const struct kernel_btf *k, const void *elf, size_t size);
/* Adds what an object names; it stays open until kernel_btf_write(). 0 or -ENOMEM. */
int kernel_btf_add(struct kernel_btf *k, const struct bpf_object *bpf);
/* Writes the file that the path leads to; 0 or negative errno. */
int kernel_btf_write(struct kernel_btf *k);
/* Whether the kernel has what a program attaches to by a type. */
bool kernel_btf_has(const struct kernel_btf *k, const struct bpf_program *program);
/* Tells the programs of an object to what they attach; it is loaded before kernel_btf_free(). 0 or negative errno. */
int kernel_btf_target(const struct kernel_btf *k, struct bpf_object *bpf);
void kernel_btf_free(struct kernel_btf *k);
