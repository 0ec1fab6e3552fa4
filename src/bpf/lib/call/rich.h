/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rich.h: calls that do not fit into 80 bytes: paths, addresses, vectors, second descriptors. User memory is read at
 * exit: 0.05-1.3 % of path strings are not resident at enter; at exit, all of 12,500 were.
 */
#pragma once

#include "bpf/lib/call/several.h"
#include "bpf/lib/call/vector.h"

#define AT_CWD_BEFORE (-101) /* the working directory at enter */
#define NO_FOLDER     (-1)
#define EFAULT	      14
#define F_SETLK	      6
#define F_SETLKW      7
#define F_OFD_SETLK   37
#define F_OFD_SETLKW  38
#define SEEK_SET      0
#define SEEK_CUR      1
#define MSGS_MAX      1024
#define MSG_PARTS_MAX \
	4096 /* for all messages of a call: there may be a million, and no other thread runs meanwhile */

/* The fixed beginning of a rich record; names follow. */
struct rich {
	struct wire_op op;
	__u64 args[WIRE_ARGS];
	struct wire_second second;
	struct wire_name name;
	__u8 bytes[];
};

static long message_step(__u32 i, struct vector_ctx *v)
{
	__u64 at = v->at + i * sizeof(struct mmsg);
	struct iov vector; /* iov and iovlen of the message */
	__u64 size;
	__u32 len;

	if (bpf_probe_read_user(&vector, sizeof(vector),
				(void *)(at + __builtin_offsetof(struct msg, iov))) ||
	    bpf_probe_read_user(&len, sizeof(len),
				(void *)(at + __builtin_offsetof(struct mmsg, len)))) {
		v->unread = 1;
		return 1;
	}
	v->s->count += 1 + (vector.len < IOV_MAX ? vector.len : IOV_MAX);
	size = v->s->count > MSG_PARTS_MAX ? WIRE_SIZE_UNKNOWN
					   : vector_sum(vector.base, vector.len);
	if (size == WIRE_SIZE_UNKNOWN)
		v->unread = 1;
	v->sum += size;
	if (i < v->done)
		v->moved += v->trunc && len > size ? size : len;
	return 0;
}

/* Reads a path argument with its head to data[at]; returns the padded length. */
verified_alone __u32 path_read(struct scratch *s, __u32 at, __u64 user)
{
	struct wire_name *n;
	struct rich *r;
	long len;

	if (!s || at > sizeof(struct rich) + WIRE_PATH_MAX)
		return 0;
	r = (struct rich *)s->data;
	n = (struct wire_name *)(s->data + at);
	n->error = 0;
	len = bpf_probe_read_user_str((__u8 *)n + sizeof(*n), WIRE_PATH_MAX, (void *)user);
	if (len <= 0) { /* 6.1 returns 0 for an empty string */
		n->len = 0;
		n->error = user && len < 0 ? 1 : 0;
		if (n->error) {
			r->op.status |= STATUS_ARG_UNREAD;
			if (r->op.ret != -EFAULT) /* else the kernel could not read it either */
				cpu_count(unread);
		}
		return 0;
	}
	n->len = (len - 1) & (WIRE_PATH_MAX - 1);
	return (n->len + 7) & ~7u;
}

/* The folder at which a relative path starts. */
static __always_inline __u64 base_key(struct thread_state *ts, int dirfd)
{
	__u64 file;

	if (!ts)
		return 0;
	if (dirfd == AT_CWD)
		return cwd_key(ts);
	file = fd_file_apart(dirfd);
	return file ? file_of(ts, file, dirfd)->key : 0;
}

verified_alone int addr_read(struct scratch *s, __u64 user, __u32 len)
{
	struct rich *r;

	if (!s)
		return 0;
	r = (struct rich *)s->data;
	r->name.base = 0;
	r->name.root = 0;
	r->name.error = 0;
	if (len > WIRE_ADDR_MAX)
		len = WIRE_ADDR_MAX;
	if (!user || !len || bpf_probe_read_user(r->bytes, len, (void *)user)) {
		r->name.len = 0;
		if (user && len) {
			r->op.status |= STATUS_ARG_UNREAD;
			if (r->op.ret != -EFAULT) /* else the kernel could not read it either */
				cpu_count(unread);
		}
		return 0;
	}
	r->name.len = len;
	r->op.head.parts |= WIRE_PART_ADDR;
	return 0;
}

/*
 * An address returned by the kernel: `len` bytes if the buffer was large enough. Bytes beyond the buffer are stale, and
 * a truncated address is not usable.
 */
