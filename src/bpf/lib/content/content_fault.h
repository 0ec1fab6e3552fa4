/* SPDX-License-Identifier: GPL-2.0-only */
/* content_fault.h: the bytes that a page fault read, from the page cache, where they are when the fault ends. */
#pragma once

#include "bpf/lib/content/content_take.h"

#define KIND_FAULT 3 /* enum call_kind, checked by capture/ebpf/calls/fault_rows.c */

/* `file`: that is mapped; 0: only the inode of the page cache is known. */
static __always_inline void fault_content(struct wire_fault *f, __u64 file, __u64 inode, __u64 end)
{
	struct content_room *m;
	__u64 rest = f->file_bytes - f->pos;

	if ((f->flags & WIRE_FAULT_SWAP) || !f->file || f->file_bytes <= f->pos)
		return;
	f->flags |= WIRE_FAULT_HASHED;
	m = content_room();
	if (!m) {
		content_lost();
		return;
	}
	__builtin_memset(&m->c, 0, sizeof(m->c));
	m->c.head.type = WIRE_CONTENT;
	m->c.head.time = end;
	m->c.start = f->start;
	m->c.file = f->file;
	m->c.thread = f->thread;
	m->c.nr = KIND_FAULT << 8;
	m->c.flags = WIRE_CONTENT_REQUEST;
	m->at = 0;
	m->end = 0;
	m->stream = 0;
	m->counts = 1;
	m->sent = 0;
	m->saved = 0;
	m->total = rest < page_bytes ? rest : page_bytes;
	m->pos = f->pos;
	inode = file ? (__u64)kread(struct file, file, f_inode) : inode;
	m->sample = content_how.parts > 1 ? kread(struct inode, inode, i_ino) : 0;
	m->cache = file ? cache_of(file) : knum(struct inode___cache, inode, i_mapping);
	content_source(m, f->pos, m->total, 0, 0);
	if (!m->cache) /* unreadable */
		m->source[0] = 0;
	content_bytes(m);
	f->hashed = m->sent;
	m->busy = 0;
}
