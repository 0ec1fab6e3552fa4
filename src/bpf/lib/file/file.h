/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * file.h: the file that a descriptor refers to, as the number of a version (one generation under one name). A thread
 * remembers its last files, all threads share the map of versions, and a new version is sent with its path before it is
 * used.
 */
#pragma once

#include "bpf/lib/file/fs.h"
#include "bpf/lib/ring.h"

#define MAGIC_SOCKFS 0x534f434b
#define MAGIC_PIPEFS 0x50495045
#define WALK_STEPS \
	2200 /* a path of 4,095 bytes has at most 2,048 names; mounts take a step too \
			   */
#define NAME_LEN_MAX 256

/* The filter fields that are tested once for each version of a file. */
#define FILTER_OF_FILES (1 << FILTER_PATH | 1 << FILTER_EXE)
#define FDS_LEAST	64 /* NR_OPEN_DEFAULT: the smallest descriptor table */

static __always_inline __u64 mount_of(__u64 vfsmount)
{
	return vfsmount - bpf_core_field_offset(struct mount, mnt);
}

/*
 * The root at which the current task's paths start. A mount belongs to one mount namespace, so the same name under the
 * same root is the same file name; if the kernel numbers mounts, a new mount is not confused with a former one.
 */
static __always_inline __u64 root_of(struct fs_struct *fs)
{
	__u64 dentry, mnt;

	if (!fs)
		return 0;
	dentry = kread_ptr((__u64)fs + bpf_core_field_offset(struct fs_struct, root.dentry));
	mnt = kread_ptr((__u64)fs + bpf_core_field_offset(struct fs_struct, root.mnt));
	if (bpf_core_field_exists(struct mount, mnt_id_unique))
		mnt = kread(struct mount, mount_of(mnt), mnt_id_unique);
	return (dentry ^ mnt * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
}

/* One step up: a component, or from the root of a mount to its mount point. Returns true at the end. */
static __always_inline bool walk_up(struct scratch *s, __u64 *ret_name_dentry)
{
	__u64 dentry = s->dentry, mnt = s->mnt, parent;

	*ret_name_dentry = 0;
	if (dentry == s->root_dentry && mnt == s->root_mnt && s->root_at == ~0u)
		s->root_at = s->len;
	if (dentry == (__u64)kread(struct vfsmount, mnt + bpf_core_field_offset(struct mount, mnt),
				   mnt_root)) {
		parent = (__u64)kread(struct mount, mnt, mnt_parent);
		if (parent == mnt || !parent) {
			if (s->mount_at == ~0u)
				s->mount_at = s->len;
			s->done = 1;
			return true;
		}
		if (s->mount_at == ~0u)
			s->mount_at = s->len;
		s->dentry = (__u64)kread(struct mount, mnt, mnt_mountpoint);
		s->mnt = parent;
		return false;
	}
	parent = (__u64)kread(struct dentry, dentry, d_parent);
	if (parent == dentry || !parent) {
		s->done = 2; /* a detached tree: pipes, sockets, lazily unmounted */
		return true;
	}
	*ret_name_dentry = dentry;
	s->dentry = parent;
	return false;
}

/* Hash and length of a name. */
static __always_inline __u64 name_hash(__u64 dentry)
{
	return kread_ptr(dentry + bpf_core_field_offset(struct dentry, d_name.hash_len));
}

/* Adds a name to the checksum that detects changes of names. 0 for `dentry`: a mount. */
static __always_inline void walk_add(struct scratch *s, __u64 dentry)
{
	if (dentry)
		s->sum = (s->sum ^ dentry ^ name_hash(dentry)) * 0x9e3779b97f4a7c15ull;
	else
		s->sum = (s->sum ^ *(volatile __u64 *)&s->mnt) *
			 0xff51afd7ed558ccdull; /* read again, as a plain number */
}

struct walk_ctx {
	struct scratch *s;
};

/* Adds the name of a dentry to data[sizeof(struct wire_file)...]. False: no room. */
static __always_inline bool name_add(struct scratch *s, __u64 dentry)
{
	__u32 at = s->len;
	long n;

	if (at > WIRE_WALK_MAX - NAME_LEN_MAX)
		return false;
	n = bpf_probe_read_kernel_str(s->data + sizeof(struct wire_file) + at, NAME_LEN_MAX,
				      kread(struct dentry, dentry, d_name.name));
	if (n > 0)
		s->len = at + (n & 0x1ff);
	return true;
}

/* bpf_loop: adds a name of the path. */
static long walk_name(__u32 i, struct walk_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 dentry;

	if (walk_up(s, &dentry))
		return 1;
	walk_add(s, dentry);
	if (!dentry)
		return 0;
	if (!name_add(s, dentry))
		return 1;
	if (!s->base)
		s->base = s->len;
	return 0;
}

/* bpf_loop: computes only the checksum. */
static long walk_sum(__u32 i, struct walk_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 dentry;

	if (walk_up(s, &dentry))
		return 1;
	walk_add(s, dentry);
	return 0;
}

/* Whether data[sizeof(struct wire_file) + at...] is equal. Little-endian machines only: x86-64, arm64. */
static __always_inline bool names_same(struct scratch *s, __u32 at, const volatile __u8 *names,
				       __u32 len)
{
	for (__u32 k = 0; k < WIRE_NAMES_MAX && k < len; k += 8) {
		__u64 differ = *(volatile __u64 *)(s->data + sizeof(struct wire_file) +
						   ((at + k) & (WIRE_WALK_MAX - 1))) ^
			       *(const volatile __u64 *)(names + k);

		if (len - k < 8)
			differ &= (1ull << ((len - k) * 8 & 63)) - 1;
		if (differ)
			return false;
	}
	return true;
}

/*
 * Whether the names found by the walk, or those below the process's root, match a test: they end with its names at a
 * component boundary, or the last component is compared.
 */
static __always_inline bool path_fits(struct scratch *s, const volatile struct wire_name_test *t,
				      bool whole)
{
	__u32 end = !whole && s->root_at < s->len ? s->root_at : s->len, base = end ? s->base : 0;
	__u32 how = t->how, len = t->len, at = 0;

	if (how == NAME_BASE || how == NAME_BASE_BEGINS)
		return (how == NAME_BASE ? base == len + 1 : base > len) &&
		       names_same(s, at, t->names, len);
	if (end < len || (how == NAME_EQUAL && end != len) || (how == NAME_BELOW && end == len))
		return false;
	at = end - len;
	if (at && s->data[sizeof(struct wire_file) + ((at - 1) & (WIRE_WALK_MAX - 1))])
		return false; /* within a component */
	return names_same(s, at, t->names, len);
}

/*
 * bpf_loop: the tests of a path, each applied twice: to the path as the process sees it and, for selected paths (-P),
 * to all names. A test passes if the recorder's name for the file is unknown: if the path was truncated, does not begin
 * at a root or, for a selected path, may differ for the recorder.
 */
static long walk_test(__u32 i, struct walk_ctx *ctx)
{
	const volatile struct wire_name_test *t = &tests[(i / 2) & (WIRE_TESTS_MAX - 1)];
	struct scratch *s = ctx->s;
	bool selects = t->how == NAME_SELECTED, passes = true;

	if (t->field != FILTER_PATH || ((i & 1) && !selects))
		return 0;
	if (s->done == 2 && (s->magic == MAGIC_SOCKFS || s->magic == MAGIC_PIPEFS))
		passes = t->others;
	else if (s->done == 1 && !(selects && s->foreign))
		passes = path_fits(s, t, i & 1) != !!t->opposite;
	if (passes)
		s->wanted |= t->bit;
	return 0;
}

static __always_inline void walk_begin(struct scratch *s, __u64 dentry, __u64 vfsmount)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_struct *fs = tread(struct task_struct, task, fs);

	s->dentry = dentry;
	s->mnt = mount_of(vfsmount);
	s->root_dentry = 0;
	s->root_mnt = 0;
	if (fs) {
		s->root_dentry = (__u64)tread(struct fs_struct, fs, root.dentry);
		s->root_mnt = mount_of((__u64)tread(struct fs_struct, fs, root.mnt));
	}
	s->root_at = ~0u;
	s->mount_at = ~0u;
	s->fs_known = 0;
	s->len = 0;
	s->done = 0;
	s->sum = 0;
	s->wanted = 0;
	s->base = 0;
}

