/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c: evaluates the shared options. */
#include "cli/options/shared.h"
#include "cli/options/hosts.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/when.h"
#include "engine/fetch.h"
#include "engine/spill.h"
#include "record/cgroups.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Rows fetched from an engine, kept until the process ends. */
static struct spill fetched = SPILL_NONE;
static char *fetched_name, *fetched_address;

#define ENGINE_THREADS_MAX 256

#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (1u << 30)

int user_find(const char *text, struct user *ret, struct error *err)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *entry = NULL;
	int64_t number = -1;
	bool is_number = parse_int(text, &number, NULL) == 0 && number >= 0 && number < UINT32_MAX;

	while (f && (entry = fgetpwent(f))) {
		if (is_number ? entry->pw_uid == (uid_t)number : strcmp(entry->pw_name, text) == 0)
			break;
	}
	if (!entry && !is_number) {
		if (f)
			fclose(f);
		return error_set(err, -EINVAL,
				 "no user '%s' in /etc/passwd; give a name or a number", text);
	}
	*ret = (struct user){.uid = entry ? entry->pw_uid : (uid_t)number,
			     .gid = entry ? entry->pw_gid : (gid_t)number};
	snprintf(ret->name, sizeof(ret->name), "%s", entry ? entry->pw_name : text);
	snprintf(ret->home, sizeof(ret->home), "%s", entry ? entry->pw_dir : "/");
	snprintf(ret->shell, sizeof(ret->shell), "%s", entry ? entry->pw_shell : "/bin/sh");
	if (f)
		fclose(f);
	return 0;
}

/* True for -t and -tt as strace has them: times on each line, which weir always prints. */
static bool is_strace_times(const char *text)
{
	return strcmp(text, "t") == 0 || strcmp(text, "tt") == 0;
}

static int add_id(const char *option, const char *word, int32_t *ids, size_t *count,
		  bool must_exist, struct error *err)
{
	char folder[64];
	int64_t id;

	if (parse_int(word, &id, NULL) < 0 || id <= 0 || id > INT32_MAX)
		return error_set(err, -EINVAL,
				 "%s: '%s' is not a %s id; to select by name use --comm NAME",
				 option, word, strcmp(option, "-t") ? "process" : "thread");
	snprintf(folder, sizeof(folder), "/proc/%d", (int)id);
	if (must_exist && access(folder, F_OK) < 0)
		return error_set(err, -ESRCH, "%s: no process %d, or it has exited", option,
				 (int)id);
	if (*count >= SELECT_LIST_MAX)
		return error_set(err, -E2BIG,
				 "%s: more than %d; select by --comm, --cgroup or -a instead",
				 option, SELECT_LIST_MAX);
	ids[(*count)++] = (int32_t)id;
	return 0;
}

/* Parses "12", "12,34", and "12 34" as pidof prints it, and appends to ids[0 .. *count). */
static int add_ids(const char *option, const char *text, int32_t *ids, size_t *count,
		   bool must_exist, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *piece;
	int r = 0;

	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	while (r == 0 && (piece = strsep(&rest, ","))) {
		if (!piece[strspn(piece, " \n")])
			return error_set(err, -EINVAL, "%s: an id is missing in '%s'", option,
					 text);
		for (char *word; r == 0 && (word = strsep(&piece, " \n"));)
			r = *word ? add_id(option, word, ids, count, must_exist, err) : 0;
	}
	return r;
}

static int list_room(const char *option, size_t count, struct error *err)
{
	if (count < SELECT_LIST_MAX)
		return 0;
	return error_set(err, -E2BIG, "%s: given more than %d times", option, SELECT_LIST_MAX);
}

static int add_comms(const struct option_list *list, struct select *s, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		int r = list_room("--comm", s->comm_count, err);

		if (r < 0)
			return r;
		/* the kernel keeps 15 bytes of a name, so a longer one matches names with that prefix */
		snprintf(s->comms[s->comm_count++], SELECT_COMM_MAX, "%s", list->items[i]);
	}
	return 0;
}

static int add_uids(const struct option_list *list, struct select *s, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct user user;
		int r = list_room("--uid", s->uid_count, err);

		if (r == 0 && user_find(list->items[i], &user, err) < 0)
			r = error_prefix(err, "--uid");
		if (r < 0)
			return r;
		s->uids[s->uid_count++] = user.uid;
	}
	return 0;
}

