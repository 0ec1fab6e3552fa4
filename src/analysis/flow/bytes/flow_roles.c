// SPDX-License-Identifier: Apache-2.0
/*
 * flow_roles.c: whether a process forwards its input unchanged. Most programs transform their input: they sort it, edit
 * it, fill in templates. Differences between their input and output are their purpose. A difference is an error only if
 * the process otherwise passes on bytes as they came: for bytes from a socket, four times as often as not; for those
 * from files and pipes, which filters and editors also read, with four times as many of these files.
 */
#include <errno.h>

#include "base/array.h"

#include "analysis/flow/bytes/flow_verdicts.h"

#define ROLE_TIMES 4
/* bytes: within this distance one difference is an error, two are a program's work */
#define CROWD 4096

/* What one process does with bytes of files, pipes or sockets when it writes to files or streams. */
struct flow_role {
	uint64_t equal, differ;		  /* number of ranges */
	uint64_t edges;			  /* differences at the beginning or end of a call */
	uint64_t sources, sources_differ; /* number of files and pipes that are their source */
};

struct flow_roles {
	struct flow_role *all;
	size_t count, cap;
	struct map of;	    /* process and kind -> role */
	struct map sources; /* process, kind and spot -> 0; 1: has a difference */
};

void flow_roles_free(struct flow_verdicts *v)
{
	if (!v->roles)
		return;
	free(v->roles->all);
	map_free(&v->roles->of);
	map_free(&v->roles->sources);
	free(v->roles);
	v->roles = NULL;
}

bool flow_spot_local(const struct flow_verdicts *v, uint32_t spot)
{
	return (spot & FLOW_SPOT_FILE) || v->s->channels[spot].via == VIA_PIPE;
}

bool flow_spot_log(const struct flow_verdicts *v, int64_t process_id, uint32_t spot)
{
	uint64_t at;

	return (spot & FLOW_SPOT_FILE) && map_get(&v->stored_from, spot, &at) &&
	       v->stored.all[at].process_id == process_id &&
	       !flow_spot_local(v, v->stored.all[at].in_spot);
}

static bool role_is_local(const struct flow_verdicts *v, int64_t process_id, uint32_t spot)
{
	return flow_spot_local(v, spot) && !flow_spot_log(v, process_id, spot);
}

static uint64_t flow_role_key(const struct flow_verdicts *v, int64_t process_id, uint32_t in_spot,
			      uint32_t out_spot)
{
	bool pipe = flow_spot_local(v, in_spot) && !(in_spot & FLOW_SPOT_FILE);
	uint64_t kind = (uint64_t) !!(in_spot & FLOW_SPOT_FILE) << 3 |
			(uint64_t)role_is_local(v, process_id, in_spot) << 2 | (uint64_t)pipe << 1 |
			(uint64_t)flow_spot_messages(v, in_spot) << 4 |
			(uint64_t)flow_spot_messages(v, out_spot) << 5 |
			!(out_spot & FLOW_SPOT_FILE);

	return hash_u64((uint64_t)process_id) ^ kind;
}

static int role_count(struct flow_verdicts *v, int64_t process_id, uint32_t in_spot,
		      uint32_t out_spot, bool differs)
{
	struct flow_roles *roles = v->roles;
	uint64_t key = flow_role_key(v, process_id, in_spot, out_spot), before,
		 source = hash_u64(key ^ (uint64_t)in_spot << 4);
	struct flow_role *role =
		array_of_key(roles->all, roles->count, roles->cap, &roles->of, key, NULL);

	if (!role)
		return -ENOMEM;
	role->equal += !differs;
	role->differ += differs;
	if (!map_get(&roles->sources, source, &before)) {
		role->sources++;
		before = 0;
	} else if (!differs) {
		return 0;
	}
	role->sources_differ += differs && !before;
	return map_set(&roles->sources, source, differs);
}

/* Counts an edge for a role that has links, since an edge is next to one. */
static void role_edge(const struct flow_verdicts *v, const struct flow_link *d)
{
	uint64_t at;

	if (map_get(&v->roles->of, flow_role_key(v, d->process_id, d->in_spot, d->out_spot), &at))
		v->roles->all[at].edges++;
}

int flow_roles_make(struct flow_verdicts *v)
{
	const struct flow_links *l = &v->s->links;
	int r = 0;

	v->roles = calloc(1, sizeof(*v->roles));
	if (!v->roles)
		return -ENOMEM;
	for (size_t i = 0; i < l->link_count && r >= 0; i++)
		r = role_count(v, l->links[i].process_id, l->links[i].in_spot, l->links[i].out_spot,
			       false);
	for (size_t i = 0; i < l->difference_count && r >= 0; i++) {
		const struct flow_link *d = &l->differences[i];

		if (d->edge)
			role_edge(v, d);
		else if (!d->weak)
			r = role_count(v, d->process_id, d->in_spot, d->out_spot, true);
	}
	return r;
}

/* True if three quarters of the file are what was read from one file or pipe, each byte at the same distance from its source. */
static bool is_copy(const struct flow_verdicts *v, const struct flow_link *d)
{
	const struct flow_links *l = &v->s->links;
	const struct flow_object *o = &v->s->objects[d->out_spot & ~FLOW_SPOT_FILE];
	int64_t bytes = 0, apart = d->in_pos - d->out_pos;

	for (size_t i = flow_out_at(v, d->out_spot, 0); i < l->link_count; i++) {
		const struct flow_link *k = &l->links[v->by_out[i]];

		if (k->out_spot != d->out_spot)
			break;
		if (k->in_spot == d->in_spot && k->in_pos - k->out_pos == apart)
			bytes += k->bytes;
	}
	return bytes >= v->s->files[o->file].size / 4 * 3;
}

/* True if another difference is near: a record was rewritten. Headers that most of the calls have do not count. */
static bool is_crowded(const struct flow_verdicts *v, const struct flow_role *role,
		       const struct flow_link *d)
{
	bool heads = role->edges * 2 >= role->equal;
	const struct flow_link *all = v->s->links.differences,
			       *end = all + v->s->links.difference_count;
	const struct flow_link *const beside[] = {d > all ? d - 1 : d, d + 1 < end ? d + 1 : d};

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		int64_t apart = beside[i]->out_pos - d->out_pos;

		if (beside[i] != d && beside[i]->out == d->out && apart < CROWD && -apart < CROWD &&
		    !(heads && beside[i]->edge))
			return true;
	}
	return false;
}

bool flow_role_passes(const struct flow_verdicts *v, const struct flow_link *d)
{
	uint64_t at;
	const struct flow_role *role;

	if (d->weak ||
	    !map_get(&v->roles->of, flow_role_key(v, d->process_id, d->in_spot, d->out_spot), &at))
		return false;
	role = &v->roles->all[at];
	if (is_crowded(v, role, d) || role->equal < ROLE_TIMES * role->differ)
		return false;
	if (!role_is_local(v, d->process_id, d->in_spot))
		return true;
	return role->sources > role->sources_differ &&
	       role->sources - role->sources_differ >=
		       ROLE_TIMES * MAX(role->sources_differ, 1ul) &&
	       (!(d->out_spot & FLOW_SPOT_FILE) || is_copy(v, d));
}