/* 0: unknown. */
verified_alone __u64 names_sum(struct file_ident *d)
{
	struct walk_ctx ctx = {.s = scratch_get()};
	__u64 sum;

	if (!ctx.s)
		return 0;
	if (!d) {
		scratch_put(ctx.s);
		return 0;
	}
	walk_begin(ctx.s, d->k.dentry, d->k.mnt);
	bpf_loop(WALK_STEPS, walk_sum, &ctx, 0);
	sum = ctx.s->sum;
	scratch_put(ctx.s);
	return sum;
}

/* As the kernel's d_unlinked(): no longer reachable by name; the root of a file system never was. */
static __always_inline bool dentry_gone(__u64 dentry)
{
	return !kread(struct dentry, dentry, d_hash.pprev) &&
	       (__u64)kread(struct dentry, dentry, d_parent) != dentry;
}

static __always_inline void ident_fill(struct file_ident *d, __u64 inode, __u64 dentry, __u64 mnt)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct super_block *sb = kread(struct inode, inode, i_sb);
	struct fs_struct *fs = tread(struct task_struct, task, fs);

	__builtin_memset(d, 0, sizeof(*d));
	d->inode = inode;
	d->k.ino = kread(struct inode, inode, i_ino);
	d->k.dentry = dentry;
	d->k.mnt = mnt;
	d->k.root = root_of(fs);
	d->magic = kread(struct super_block, sb, s_magic);
	d->k.dev = kread(struct super_block, sb, s_dev);
	if (unlikely(d->magic == MAGIC_BTRFS)) /* read again, as a plain number */
		d->k.dev = subvolume_dev(*(volatile __u64 *)&d->inode, d->k.dev);
	d->k.generation = kread(struct inode, inode, i_generation);
	d->mode = kread(struct inode, inode, i_mode);
	if (!d->k.generation) {
		struct inode_key ik = {.ino = d->k.ino, .dev = d->k.dev};
		__u32 *n = bpf_map_lookup_elem(&reuses, &ik);

		d->k.reuse = n ? *n : 0;
	}
}

