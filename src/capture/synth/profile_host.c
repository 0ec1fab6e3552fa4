/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_host.c: streams like those of fio, of a web server, and of a walk through folders.
 *
 * fio is fitted as described in profile_store.c: `fio --rw=randrw --rwmixread=70 --bs=4k --ioengine=psync --fsync=128`
 * on two cached files, 105,000 calls. The web server and the walk follow the order of calls that nginx and find make;
 * their durations are those of the same kinds of calls in the other recordings, not recordings of their own.
 */
#include "capture/synth/stream.h"

#include <stdio.h>

/* ---- fio: 4 KiB at random, 70 % reads, a file per job ---- */

static const struct dist fio_think = {{362, 1010, 1339, 2312, 10147, 220000, 900000}};
static const struct dist fio_read = {{642, 50961, 74050, 123072, 2896645, 5482623, 13859934}};
static const struct dist fio_write = {{1367, 2273, 2929, 6056, 14284, 52860, 4031163}};
static const struct dist fio_fsync = {
	{30209, 138740, 2235304, 6047199, 10923718, 60000000, 165522375}};
#define FIO_FILE_BLOCKS 16384
#define FIO_BLOCK	4096
#define FIO_SYNC_EVERY	128

static void fio_job(struct stream *s, struct actor *a)
{
	bool read = rng_chance(&a->rng, 700);

	if (++a->count % FIO_SYNC_EVERY == 0) {
		act_begin(a, CALL_FSYNC, CLASS_SYNC, 1500);
		act_file(a, 0);
		act_end(a, rng_dist(&a->rng, &fio_fsync), 0);
		return;
	}
	act_begin(a, read ? CALL_PREAD64 : CALL_PWRITE64, CLASS_DATA,
		  rng_dist(&a->rng, &fio_think));
	act_file(a, 0);
	act_set(a, OP_SIZE, FIO_BLOCK);
	act_set(a, OP_POS, (int64_t)rng_below(&a->rng, FIO_FILE_BLOCKS) * FIO_BLOCK);
	act_set(a, OP_BYTES, FIO_BLOCK);
	act_end(a, rng_dist(&a->rng, read ? &fio_read : &fio_write), FIO_BLOCK);
}

void profile_fio(struct stream *s)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct actor *a = stream_process(s, "fio", "fio job.fio", fio_job);
		char path[32];

		if (!a)
			return;
		snprintf(path, sizeof(path), "/mnt/fio/job.%u.0", i);
		a->files[0] = stream_file(s, &(struct synth_file){.type = FILE_TYPE_REGULAR,
								  .fs = "ext4",
								  .path = path});
		a->fds[0] = 5;
	}
}

/* ---- network: accept, read the request, open and send a file, close ---- */

static const struct dist net_think = {{400, 900, 1700, 4200, 16000, 60000, 400000}};
static const struct dist net_accept = {{1900, 3100, 4400, 7800, 19000, 60000, 300000}};
static const struct dist net_recv = {{500, 900, 1500, 2900, 8000, 30000, 400000}};
static const struct dist net_send = {{2500, 5200, 8900, 21000, 72000, 250000, 4000000}};
static const struct dist net_meta = {{500, 900, 1600, 4100, 12000, 40000, 300000}};
static const struct dist net_poll = {{500, 2000, 21000, 140000, 900000, 4000000, 12000000}};
static const struct dist net_bytes = {{90, 400, 3200, 41000, 300000, 1500000, 8000000}};

enum {
	NET_POLL,
	NET_ACCEPT,
	NET_RECV,
	NET_OPEN,
	NET_FSTAT,
	NET_HEAD,
	NET_BODY,
	NET_CLOSE_FILE,
	NET_CLOSE
};
enum { NET_LISTEN, NET_EPOLL, NET_CONN, NET_FILE0 };
#define NET_FILES   48
#define NET_MISSING 0 /* a page that does not exist */

static void net_page_call(struct actor *a, enum call call, unsigned int page, int64_t dur)
{
	bool missing = page == NET_MISSING;

	act_begin(a, call, CLASS_META, rng_dist(&a->rng, &net_think));
	if (missing)
		act_set(a, OP_FILE_ID, a->files[NET_FILE0]);
	else
		act_file(a, NET_FILE0 + page);
	if (call == CALL_OPENAT)
		act_set(a, OP_FLAGS, 04000);
	act_end(a, dur, missing ? -2 : call == CALL_OPENAT ? 14 : 0);
}

