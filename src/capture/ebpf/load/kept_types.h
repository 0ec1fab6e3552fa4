/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_types.h: what kernel_btf.h found for a set of objects, kept in /run/weir until the next boot. Reading and
 * searching the kernel's types takes a sixth of the time of a start: `weir trace -- true` took 115 ms on two idle CPUs,
 * and 98 ms with kept types. A file is valid for one boot, one set of modules as they were loaded, one build of weir and
 * the objects that a recording loads; it must belong to root, and only root may be able to write it. Every failure means
 * that the types are searched again, and none is reported.
 */
#pragma once

#include "base/buf.h"
#include "capture/ebpf/load/kernel_btf.h"

/* A key of the running kernel with its modules, and of the objects' key; 0: they cannot be identified. */
uint64_t kept_types_key(uint64_t objects);
/* True if there is a file for the key; *ret is its contents, without the checksum. */
bool kept_types_read(uint64_t key, struct buf *ret);
void kept_types_write(uint64_t key, const struct buf *data);