/* A detached tree: the name of its root identifies it ("[eventpoll]"). */
verified_alone int file_root_name(struct scratch *s)
{
	if (s && s->done == 2)
		name_add(s, s->dentry);
	return 0;
}

/* bpf_loop: adds a component of the path of a mount's root within its file system. */
static long walk_inside(__u32 i, struct walk_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 dentry = s->dentry, parent = (__u64)kread(struct dentry, dentry, d_parent);

	if (parent == dentry || !parent) {
		s->fs_known = 1;
		return 1;
	}
	s->dentry = parent;
	return !name_add(s, dentry);
}

/* Appends to the path the part of the file system that a mount of another namespace shows. */
static __always_inline void file_inside(struct walk_ctx *ctx, __u64 vfsmount)
{
	if (ctx->s->done != 1)
		return;
	ctx->s->dentry = (__u64)kread(struct vfsmount, vfsmount, mnt_root);
	bpf_loop(WALK_STEPS, walk_inside, ctx, 0);
}

static __always_inline __u32 mount_ns(__u64 vfsmount)
{
	struct mnt_namespace *ns = kread(struct mount, mount_of(vfsmount), mnt_ns);

	return (__u64)ns > 4096 ? kread(struct mnt_namespace, ns, ns.inum) : 0;
}