verified_alone int addr_given(struct scratch *s, struct thread_state *ts, __u64 user, __u32 len)
{
	struct rich *r;

	if (!s || !ts || !user || !len)
		return 0;
	r = (struct rich *)s->data;
	if (len <= ts->call.room && ts->call.room != ROOM_UNREAD)
		return addr_read(s, user, len);
	if (ts->call.room == ROOM_UNREAD)
		cpu_count(unread);
	r->op.status |= STATUS_ARG_UNREAD;
	return 0;
}

/* Each step takes the scratch buffer, so that it can be verified separately. */

/* The number of the file behind a descriptor that a call returned, possibly its second one. */
static __always_inline __u64 file_returned(struct thread_state *ts, __u64 file, int fd, bool second)
{
	struct last_file *l = file_of(ts, file, fd);

	ts->call.kind |= second ? l->kind & FILE_WANTED : l->kind;
	if (!second)
		ts->call.op.file = l->key;
	return l->key;
}

/* The size of a regular file that was opened, else WIRE_NONE. */
static __always_inline __s64 size_opened(__u64 file)
{
	__u64 inode = (__u64)kread(struct file, file, f_inode);

	return (kread(struct inode, inode, i_mode) & INODE_IFMT) == INODE_IFREG
		       ? kread(struct inode, inode, i_size)
		       : WIRE_NONE;
}

verified_alone int rich_descriptors(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
				    __s64 ret)
{
	struct rich *r;
	__s32 pair[2];
	__u64 file;

	if (!s || !ts || !p || ret < 0)
		return 0;
	r = (struct rich *)s->data;
	if (p->ret == RET_FD) {
		file = fd_file_apart(ret);
		if (p->fd >= 0) {
			r->second.fd = ret;
			r->second.file = file ? file_returned(ts, file, ret, true) : 0;
		} else {
			r->op.fd = ret;
			r->op.file = file ? file_returned(ts, file, ret, false) : 0;
			if (file && (p->flags & WIRE_PLAN_OPEN))
				r->second.pos = size_opened(file);
		}
	}
	if (p->fdpair >= 0 &&
	    !bpf_probe_read_user(pair, sizeof(pair), (void *)arg(&ts->call, p->fdpair))) {
		r->op.fd = pair[0];
		r->second.fd = pair[1];
		file = fd_file_apart(pair[1]);
		r->second.file = file ? file_returned(ts, file, pair[1], true) : 0;
		file = fd_file_apart(pair[0]);
		r->op.file = file ? file_returned(ts, file, pair[0], false) : 0;
	}
	return 0;
}

/* A position behind a pointer, or the file's own if that is NULL. `which` 1: of the second file. */
verified_alone __s64 pos_pointed(struct thread_state *ts, int which, __u64 user, __s64 ret, int fd)
{
	struct call *c;
	__u64 file;
	__s64 pos;
	__u16 ignored = 0;

	if (!ts)
		return WIRE_NONE;
	c = &ts->call;
	if (user) {
		if (bpf_probe_read_user(&pos, sizeof(pos), (void *)user))
			return WIRE_NONE;
		return ret > 0 ? pos - ret : pos;
	}
	file = which ? c->file2 : c->file;
	if (!((which ? c->kind2 : c->kind) & FILE_SEEKABLE) || fd_file_apart(fd) != file)
		return WIRE_NONE;
	return pos_shared(c, file, which ? c->pos2 : c->pos, ret, &ignored);
}

verified_alone int rich_positions(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
				  __s64 ret)
{
	struct rich *r;
	struct call *c;

	if (!s || !ts || !p)
		return 0;
	r = (struct rich *)s->data;
	c = &ts->call;
	if (p->posp >= 0)
		r->op.pos = pos_pointed(ts, 0, arg(c, p->posp), ret, arg(c, p->fd));
	if (p->posp2 >= 0)
		r->second.pos = pos_pointed(ts, 1, arg(c, p->posp2), ret, arg(c, p->fd2));
	else if (p->pos2 >= 0)
		r->second.pos = arg(c, p->pos2);
	return 0;
}

/* The address in a message: for a send the receiver, for a receive the sender, if anything was received: otherwise it
 * is a stale one. */
verified_alone int msg_peer(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
			    __u64 name, __u32 len)
{
	struct rich *r;

	if (!s || !ts || !p)
		return 0;
	r = (struct rich *)s->data;
	if (!(p->flags & WIRE_PLAN_RECEIVES))
		return addr_read(s, name, len);
	return r->op.ret >= 0 ? addr_given(s, ts, name, len) : 0;
}