static int add_cgroups(const char *option, const struct option_list *list,
		       int (*find)(const char *text, char **ret, struct error *err),
		       struct select *s, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		int r = list_room(option, s->cgroup_count, err);

		if (r == 0 && find(list->items[i], &s->cgroups[s->cgroup_count], err) < 0)
			r = error_prefix(err, "%s", option);
		if (r < 0)
			return r;
		s->cgroup_count++;
	}
	return 0;
}

static int select_fill(const struct select_flags *f, bool live, struct select *s, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->pids.count; i++)
		r = add_ids("-p", f->pids.items[i], s->pids, &s->pid_count, live, err);
	for (size_t i = 0; r == 0 && i < f->tids.count; i++) {
		if (!is_strace_times(f->tids.items[i]))
			r = add_ids("-t", f->tids.items[i], s->tids, &s->tid_count, live, err);
	}
	if (r == 0)
		r = add_comms(&f->comms, s, err);
	if (r == 0)
		r = add_uids(&f->uids, s, err);
	/* For a stored trace, possibly of another host, nothing is looked up here: see conditions.h. */
	if (r == 0 && live)
		r = add_cgroups("--unit", &f->units, cgroup_of_unit, s, err);
	if (r == 0 && live)
		r = add_cgroups("--container", &f->containers, cgroup_of_container, s, err);
	if (r == 0 && live)
		r = add_cgroups("--cgroup", &f->cgroups, cgroup_of_path, s, err);
	for (size_t i = 0; r == 0 && i < f->ops.count; i++) {
		if (select_ops(s, f->ops.items[i], err) < 0)
			r = error_prefix(err, "-e");
	}
	for (size_t i = 0; r == 0 && i < f->paths.count; i++) {
		if (select_path_add(s, f->paths.items[i], err) < 0)
			r = error_prefix(err, "-P");
	}
	s->failed_only = f->failed_only;
	s->min_dur_ns = f->slower_ns;
	return r;
}

int record_flags_select(const struct record_flags *f, struct select *ret, struct error *err)
{
	struct select s = {.follow = !f->no_follow, .everything = f->everything};
	int r = 0;

	if (f->ring_bytes && (f->ring_bytes < RING_BYTES_MIN || f->ring_bytes > RING_BYTES_MAX ||
			      (f->ring_bytes & (f->ring_bytes - 1))))
		r = error_set(err, -EINVAL,
			      "--ring: %llu bytes: must be a power of two from 64KiB to 1GiB",
			      (unsigned long long)f->ring_bytes);
	else if (f->everything && f->sel.pids.count)
		r = error_set(err, -EINVAL,
			      "-a (the whole host) and -p (one process) exclude each other");
	if (r == 0)
		r = select_fill(&f->sel, true, &s, err);
	if (r < 0) {
		select_free(&s);
		return r;
	}
	*ret = s;
	return 0;
}

static int with_error(const char *all, const char *at, size_t len, struct error *err)
{
	char words[256] = "", word[64];
	struct nearest near = {.word = word};
	size_t used = 0;
	const char *w;

	snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), at);
	for (size_t i = 0; (w = ebpf_with_word(i)) && used < sizeof(words); i++) {
		nearest_offer(&near, w);
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", i ? ", " : "",
					 w);
	}
	if (!len)
		return error_set(err, -EINVAL,
				 "--with '%.100s': empty word next to a comma; words are %s", all,
				 words);
	return error_set(err, -EINVAL, "--with: unknown word '%s'%s%s; words are %s", word,
			 near.best ? "; did you mean " : "", near.best ? near.best : "", words);
}

int record_flags_with(const struct record_flags *f, uint32_t *ret, struct error *err)
{
	*ret = f->phases ? EBPF_WITH(PHASES) : 0;
	for (size_t i = 0; i < f->with.count; i++) {
		const char *at = f->with.items[i];

		do {
			size_t len = strcspn(at, ",");
			uint32_t bit = ebpf_with(at, len);

			if (!bit)
				return with_error(f->with.items[i], at, len, err);
			*ret |= bit;
			at += len;
		} while (*at++ == ',');
	}
	return 0;
}

