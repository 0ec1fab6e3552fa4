/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/contexts/contexts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/load/load.h"
#include "capture/ebpf/contexts/otel_process.h"
#include "privilege/privilege.h"
#include "calls.skel.h"

#define PUBLISHERS_MAX 8192		     /* as in bpf/lib/state.h */
#define LOOK_NS	       (100 * NSEC_PER_MSEC) /* between two looks at a process */
#define LOOKS_MAX      20 /* at one that is being changed, or whose variable cannot be located */

struct publisher {
	int32_t pid;
	uint64_t start;
	uint64_t at, name; /* as announced; see struct announcement */
	int64_t announced; /* when, likewise */
	int64_t due;	   /* monotonic time of the next look; 0: none */
	int64_t looked;
	uint32_t looks;
	bool known;  /* passed to the kernel programs, with `tls` */
	bool missed; /* already counted */
	struct remote_tls tls;
	uint32_t service_len;
	char service[OTEL_SERVICE_MAX];
};

/* The context of a thread. */
struct carried {
	uint64_t start;
	uint64_t until; /* when it was last seen */
	uint64_t ids[3];
	uint64_t process; /* key in publishers */
	uint32_t flags;	  /* enum wire_context_flag at its start */
};

struct contexts {
	struct map publishers;	    /* hash of (pid, start) -> struct publisher * */
	struct map carried;	    /* thread -> struct carried * */
	struct otel_reader *reader; /* separate: a thread that does not end keeps it */
	size_t due_count;
	uint64_t unfound;
};

void contexts_free(struct contexts *c)
{
	if (!c)
		return;
	kept_free(&c->publishers);
	kept_free(&c->carried);
	if (c->reader && !__atomic_load_n(&c->reader->stuck, __ATOMIC_ACQUIRE))
		free(c->reader);
	free(c);
}

uint64_t contexts_unfound(const struct decode *d)
{
	uint64_t unread =
		d->opt.loaded ? d->opt.loaded->skel->data_calls_shared->contexts_unread : 0;

	return unread + (d->contexts ? d->contexts->unfound : 0);
}

/* ---- publishers ---- */

static void publisher_missed(struct contexts *c, struct publisher *p)
{
	c->unfound += !p->missed;
	p->missed = true;
}

static void publisher_due(struct contexts *c, struct publisher *p, int64_t due)
{
	c->due_count += (due != 0) - (p->due != 0);
	p->due = due;
}

/* Passes the location of the variable to the kernel programs. */
static void publisher_tell(struct decode *d, struct publisher *p, const struct remote_tls *tls)
{
	if (p->known && p->tls.module == tls->module && p->tls.offset == tls->offset)
		return;
	p->tls = *tls;
	p->known = d->opt.loaded &&
		   load_publish(d->opt.loaded, p->pid, p->start, tls->offset, tls->module) == 0;
	if (!p->known || tls->several)
		publisher_missed(d->contexts, p);
}

static void publisher_look(struct decode *d, struct publisher *p)
{
	_privileged_(PRIVILEGE_PROC);
	struct contexts *c = d->contexts;
	struct otel_process found;
	int r = otel_process_read(c->reader, p->pid, p->at, p->name, &found);

	p->looked = clock_monotonic_ns();
	publisher_due(c, p, 0);
	if (!r) {
		p->service_len = found.service_len;
		memcpy(p->service, found.service, found.service_len);
		r = found.own ? -ENODATA : found.threads;
	}
	if (!r)
		publisher_tell(d, p, &found.tls);
	else if ((r == -EAGAIN || r == -ENOENT) && ++p->looks < LOOKS_MAX)
		publisher_due(c, p, p->looked + LOOK_NS);
	else if (r != -ENODATA) /* -ENODATA: it publishes no contexts */
		publisher_missed(c, p);
}

void contexts_look(struct decode *d)
{
	uint64_t key, value;
	size_t pos = 0;
	int64_t now;

	if (!d->contexts || !d->contexts->due_count)
		return;
	now = clock_monotonic_ns();
	while (map_next(&d->contexts->publishers, &pos, &key, &value)) {
		struct publisher *p = (void *)(uintptr_t)value;

		if (p->due && p->due <= now)
			publisher_look(d, p);
	}
}

static int publisher_announced(struct decode *d, const struct announcement *a)
{
	uint64_t key = life_key(a->pid, a->process_start);
	struct contexts *c = d->contexts;
	struct publisher *p = kept_get(&c->publishers, key);
	int64_t now = clock_monotonic_ns();
	int r;

	if (!p) {
		if (c->publishers.count >= PUBLISHERS_MAX) {
			c->unfound++;
			return 0;
		}
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		r = map_set(&c->publishers, key, (uint64_t)(uintptr_t)p);
		if (r < 0) {
			free(p);
			return r;
		}
		p->pid = a->pid;
		p->start = a->process_start;
	}
	if (a->name && (p->known || (p->due && !p->name))) /* most likely another name */
		return 0;
	p->at = a->addr;
	p->name = a->name;
	p->announced = a->time;
	p->looks = 0;
	if (p->looked && p->looked + LOOK_NS > now) {
		publisher_due(c, p, p->looked + LOOK_NS);
		return 0;
	}
	publisher_look(d, p);
	return 0;
}

static void publisher_gone(struct decode *d, const struct announcement *a)
{
	uint64_t key = life_key(a->pid, a->process_start);
	struct publisher *p = kept_get(&d->contexts->publishers, key);

	if (!p)
		return;
	if (a->event == ANNOUNCE_EXEC && p->announced > a->time) {
		/* The new program announced itself before the turn of the exec, at which the kernel programs dropped
		 * the old location. */
		p->known = false;
		p->looks = 0;
		publisher_due(d->contexts, p, 1);
		return;
	}
	if (p->known)
		load_unpublish(d->opt.loaded, p->pid);
	/* It ended before it could be read; if it marks spans itself, only those are missing, and counted there. */
	if (p->due && !decode_announcer_has(d, WIRE_ANNOUNCE_SPAN, p->pid, p->start))
		publisher_missed(d->contexts, p);
	publisher_due(d->contexts, p, 0);
	map_del(&d->contexts->publishers, key);
	free(p);
}