/* Sums all messages of sendmmsg and recvmmsg; takes the first one's address. */
verified_alone int messages_sum(struct scratch *s, struct thread_state *ts, struct wire_plan *p)
{
	struct vector_ctx v = {.s = s};
	struct rich *r;
	struct msg *first;
	__u32 count, len;
	__u64 name;

	if (!s || !ts || !p)
		return 0;
	r = (struct rich *)s->data;
	v.at = arg(&ts->call, p->mmsg);
	count = arg(&ts->call, p->mmsg + 1);
	first = (struct msg *)v.at;
	/* MSG_PEEK leaves the data for a later call to move. */
	if (r->op.ret > 0 && !((p->flags & WIRE_PLAN_RECEIVES) && (r->op.flags & MSG_PEEK)))
		v.done = r->op.ret;
	if (!bpf_probe_read_user(&name, sizeof(name), &first->name) &&
	    !bpf_probe_read_user(&len, sizeof(len), &first->namelen))
		msg_peer(s, ts, p, name, len);
	v.trunc = (p->flags & WIRE_PLAN_RECEIVES) && (r->op.flags & MSG_TRUNC);
	s->count = 0;
	bpf_loop(count > MSGS_MAX ? MSGS_MAX : count, message_step, &v, 0);
	r->op.size = v.unread ? WIRE_SIZE_UNKNOWN : v.sum;
	r->second.pos = v.unread && v.trunc && v.done ? WIRE_NONE : (__s64)v.moved;
	return 0;
}

verified_alone int rich_sizes(struct scratch *s, struct thread_state *ts, struct wire_plan *p)
{
	struct rich *r;
	struct call *c;
	struct msg m;
	__u64 how[3];

	if (!s || !ts || !p)
		return 0;
	r = (struct rich *)s->data;
	c = &ts->call;
	if (p->iov >= 0)
		r->op.size = vector_sum(arg(c, p->iov), arg(c, p->iovcnt));
	if (p->msg >= 0)
		r->op.size = WIRE_SIZE_UNKNOWN;
	if (p->msg >= 0 && !bpf_probe_read_user(&m, sizeof(m), (void *)arg(c, p->msg))) {
		r->op.size = vector_sum(m.iov, m.iovlen);
		msg_peer(s, ts, p, m.name, m.namelen);
	}
	if (p->mmsg >= 0)
		messages_sum(s, ts, p);
	/* If the call failed, the kernel could not read it either, or would not. */
	if ((p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0) && r->op.size == WIRE_SIZE_UNKNOWN &&
	    r->op.ret >= 0) {
		r->op.status |= STATUS_ARG_UNREAD;
		cpu_count(unread);
	}
	if (p->how >= 0 && !bpf_probe_read_user(how, sizeof(how), (void *)arg(c, p->how))) {
		r->op.flags = how[0];
		r->args[4] = how[1]; /* openat2 has four arguments: mode, resolve use free slots */
		r->args[5] = how[2];
	}
	return 0;
}

/* struct flock of 64-bit programs. */
struct lock_range {
	__s16 type, whence;
	__s64 start, len;
};

/* The range that fcntl locks or unlocks; size 0 means up to the largest position. */
verified_alone int rich_lock(struct scratch *s, struct thread_state *ts)
{
	__u32 command;
	struct lock_range l;
	struct rich *r;
	struct call *c;

	if (!s || !ts)
		return 0;
	r = (struct rich *)s->data;
	c = &ts->call;
	command = arg(c, 1);
	if (command != F_SETLK && command != F_SETLKW && command != F_OFD_SETLK &&
	    command != F_OFD_SETLKW)
		return 0;
	if (bpf_probe_read_user(&l, sizeof(l), (void *)arg(c, 2))) {
		r->op.status |= STATUS_ARG_UNREAD;
		if (r->op.ret != -EFAULT) /* else the kernel could not read it either */
			cpu_count(unread);
		return 0;
	}
	if (l.whence != SEEK_SET &&
	    (!(c->kind & FILE_SEEKABLE) || fd_file_apart(c->op.fd) != c->file))
		return 0;
	if (l.whence == SEEK_CUR)
		l.start += c->pos;
	else if (l.whence != SEEK_SET)
		l.start += pos_append(c->file, 0);
	if (l.len < 0) {
		l.start += l.len;
		l.len = -l.len;
	}
	r->op.pos = l.start;
	r->op.size = l.len;
	r->op.flags = l.type;
	return 0;
}

