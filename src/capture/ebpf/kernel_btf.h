/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_btf.h: the part of the kernel's type information (BTF) that the programs name. libbpf looks through all of it, some
 * 126,000 types, for each type that an object names, 149 in the objects of a recording: half of the CPU time of a start. So
 * it is given a file with those types alone, which is made anew at every start.
 *
 *   kernel_btf_open(), objects are opened with its path, kernel_btf_add() for each, kernel_btf_write(), they are loaded
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/map.h"

struct kernel_btf {
	struct btf *vmlinux; /* NULL once it is written */
	struct intern names; /* of types that objects name, without their flavour ("___mapped") */
	int32_t enum_of; /* in `programs`: enum kernel_type_id of src/bpf/lib/kernel.h; below 1: none */
	const struct btf *programs; /* borrowed until kernel_btf_write() */
	int fd;			    /* of the file; 0: none */
	char path[32];		    /* for bpf_object_open_opts.btf_custom_path */
	bool casts;		    /* the kernel has bpf_rdonly_cast(): Linux 6.2 and later */
};

/* Reads the kernel's types; 0 or negative errno. */
int kernel_btf_open(struct kernel_btf *ret);
/* Adds the types that an object names; it stays open until kernel_btf_write(). 0 or -ENOMEM. */
int kernel_btf_add(struct kernel_btf *k, const struct bpf_object *bpf);
/* Writes the file that the path leads to; 0 or negative errno. */
int kernel_btf_write(struct kernel_btf *k);
void kernel_btf_free(struct kernel_btf *k);