static void net_accept_call(struct stream *s, struct actor *a)
{
	char peer[48];

	snprintf(peer, sizeof(peer), "10.1.%u.%u:%u", (unsigned int)rng_below(&a->rng, 4),
		 (unsigned int)rng_below(&a->rng, 250) + 1,
		 32768 + (unsigned int)rng_below(&a->rng, 28000));
	a->files[NET_CONN] = stream_file(s, &(struct synth_file){.type = FILE_TYPE_SOCKET,
								 .fs = "sockfs",
								 .family = 2,
								 .local = "10.1.0.1:80",
								 .peer = peer});
	a->fds[NET_CONN] = 12;
	act_begin(a, CALL_ACCEPT4, CLASS_NET, rng_dist(&a->rng, &net_think));
	act_file(a, NET_LISTEN);
	act_set(a, OP_FLAGS, 04000);
	act_set(a, OP_FD2, a->fds[NET_CONN]);
	act_set(a, OP_FILE2_ID, a->files[NET_CONN]);
	act_end(a, rng_dist(&a->rng, &net_accept), a->fds[NET_CONN]);
}

static void net_move(struct actor *a, enum call call, const struct dist *dur, int64_t size,
		     int64_t bytes)
{
	act_begin(a, call, CLASS_NET, rng_dist(&a->rng, &net_think));
	act_file(a, NET_CONN);
	act_set(a, OP_SIZE, size);
	act_set(a, OP_BYTES, bytes > 0 ? bytes : 0);
	if (call == CALL_SENDFILE) {
		act_set(a, OP_FD2, 14);
		act_set(a, OP_FILE2_ID, a->files[NET_FILE0 + a->count]);
		act_set(a, OP_POS2, 0);
	}
	act_end(a, rng_dist(&a->rng, dur), bytes);
}

static void net_poll_call(struct actor *a)
{
	act_begin(a, CALL_EPOLL_WAIT, CLASS_WAIT, rng_dist(&a->rng, &net_think));
	act_file(a, NET_EPOLL);
	act_end(a, rng_dist(&a->rng, &net_poll), 1);
}

static void net_worker(struct stream *s, struct actor *a)
{
	int64_t bytes;

	switch (a->state) {
	case NET_POLL:
		net_poll_call(a);
		break;
	case NET_ACCEPT:
		net_accept_call(s, a);
		break;
	case NET_RECV:
		a->count = (uint32_t)rng_below(&a->rng, NET_FILES);
		bytes = rng_chance(&a->rng, 40) ? -11 : 78 + (int64_t)rng_below(&a->rng, 500);
		net_move(a, CALL_RECVFROM, &net_recv, 1024, bytes);
		/* No request yet: try again. */
		if (bytes < 0)
			return;
		break;
	case NET_OPEN:
		net_page_call(a, CALL_OPENAT, a->count, 2000 + rng_dist(&a->rng, &net_meta));
		a->state = a->count == NET_MISSING ? NET_HEAD : NET_FSTAT;
		return;
	case NET_FSTAT:
		net_page_call(a, CALL_FSTAT, a->count, rng_dist(&a->rng, &net_meta));
		break;
	case NET_HEAD:
		net_move(a, CALL_WRITEV, &net_send, 238, 238);
		a->state = a->count == NET_MISSING ? NET_CLOSE : NET_BODY;
		return;
	case NET_BODY:
		bytes = rng_dist(&a->rng, &net_bytes);
		net_move(a, CALL_SENDFILE, &net_send, bytes, bytes);
		break;
	case NET_CLOSE_FILE:
		net_page_call(a, CALL_CLOSE, a->count, rng_dist(&a->rng, &net_meta));
		break;
	default:
		act_begin(a, CALL_CLOSE, CLASS_META, rng_dist(&a->rng, &net_think));
		act_file(a, NET_CONN);
		act_end(a, 1500 + rng_dist(&a->rng, &net_meta), 0);
		a->state = NET_POLL;
		return;
	}
	a->state++;
}