verified_alone int rich_address(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
				__s64 ret)
{
	struct call *c;
	__u32 len = 0;

	if (!s || !ts || !p)
		return 0;
	c = &ts->call;
	if (p->addr >= 0)
		addr_read(s, arg(c, p->addr), p->addrlen >= 0 ? arg(c, p->addrlen) : WIRE_ADDR_MAX);
	if (p->addrout >= 0 && ret >= 0 && arg(c, p->addrout) &&
	    !bpf_probe_read_user(&len, sizeof(len), (void *)arg(c, p->addrout + 1)))
		addr_given(s, ts, arg(c, p->addrout), len);
	return 0;
}

/* Writes a path and its start folder to data[at]; returns the padded length. */
verified_alone __u32 rich_path(struct scratch *s, struct thread_state *ts, __u32 at, __u64 user,
			       int dirfd)
{
	struct wire_name *n;
	__u32 len;

	if (!s || at > sizeof(struct rich) + WIRE_PATH_MAX)
		return 0;
	len = path_read(s, at, user);
	n = (struct wire_name *)(s->data + at);
	n->base = 0;
	n->root = ts ? root_key(ts) : 0;
	if (s->data[at + sizeof(*n)] != '/' || !n->len)
		n->base = dirfd == AT_CWD_BEFORE && ts ? ts->call.base : base_key(ts, dirfd);
	return len;
}

/* Writes path arguments; returns the bytes added to the record's fixed beginning. */
static __always_inline __u32 rich_paths(struct scratch *s, struct thread_state *ts,
					struct wire_plan *p)
{
	struct call *c = &ts->call;
	struct rich *r = (struct rich *)s->data;
	__u32 at = __builtin_offsetof(struct rich, name), from = at;
	int cwd = p->flags & WIRE_PLAN_CHDIR ? AT_CWD_BEFORE : AT_CWD;
	/* Also for fanotify_mark, whose first descriptor is not a folder. */
	__s8 dirfd = p->dirfd >= 0 || p->path2 >= 0 ? p->dirfd : p->dirfd2;

	if (p->path >= 0) {
		at += sizeof(struct wire_name) + (rich_path(s, ts, at, arg(c, p->path),
							    dirfd >= 0 ? (int)arg(c, dirfd) : cwd) &
						  0x1fff);
		r->op.head.parts |= WIRE_PART_PATH;
	}
	if (p->path2 >= 0) {
		at += sizeof(struct wire_name) +
		      (rich_path(s, ts, at, arg(c, p->path2),
				 p->flags & WIRE_PLAN_TARGET ? NO_FOLDER
				 : p->dirfd2 >= 0	     ? (int)arg(c, p->dirfd2)
							     : AT_CWD) &
		       0x1fff);
		r->op.head.parts |= WIRE_PART_PATH2;
	}
	return at - from;
}

/* For a successful open, which has no second file: the folder of the descriptor at which its path starts. Not set for
 * the working directory or an absolute path. */
verified_alone int open_folder(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
			       __s64 ret)
{
	char first;
	int fd;

	if (!s || !ts || !p || !(p->flags & WIRE_PLAN_OPEN) || ret < 0 || p->dirfd < 0)
		return 0;
	fd = arg(&ts->call, p->dirfd);
	if (fd != AT_CWD &&
	    !bpf_probe_read_user(&first, sizeof(first), (void *)arg(&ts->call, p->path)) &&
	    first != '/')
		((struct rich *)s->data)->second.file = base_key(ts, fd);
	return 0;
}

/*
 * Whether every file of a call is already known: it has no path argument, or opened what it names, and away_add() does
 * not look for its descriptor.
 */
static __always_inline bool rich_files_known(struct wire_plan *p, __s64 ret)
{
	if ((p->flags & WIRE_PLAN_EXEC) || waits_on_one(p))
		return false;
	return (p->path < 0 && p->path2 < 0) || ((p->flags & WIRE_PLAN_OPEN) && ret >= 0);
}

/* A call that changes its socket's address, recorded or not: later calls show the new one. */
verified_alone int sock_changed(struct thread_state *ts, struct wire_plan *p)
{
	if (!ts || !p)
		return 0;
	if ((ts->call.kind & FILE_SOCKET) && fd_file_apart(arg(&ts->call, p->fd)) == ts->call.file)
		sock_send(ts->call.file, ts->call.op.file);
	return 0;
}

/* Evaluates the filter again if it tests the path of a file that is known only now. */
verified_alone int rich_passes(struct thread_state *ts, struct wire_plan *p, __s64 ret, __u64 end)
{
	int passes;

	if (!ts || !p)
		return 1;
	ts->returned = 1;
	passes = call_passes(ts, p, ret, end);
	ts->returned = 0;
	return passes;
}