#define STACKS_SLOW_NS	  NSEC_PER_MSEC
#define CONTENT_PARTS_MAX 65536

static int stacks_word(const char *word, size_t len, struct wire_stacks *ret, struct error *err)
{
	static const struct {
		const char *word;
		uint32_t of;
	} words[] = {{"slow", WIRE_STACKS_SLOW},
		     {"failed", WIRE_STACKS_FAILED},
		     {"all", WIRE_STACKS_ALL}};
	char text[64];
	int64_t slow;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == len && !memcmp(words[i].word, word, len)) {
			ret->of |= words[i].of;
			return 0;
		}
	}
	snprintf(text, sizeof(text), "%.*s", (int)MIN(len, sizeof(text) - 1), word);
	if (parse_duration(text, &slow, NULL) < 0)
		return error_set(err, -EINVAL,
				 "--stacks: '%s' is not slow, failed, all or a time such as 5ms",
				 text);
	ret->of |= WIRE_STACKS_SLOW;
	ret->slow_ns = (uint64_t)slow;
	return 0;
}

int record_flags_stacks(const struct record_flags *f, uint32_t with, struct wire_stacks *ret,
			struct error *err)
{
	const char *at = f->stacks ? f->stacks : "slow,failed";
	int r;

	*ret = (struct wire_stacks){.slow_ns = STACKS_SLOW_NS};
	if (!f->stacks && !(with & EBPF_WITH(STACKS)))
		return 0;
	do {
		size_t len = strcspn(at, ",");

		r = stacks_word(at, len, ret, err);
		at += len;
	} while (r >= 0 && *at++ == ',');
	return r;
}

static int content_word(const char *text, size_t len, struct wire_content_how *ret,
			struct error *err)
{
	char word[64], *end = NULL;

	snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), text);
	if (!strcmp(word, "hash")) {
		ret->mode = WIRE_CONTENT_HASH;
	} else if (!strcmp(word, "chunks")) {
		ret->mode = WIRE_CONTENT_CHUNKS;
	} else if (!strcmp(word, "bytes")) {
		ret->mode = WIRE_CONTENT_BYTES;
	} else if (!strncmp(word, "bytes:", 6)) {
		uint64_t limit;

		ret->mode = WIRE_CONTENT_BYTES;
		if (parse_size(word + 6, &limit, err) < 0)
			return error_prefix(err, "--content");
		ret->limit = limit;
	} else if (!strncmp(word, "1/", 2)) {
		unsigned long parts = strtoul(word + 2, &end, 10);

		if (!word[2] || *end || parts < 1 || parts > CONTENT_PARTS_MAX ||
		    parts & (parts - 1))
			return error_set(err, -EINVAL,
					 "--content: '%s' is not a sampling rate of 1/2, 1/4, 1/8, "
					 "... 1/65536: write 1/16",
					 word);
		ret->parts = (uint32_t)parts;
	} else {
		return error_set(err, -EINVAL,
				 "--content: '%s' is not hash, bytes, bytes:SIZE, chunks or 1/N",
				 word);
	}
	return 0;
}

int record_flags_content(const struct record_flags *f, uint32_t with, struct wire_content_how *ret,
			 struct error *err)
{
	const char *at = f->content ? f->content : "hash";
	int r;

	*ret = (struct wire_content_how){.parts = 1, .limit = UINT64_MAX};
	if (!f->content && !(with & EBPF_WITH(CONTENT)))
		return 0;
	ret->mode = WIRE_CONTENT_HASH;
	do {
		size_t len = strcspn(at, ",");

		r = content_word(at, len, ret, err);
		at += len;
	} while (r >= 0 && *at++ == ',');
	if (r >= 0 && ret->parts > 1 && ret->mode != WIRE_CONTENT_HASH)
		return error_set(err, -EINVAL,
				 "--content: 1/%u needs hash: bytes and chunks cover whole calls",
				 ret->parts);
	return r;
}

int read_flags_select(const struct read_flags *f, struct select *ret, struct error *err)
{
	struct select s = {0};
	int r = select_fill(&f->sel, false, &s, err);

	if (r < 0) {
		select_free(&s);
		return r;
	}
	*ret = s;
	return 0;
}