void profile_network(struct stream *s)
{
	struct actor *workers[2];
	char path[48];

	for (unsigned int i = 0; i < ARRAY_SIZE(workers); i++) {
		workers[i] = stream_process(s, "nginx", "nginx -g worker", net_worker);
		if (!workers[i])
			return;
		workers[i]->fds[NET_LISTEN] = 6;
		workers[i]->files[NET_LISTEN] =
			i ? workers[0]->files[NET_LISTEN]
			  : stream_file(s, &(struct synth_file){.type = FILE_TYPE_SOCKET,
								.fs = "sockfs",
								.family = 2,
								.local = "10.1.0.1:80"});
		workers[i]->fds[NET_EPOLL] = 8;
		workers[i]->files[NET_EPOLL] =
			stream_file(s, &(struct synth_file){.type = FILE_TYPE_ANON,
							    .fs = "anon_inodefs",
							    .path = "anon_inode:[eventpoll]"});
	}
	for (unsigned int i = 0; i < NET_FILES; i++) {
		bool missing = i == NET_MISSING;
		int64_t key;

		snprintf(path, sizeof(path),
			 missing ? "/var/www/favicon.ico" : "/var/www/page/%02u.html", i);
		key = stream_file(s, &(struct synth_file){.type = missing ? FILE_TYPE_UNKNOWN
									  : FILE_TYPE_REGULAR,
							  .fs = missing ? NULL : "ext4",
							  .path = path,
							  .name_only = missing});
		for (unsigned int k = 0; k < ARRAY_SIZE(workers); k++) {
			workers[k]->files[NET_FILE0 + i] = key;
			workers[k]->fds[NET_FILE0 + i] = 14;
		}
	}
}

/* ---- a walk through folders, as by find or a package manager ---- */

static const struct dist walk_think = {{500, 1100, 2300, 5200, 18000, 60000, 900000}};
static const struct dist walk_stat = {{500, 900, 1500, 3200, 11000, 60000, 700000}};
static const struct dist walk_dents = {{900, 2600, 6200, 21000, 80000, 300000, 3000000}};
#define WALK_ENTRIES 24

static int64_t walk_file(struct stream *s, uint32_t folder, unsigned int which)
{
	static const char *const names[] = {"", "/copyright", "/changelog.gz"};
	int64_t *key = &s->folders[folder][which];
	char path[64];

	if (!*key) {
		snprintf(path, sizeof(path), "/usr/share/doc/pkg%04u%s", folder, names[which]);
		*key = stream_file(s, &(struct synth_file){.type = which ? FILE_TYPE_REGULAR
									 : FILE_TYPE_DIRECTORY,
							   .fs = "ext4",
							   .path = path});
	}
	return *key;
}

/* For every folder: open, two getdents64, a stat of every entry (two files and other folders), close. */
static void walk_step(struct stream *s, struct actor *a)
{
	uint32_t folder;

	if (a->left == 0) {
		a->count = a->serial++ % SYNTH_FOLDERS;
		a->files[0] = walk_file(s, a->count, 0);
		a->fds[0] = 4;
		a->left = WALK_ENTRIES + 3;
		act_begin(a, CALL_OPENAT, CLASS_META, rng_dist(&a->rng, &walk_think));
		act_file(a, 0);
		act_set(a, OP_FLAGS, 02200000);
		act_end(a, 2500 + rng_dist(&a->rng, &walk_stat), 4);
	} else if (a->left == 1) {
		act_begin(a, CALL_CLOSE, CLASS_META, 700);
		act_file(a, 0);
		act_end(a, 300 + (int64_t)rng_below(&a->rng, 400), 0);
	} else if (a->left >= WALK_ENTRIES + 2) {
		bool last = a->left == WALK_ENTRIES + 2;

		act_begin(a, CALL_GETDENTS64, CLASS_META, rng_dist(&a->rng, &walk_think));
		act_file(a, 0);
		act_set(a, OP_SIZE, 32768);
		act_end(a, last ? 600 : rng_dist(&a->rng, &walk_dents), last ? 0 : 24 * 32);
	} else {
		folder = a->left % 12 < 2 ? a->count : (a->count + a->left) % SYNTH_FOLDERS;
		act_begin(a, CALL_NEWFSTATAT, CLASS_META, rng_dist(&a->rng, &walk_think));
		act_set(a, OP_FD, 4);
		act_set(a, OP_FILE_ID,
			walk_file(s, folder, a->left % 12 < 2 ? 1 + a->left % 12 : 0));
		act_set(a, OP_FLAGS, 0x100);
		act_end(a, rng_dist(&a->rng, &walk_stat), rng_chance(&a->rng, 5) ? -13 : 0);
	}
	a->left--;
}

void profile_walk(struct stream *s)
{
	stream_process(s, "find", "find /usr/share/doc -newer stamp", walk_step);
}