/* For a file of overlayfs: its identity in the page cache and on disk. */
verified_alone int file_real(struct scratch *s, __u64 inode)
{
	struct wire_file *r;
	__u64 real;
	__u32 dev;

	if (!s)
		return 0;
	r = (struct wire_file *)s->data;
	r->real_ino = 0;
	r->real_dev = 0;
	r->real_generation = 0;
	real = s->magic == MAGIC_OVERLAY ? overlay_real(inode) : 0;
	if (!real)
		return 0;
	r->real_ino = kread(struct inode, real, i_ino);
	r->real_generation = kread(struct inode, real, i_generation);
	dev = kread(struct super_block, kread(struct inode, real, i_sb), s_dev);
	r->real_dev =
		kread(struct super_block, kread(struct inode, real, i_sb), s_magic) == MAGIC_BTRFS
			? subvolume_dev_here(real, dev)
			: dev;
	return 0;
}

/* Fills everything but the path. */
verified_alone int file_fields(struct scratch *s, struct file_ident *d)
{
	struct super_block *sb;
	struct wire_file *r;

	if (!s || !d)
		return 0;
	r = (struct wire_file *)s->data;
	head_fill(&r->head, WIRE_FILE, 0, 0, 0, r->head.time);
	r->ino = d->k.ino;
	r->generation = d->k.generation;
	r->reuse = d->k.reuse;
	r->dev = d->k.dev;
	r->mode = d->mode;
	r->size = kread(struct inode, d->inode, i_size);
	r->magic = d->magic;
	r->flags = dentry_gone(d->k.dentry) ? WIRE_FILE_DELETED : 0;
	r->mnt_ns = mount_ns(d->k.mnt);
	sb = kread(struct inode, d->inode, i_sb);
	r->fs_dev = kread(struct super_block, sb, s_dev);
	bpf_probe_read_kernel_str(
		r->fs, sizeof(r->fs),
		kread(struct file_system_type, kread(struct super_block, sb, s_type), name));
	return 0;
}

/* Walks the path and sends the file. 0: not sent, else 1 + d->wanted. The steps are separate functions to keep the
 * stack small. */
verified_alone int file_send(struct file_ident *d, __u64 key)
{
	struct walk_ctx ctx = {.s = scratch_get()};
	struct scratch *s = ctx.s;
	struct wire_file *r;
	__u32 len;
	int sent;

	if (!s)
		return 0;
	if (!d) {
		scratch_put(s);
		return 0;
	}
	r = (struct wire_file *)s->data;
	r->head.time = bpf_ktime_get_ns(); /* before: renames that it missed end later */
	walk_begin(s, d->k.dentry, d->k.mnt);
	bpf_loop(WALK_STEPS, walk_name, &ctx, 0);
	s->foreign = mount_ns(d->k.mnt) != own_mnt_ns;
	s->magic = d->magic;
	if (select_paths || (filter.fields & FILTER_OF_FILES))
		bpf_loop(2 * test_count, walk_test, &ctx, 0);
	d->wanted = s->wanted;
	d->names = s->done ? s->sum : 0;
	file_root_name(s);
	len = s->len;
	if (s->foreign)
		file_inside(&ctx, d->k.mnt);
	file_fields(s, d);
	file_real(s, d->inode);
	r->birth = inode_birth(d->inode);
	r->root = d->k.root;
	r->file = key;
	r->root_at = s->root_at;
	r->thread = d->thread;
	r->path_len = len;
	r->mount_at = s->mount_at;
	r->fs_len = s->len - len;
	r->fs_known = s->fs_known;
	if (s->done == 0)
		r->flags |= WIRE_FILE_CUT;
	if (s->done == 2)
		r->flags |= WIRE_FILE_UNREACHED;
	sent = ring_send(s, sizeof(*r) + (s->len & 0x3fff)) ? 1 + d->wanted : 0;
	d->fresh = !!sent;
	scratch_put(s);
	return sent;
}