/* Fills in what is known without reading user memory. */
verified_alone int rich_begin(struct scratch *s, struct thread_state *ts, struct wire_plan *p,
			      __s64 ret, __u64 end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *c;
	struct rich *r;
	__s64 pos;

	if (!s || !ts || !p)
		return 0;
	r = (struct rich *)s->data;
	c = &ts->call;
	if (is_restart(ret))
		c->op.status |= STATUS_INTERRUPTED;
	pos = p->flags & WIRE_PLAN_MAPPED ? c->pos : call_pos(task, c, p, ret, &c->op.status);
	op_fill(&r->op, ts, ret, end, pos, c->op.status);
	r->op.head.parts = WIRE_PART_ARGS | WIRE_PART_SECOND;
	__builtin_memcpy(r->args, c->args, sizeof(r->args));
	r->second.file = p->flags & WIRE_PLAN_RICH ? c->key2 : 0; /* else of an earlier call */
	r->second.pos = WIRE_NONE;
	r->second.fd = p->fd2 >= 0	? (__s32)arg(c, p->fd2)
		       : p->dirfd2 >= 0 ? (__s32)arg(c, p->dirfd2)
					: -1;
	r->second.pad = 0;
	return 0;
}

/* `held`: how long the thread was delayed by back-pressure. */
verified_alone int rich_send(struct thread_state *ts, struct wire_plan *p, __s64 ret, __u64 end,
			     __u64 held)
{
	struct scratch *s;
	struct rich *r;
	struct call *c;
	__u32 len = 0;
	int sent;

	if (!ts || !p)
		return 0;
	if (!(p->flags & WIRE_PLAN_RECORD) && !call_has_fate(ts, p, ret)) {
		call_uncount(ts);
		return 0;
	}
	s = scratch_get();
	c = &ts->call;
	if (!s) {
		marker_lost(ts, p, ret);
		cpu_count_at(c->kind & CALL_LEFT_OUT ? CPU_COUNTER(fates) : CPU_COUNTER(scratch));
		return 0;
	}
	r = (struct rich *)s->data;
	rich_begin(s, ts, p, ret, end);
	if (p->ret == RET_FD || p->fdpair >= 0)
		rich_descriptors(s, ts, p, ret);
	if ((select_paths && !(c->kind & FILE_WANTED) && rich_files_known(p, ret)) ||
	    ((filter.fields & 1 << FILTER_PATH) && returns_file(p) &&
	     !rich_passes(ts, p, ret, end) && !call_has_fate(ts, p, ret))) {
		scratch_put(s);
		call_leave_out(ts);
		return 0;
	}
	if (p->posp >= 0 || p->posp2 >= 0 || p->pos2 >= 0)
		rich_positions(s, ts, p, ret);
	if (p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0 || p->how >= 0)
		rich_sizes(s, ts, p);
	if (p->flags & WIRE_PLAN_LOCKS)
		rich_lock(s, ts);
	if (p->addr >= 0 || p->addrout >= 0)
		rich_address(s, ts, p, ret);
	if (p->flags & WIRE_PLAN_EXEC && ret >= 0)
		r->op.file = ts->exe;
	else if (!((p->flags & WIRE_PLAN_OPEN) && ret >= 0))
		len = rich_paths(s, ts, p);
	if (r->op.head.parts & WIRE_PART_ADDR)
		len = sizeof(struct wire_name) + ((r->name.len + 7) & 0xf8);
	if (p->flags & WIRE_PLAN_SOCK)
		sock_changed(ts, p);
	if (c->kind & CALL_LEFT_OUT)
		r->op.head.type = WIRE_FATE;
	open_folder(s, ts, p, ret);
	len = (__builtin_offsetof(struct rich, name) + (len & 0x3fff)) & ~7u;
	barrier_var(len); /* check and use one value: 6.1 does not see that they are equal */
	if (c->kind & (CALL_AWAY | CALL_PHASED))
		len = away_add(s, ts, p, ret, len);
	if (held && len <= 256 + WIRE_WALK_MAX) {
		*(__u64 *)(s->data + len) = held;
		r->op.head.parts |= WIRE_PART_HELD;
		len += sizeof(held);
	}
	sent = ring_send(s, len);
	scratch_put(s);
	if (!sent)
		marker_lost(ts, p, ret);
	if (!sent && (c->kind & CALL_LEFT_OUT))
		cpu_count(fates);
	else if (!sent)
		call_lost();
	return 0;
}