bool record_flags_no_target(const struct record_flags *f)
{
	const struct select_flags *s = &f->sel;
	bool threads = false;

	for (size_t i = 0; i < s->tids.count; i++)
		threads |= !is_strace_times(s->tids.items[i]);
	return !f->everything && !threads && !s->pids.count && !s->comms.count && !s->uids.count &&
	       !s->units.count && !s->containers.count && !s->cgroups.count;
}

static const char *input_at(const struct read_flags *f, char **argv, size_t i)
{
	return i < f->inputs.count ? f->inputs.items[i] : argv[i - f->inputs.count];
}

int read_flags_address(const struct read_flags *f, int argc, char **argv, const char **ret,
		       struct error *err)
{
	size_t count = f->inputs.count + (size_t)argc;

	*ret = NULL;
	for (size_t i = 0; i < count; i++) {
		const char *text = input_at(f, argv, i);
		int r = engine_address(text, err);

		if (r < 0)
			return r;
		if (r > 0 && count > 1)
			return error_set(err, -EINVAL,
					 "'%.200s' is the address of a store: it cannot be "
					 "combined with other traces",
					 text);
		if (r > 0)
			*ret = text;
	}
	return 0;
}

int input_is_path(const char *text, struct error *err)
{
	int r = engine_address(text, err);

	return r <= 0 ? r
		      : error_set(err, -EINVAL,
				  "'%.200s' is the address of a store, and this command reads "
				  "trace files; use weir query",
				  text);
}

/*
 * --from and --to refer to the first and last time of the fetched file; if one of them is relative to an end of the
 * data, rows are fetched up to that end.
 */
static int fetched_range(const struct read_flags *f, struct engine *e, int64_t *ret_from,
			 int64_t *ret_to, struct error *err)
{
	int64_t first, last;
	int r = engine_range(e, &first, &last, err);

	*ret_from = INT64_MIN;
	*ret_to = INT64_MAX;
	if (r < 0 || first == INT64_MIN)
		return r;
	r = read_flags_range(f, first, last, ret_from, ret_to, err);
	if ((f->from && f->from[0] == '+') || (f->to && f->to[0] == '+'))
		*ret_from = INT64_MIN;
	if ((f->from && f->from[0] == '-') || (f->to && f->to[0] == '-'))
		*ret_to = INT64_MAX;
	return r;
}

static void fetched_remove(void)
{
	spill_free(&fetched);
	free(fetched_name);
	free(fetched_address);
}

const char *input_shown(const char *path)
{
	return fetched_address && !strcmp(path, fetched_name) ? fetched_address : path;
}

int read_flags_connect(const struct read_flags *f, const char *address,
		       struct engine_options options, struct engine **ret, struct error *err)
{
	options.hosts = f->hosts.items;
	options.host_count = f->hosts.count;
	return engine_connect(ret, address, &options, err);
}

/* Fetches the rows at an address into a private trace, which is deleted when the process ends. */
static int fetched_path(const struct read_flags *f, const char *address, const char **ret,
			struct error *err)
{
	_cleanup_(engine_freep) struct engine *e = NULL;
	_cleanup_buf_ struct buf left_out = {0};
	const char *host = strstr(address, "://") + 3;
	int64_t from, to;
	int r;

	if (fetched_address) { /* the other side of a comparison has one already */
		*ret = fetched_name;
		return strcmp(fetched_address, address) == 0
			       ? 0
			       : error_set(err, -EINVAL,
					   "'%.200s' is a second address; give only one", address);
	}
	r = read_flags_connect(f, address, (struct engine_options){0}, &e, err);
	if (r >= 0)
		r = fetched_range(f, e, &from, &to, err);
	if (r >= 0 && !fetched.path) {
		r = spill_make(&fetched, err);
		if (r >= 0)
			atexit(fetched_remove);
	}
	if (r < 0)
		return r;
	fetched_address = strdup(address);
	if (asprintf(&fetched_name, "%s/%.*s.weir", fetched.path, (int)strcspn(host, "/?"), host) <
	    0)
		return error_errno(err, -ENOMEM, "%.200s", address);
	*ret = fetched_name;
	r = engine_fetch(e, from, to, fetched_name, &left_out, err);
	if (r >= 0 && left_out.len)
		fprintf(stderr,
			"weir: %s: users' tables without their columns here, as they are too large "
			"for "
			"memory, or differ between recordings: %s; weir query reads them\n",
			address, buf_str(&left_out));
	return r;
}