/* False: no room. */
static noinline bool gone_send(__u64 key)
{
	__u64 now = bpf_ktime_get_ns();
	struct wire_file_gone *r;
	struct ring_place p;
	__u32 seq;

	r = ring_take(&p, sizeof(*r), sizeof(*r), &seq);
	if (!r)
		return false;
	head_fill(&r->head, WIRE_FILE_GONE, 0, sizeof(*r), seq, now);
	r->file = key;
	ring_commit(&p);
	return true;
}

/*
 * The version's number; sends the version if it is new or its name changed. If there is no room (d->unsent) it gets
 * another number next time: calls that refer to a number which never arrives lack their file.
 */
verified_alone __u64 file_version(struct file_ident *d)
{
	struct file_version *v, n = {};
	int sent;
	struct file_key k;

	if (!d)
		return 0;
	k = d->k; /* map keys must be on the stack */

	v = bpf_map_lookup_elem(&files, &k);
	if (v) {
		if (v->epoch != epochs.names) {
			__u32 epoch = epochs.names;

			if (names_sum(d) != v->names)
				v = NULL;
			else
				v->epoch = epoch;
		}
		if (v) {
			if (!v->gone && dentry_gone(d->k.dentry))
				v->gone = gone_send(v->key);
			d->wanted = v->wanted;
			d->names = v->names;
			return v->key;
		}
	}
	n.epoch = epochs.names;
	n.key = __sync_fetch_and_add(&next_file, 1);
	n.gone = dentry_gone(d->k.dentry);
	sent = file_send(d, n.key);
	d->unsent = !sent;
	if (!sent)
		return n.key;
	n.names = d->names;
	n.wanted = sent - 1;
	bpf_map_update_elem(&files, &k, &n, BPF_ANY);
	return n.key;
}

/* Sends the addresses of a socket. */
verified_alone int sock_send(__u64 file, __u64 key);

/* Not among the thread's last files: looks it up in the map and remembers it. */
verified_alone int file_miss(struct thread_state *ts, __u64 file, __u32 hint)
{
	struct file_ident *d;
	struct last_file *l;

	if (!ts)
		return 0;
	l = &ts->last[hint & (LAST_FILES - 1)];
	d = &ts->ident;
	/* Saved before anything is read, and stored immediately, as the stack is small. */
	l->file = 0;
	l->epochs = epochs.both;
	l->creates = create_epoch;
	ident_fill(d, (__u64)kread(struct file, file, f_inode),
		   (__u64)kread(struct file, file, f_path.dentry),
		   (__u64)kread(struct file, file, f_path.mnt));
	d->thread = ts->version;
	l->key = file_version(d);
	l->file = d->unsent ? 0 : file;
	l->inode = d->inode;
	l->dentry = d->k.dentry;
	l->mnt = d->k.mnt;
	l->ino = d->k.ino;
	l->generation = d->k.generation;
	l->kind = (d->wanted & FILTER_WANTED_SELECTED ? FILE_WANTED : 0) |
		  (__u32)d->wanted << KIND_WANTED_SHIFT;
	if ((d->mode & INODE_IFMT) == INODE_IFREG || (d->mode & INODE_IFMT) == INODE_IFBLK)
		l->kind |= FILE_SEEKABLE;
	if (d->magic == MAGIC_SOCKFS)
		l->kind |= FILE_SOCKET;
	if (d->magic == MAGIC_SOCKFS && d->fresh)
		sock_send(file, l->key);
	return 0;
}

/* The struct file of a descriptor, 0 if it is not open. */
static __always_inline __u64 fd_file(struct files_struct *files_, int fd)
{
	struct fdtable *fdt;

	if (!files_)
		return 0;
	fdt = files_->fdt;
	if (!fdt || ((__u32)fd >= FDS_LEAST && (__u32)fd >= fdt->max_fds))
		return 0;
	return kread_ptr((__u64)fdt->fd + 8 * (__u64)(__u32)fd);
}