int contexts_announced(struct decode *d, const struct announcement *a, struct batch_set *out)
{
	if (!d->contexts)
		d->contexts = calloc(1, sizeof(*d->contexts));
	if (d->contexts && !d->contexts->reader)
		d->contexts->reader = calloc(1, sizeof(*d->contexts->reader));
	if (!d->contexts || !d->contexts->reader)
		return -ENOMEM;
	if (a->event == ANNOUNCE_MADE)
		return publisher_announced(d, a);
	publisher_gone(d, a);
	return 0;
}

/* ---- the map of another instrumentation ---- */

int contexts_share(struct bpf_map *map, bool *ret_there)
{
	const char *mount = secure_getenv("OTEL_EBPF_BPF_FS_PATH"); /* as in OBI */
	_cleanup_close_ int fd = -1;
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	char path[PATH_MAX];

	*ret_there = false;
	snprintf(path, sizeof(path), "%s/" WIRE_OBI_MAP, mount ? mount : "/sys/fs/bpf");
	fd = bpf_obj_get(path);
	if (fd < 0)
		/* without permission it is treated as absent, as on most hosts */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (info.type != BPF_MAP_TYPE_LRU_HASH || info.key_size != sizeof(uint64_t) ||
	    info.value_size != sizeof(struct wire_obi_context))
		return -EINVAL;
	*ret_there = true;
	return bpf_map__reuse_fd(map, fd);
}

/* ---- rows ---- */

static void hex_text(char *to, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		snprintf(to + 2 * i, 3, "%02x", ((const uint8_t *)data)[i]);
}

static int context_row(struct decode *d, uint32_t thread, const struct carried *c, uint32_t flags,
		       struct batch_set *out)
{
	const struct publisher *p = kept_get(&d->contexts->publishers, c->process);
	char trace[33], span[17];
	struct batch_row row = batch_set_row(out, TABLE_CONTEXT);

	hex_text(trace, c->ids, 16);
	hex_text(span, &c->ids[2], 8);
	row_set(&row, CONTEXT_START, (int64_t)c->start + d->opt.clock_offset);
	row_set(&row, CONTEXT_DUR, (int64_t)(c->until - c->start));
	row_set(&row, CONTEXT_THREAD_ID, thread);
	row_set_bytes(&row, CONTEXT_TRACE_ID, trace, 32);
	row_set_bytes(&row, CONTEXT_SPAN_ID, span, 16);
	if (p && p->service_len)
		row_set_bytes(&row, CONTEXT_SERVICE, p->service, p->service_len);
	row_set(&row, CONTEXT_SOURCE,
		c->flags & WIRE_CONTEXT_OBI ? SPAN_SOURCE_OBI : SPAN_SOURCE_OTEL);
	row_set(&row, CONTEXT_UNSURE,
		((c->flags | flags) & WIRE_CONTEXT_LOOP) != 0 ||
			(c->flags & WIRE_CONTEXT_INHERITED) != 0);
	return row.r;
}

int contexts_end_of(struct decode *d, uint32_t thread, uint64_t until, uint32_t flags,
		    struct batch_set *out)
{
	struct carried *c = d->contexts ? kept_get(&d->contexts->carried, thread) : NULL;
	int r;

	if (!c)
		return 0;
	c->until = MAX(c->until, until);
	r = context_row(d, thread, c, flags, out);
	kept_forget(&d->contexts->carried, thread);
	return r;
}

/* Contexts of a process that marks its spans itself are redundant. */
static bool context_is_idle(const struct decode *d, const struct wire_context *w,
			    const struct wire_thread *t)
{
	return w->flags & WIRE_CONTEXT_OBI && t &&
	       decode_announcer_has(d, WIRE_ANNOUNCE_SPAN, t->tgid, t->process_start);
}

int decode_context(struct decode *d, const struct wire_context *w, struct batch_set *out)
{
	const struct wire_thread *t = kept_get(&d->thread_records, w->thread);
	struct carried *c;
	int r;

	if (w->head.size != sizeof(*w) || w->start > w->head.time || w->until > w->head.time)
		return -EBADMSG;
	if (!d->contexts && !(w->flags & WIRE_CONTEXT_OBI)) /* impossible without an announcement */
		return -EBADMSG;
	if (!d->contexts)
		d->contexts = calloc(1, sizeof(*d->contexts));
	if (!d->contexts)
		return -ENOMEM;
	r = contexts_end_of(d, w->thread, w->until, w->flags, out);
	if (r < 0 || !(w->ids[0] | w->ids[1] | w->ids[2]) || context_is_idle(d, w, t))
		return r;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct carried){.start = w->start,
			      .until = w->head.time,
			      .ids = {w->ids[0], w->ids[1], w->ids[2]},
			      .process = t ? life_key(t->tgid, t->process_start) : 0,
			      .flags = w->flags};
	r = map_set(&d->contexts->carried, w->thread, (uint64_t)(uintptr_t)c);
	if (r < 0)
		free(c);
	return r;
}

int contexts_end(struct decode *d, struct batch_set *out)
{
	uint64_t thread, value;
	size_t pos = 0;
	int r = 0;

	while (d->contexts && !r && map_next(&d->contexts->carried, &pos, &thread, &value))
		r = context_row(d, (uint32_t)thread, (void *)(uintptr_t)value, 0, out);
	return r;
}