int read_flags_paths(const struct read_flags *f, int argc, char **argv, const char ***ret,
		     size_t *ret_count, struct error *err)
{
	size_t count = f->inputs.count + (size_t)argc;
	_cleanup_free_ const char **paths = calloc(count + 1, sizeof(*paths));

	if (!paths)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		int r;

		paths[i] = input_at(f, argv, i);
		r = engine_address(paths[i], err);
		if (r > 0 && count > 1)
			return input_is_path(paths[i], err);
		if (r > 0)
			r = fetched_path(f, paths[i], &paths[i], err);
		if (r < 0)
			return r;
	}
	if (count == 0) {
		paths[count++] = TRACE_DEFAULT;
		if (access(TRACE_DEFAULT, F_OK) < 0)
			return error_set(err, -ENOENT,
					 "no " TRACE_DEFAULT
					 " in this folder; name a trace with -i, or record one: "
					 "weir record -- CMD");
	}
	if (f->hosts.count && !fetched_address) {
		int r = hosts_choose(&f->hosts, &paths, &count, err);

		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(paths);
	*ret_count = count;
	return 0;
}

int read_flags_open(const struct read_flags *f, int argc, char **argv, struct store **ret,
		    struct error *err)
{
	_cleanup_free_ const char **paths = NULL;
	size_t count;
	int r = read_flags_paths(f, argc, argv, &paths, &count, err);

	return r < 0 ? r : store_open_corrected(ret, paths, count, err);
}

struct engine_options engine_flags_options(const struct engine_flags *f)
{
	return (struct engine_options){.library = f->library,
				       .memory_max = f->memory,
				       .spill_max = f->spill,
				       .threads = (unsigned int)f->threads};
}

int engine_flags_check(const struct engine_flags *f, const char *command)
{
	return f->threads <= ENGINE_THREADS_MAX ? 0
						: fail_usage("%s: --threads: must be at most %d",
							     command, ENGINE_THREADS_MAX);
}

static int parse_time(const char *option, const char *text, const struct read_flags *f,
		      int64_t first, int64_t last, int64_t *ret, struct error *err)
{
	const struct when_frame frame = {.first = first, .last = last, .utc = f->utc};
	int64_t ns;
	int r;

	if ((text[0] == '+' || text[0] == '-') && parse_duration(text + 1, &ns, NULL) == 0) {
		/* a time beyond the range is the same as no limit */
		if (text[0] == '+' && __builtin_add_overflow(first, ns, ret))
			*ret = INT64_MAX;
		if (text[0] == '-' && __builtin_sub_overflow(last, ns, ret))
			*ret = INT64_MIN;
		return 0;
	}
	r = when_parse(text, strlen(text), &frame, ret);
	if (r == -ERANGE)
		return error_set(err, -EINVAL,
				 "%s: '%s' occurs more than once in the trace; add the day and the "
				 "time zone: 2026-11-21T09:55:03+01:00",
				 option, text);
	if (r < 0)
		return error_set(
			err, -EINVAL,
			"%s: '%s' is not a time; write +1.5s (after the start), -2s (before "
			"the end), 09:55:03.5 or 2026-11-21T09:55:03",
			option, text);
	return 0;
}

bool read_is_time(const char *text)
{
	const struct when_frame frame = {0};
	int64_t ns;

	if (text[0] == '+' || text[0] == '-')
		return true;
	return when_parse(text, strlen(text), &frame, &ns) != -EINVAL;
}

int read_flags_range(const struct read_flags *f, int64_t first, int64_t last, int64_t *ret_from,
		     int64_t *ret_to, struct error *err)
{
	int64_t from = INT64_MIN, to = INT64_MAX;
	int r = 0;

	if (f->from)
		r = parse_time("--from", f->from, f, first, last, &from, err);
	if (r == 0 && f->to)
		r = parse_time("--to", f->to, f, first, last, &to, err);
	if (r == 0 && from > to)
		r = error_set(err, -EINVAL, "--from %s is after --to %s", f->from, f->to);
	if (r < 0)
		return r;
	*ret_from = from;
	*ret_to = to;
	return 0;
}