/* The same for the current task, as a function, to avoid further verification. */
verified_alone __u64 fd_file_apart(int fd)
{
	return fd_file(tread(struct task_struct, bpf_get_current_task_btf(), files), fd);
}

/*
 * Whether a look-up made at the epochs `seen` is still valid: no name changed since, and if only other files were
 * unlinked, this one was not.
 */
static __always_inline bool names_hold(__u64 *seen, __u64 dentry)
{
	union wire_epochs now = {.both = epochs.both};

	if (likely(*seen == now.both))
		return true;
	if ((__u32)*seen != now.names || dentry_gone(dentry))
		return false;
	*seen = now.both;
	return true;
}

static __always_inline bool last_holds(struct last_file *l, __u64 file)
{
	struct file *f = kcast(struct file, file);
	struct inode *inode;

	if (l->file != file || !names_hold(&l->epochs, l->dentry))
		return false;
	inode = kfield(f, f_inode);
	if (l->inode != (__u64)inode || l->ino != kfield(inode, i_ino) ||
	    l->generation != kfield(inode, i_generation) ||
	    l->dentry != (__u64)kfield(f, f_path.dentry) || l->mnt != (__u64)kfield(f, f_path.mnt))
		return false;
	return l->generation || l->creates == create_epoch;
}

/* The entry that describes an open file. */
static __always_inline struct last_file *file_of(struct thread_state *ts, __u64 file, __u32 hint)
{
	struct last_file *l = &ts->last[hint & (LAST_FILES - 1)];

	if (!last_holds(l, file))
		file_miss(ts, file, hint);
	return l;
}

/* root_of() the current thread. */
static __always_inline __u64 root_key(struct thread_state *ts)
{
	if (unlikely(ts->root_epoch != epochs.names)) {
		ts->root_epoch = epochs.names;
		ts->root = root_of(tread(struct task_struct, bpf_get_current_task_btf(), fs));
	}
	return ts->root;
}

/* The file number of the working directory. */
verified_alone __u64 cwd_key(struct thread_state *ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_struct *fs = tread(struct task_struct, task, fs);
	__u64 dentry, mnt, inode, root, now;
	struct last_file *l;

	if (!fs || !ts)
		return 0;
	l = &ts->cwd;
	dentry = (__u64)tread(struct fs_struct, fs, pwd.dentry);
	mnt = (__u64)tread(struct fs_struct, fs, pwd.mnt);
	inode = (__u64)kread(struct dentry, dentry, d_inode);
	root = root_key(ts);
	now = epochs.both;
	if (l->dentry == dentry && l->mnt == mnt && l->inode == inode && l->root == root) {
		if (names_hold(&l->epochs, dentry))
			return l->key;
		ts->ident.k.dentry = dentry;
		ts->ident.k.mnt = mnt;
		if (l->names && !dentry_gone(dentry) && names_sum(&ts->ident) == l->names) {
			l->epochs = now;
			return l->key;
		}
	}
	l->epochs = now;
	ident_fill(&ts->ident, inode, dentry, mnt);
	ts->ident.thread = ts->version;
	l->key = file_version(&ts->ident);
	l->dentry = ts->ident.unsent ? 0 : dentry;
	l->inode = inode;
	l->names = ts->ident.names;
	l->mnt = mnt;
	l->root = root;
	return l->key;
}

/* An open created this file: if its inode has no generation, the number counts as reused. */
verified_alone int file_created(__u64 file)
{
	__u64 inode = (__u64)kread(struct file, file, f_inode);
	struct inode_key ik = {};
	__u32 one = 1, *n;

	if (!(kread(struct file, file, f_mode) & created_bit) ||
	    kread(struct inode, inode, i_generation))
		return 0;
	ik.ino = kread(struct inode, inode, i_ino);
	ik.dev = BPF_CORE_READ((struct inode *)inode, i_sb, s_dev);
	n = bpf_map_lookup_elem(&reuses, &ik);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&reuses, &ik, &one, BPF_ANY);
	__sync_fetch_and_add(&create_epoch, 1);
	return 0;
}
