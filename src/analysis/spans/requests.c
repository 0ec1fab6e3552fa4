// SPDX-License-Identifier: Apache-2.0
/* requests.c: the analysis: its options, the selection of spans, and the views. */
#include "analysis/spans/requests.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/nearest.h"
#include "names/file_lines.h"
#include "schema/select.h"
#include "schema/vocab.h"

struct bytes requests_name(const struct requests *q, uint32_t span)
{
	struct bytes name = spanset_text(&q->spans, q->spans.all[span].name);

	return name.len ? name : bytes_of("(no name)");
}

/* ---- selection ---- */

static bool requests_wants(const struct requests *q, const struct requests_options *o, uint32_t i)
{
	const struct span *k = &q->spans.all[i];
	struct bytes name = requests_name(q, i);

	if (o->least && span_dur(k) < o->least)
		return false;
	if (o->name)
		return glob_match(o->name, (const char *)name.data, name.len);
	return k->parent == SPAN_NONE || q->view == REQUESTS_NAMES || q->view == REQUESTS_KEEP;
}

/* The most similar of all names that are plain text, as a suggestion; *ret is storage for it. */
static void requests_nearest(const struct requests *q, const char *glob,
			     char ret[static NEAREST_WORD_MAX + 1])
{
	char word[NEAREST_WORD_MAX + 1], name[NEAREST_WORD_MAX + 1];
	struct nearest n = {.word = word};
	uint32_t last = 0;
	size_t len = 0;

	*ret = '\0';
	for (; *glob && len < NEAREST_WORD_MAX; glob++) {
		if (*glob != '*')
			word[len++] = *glob;
	}
	word[len] = '\0';
	for (uint32_t i = 0; i < q->spans.count && !*glob; i++) {
		struct bytes b = requests_name(q, i);
		bool plain = b.len <= NEAREST_WORD_MAX && q->spans.all[i].name != last;

		last = q->spans.all[i].name;
		for (size_t k = 0; k < b.len && plain; k++)
			plain = b.data[k] >= ' ' && b.data[k] <= '~';
		if (!plain)
			continue;
		memcpy(name, b.data, b.len);
		name[b.len] = '\0';
		n.best = NULL;
		nearest_offer(&n, name);
		if (n.best && (!*ret || n.distance < nearest_distance(word, ret)))
			memcpy(ret, name, b.len + 1);
	}
}

/* A name that no span has is an error, except for pages, which keep a name while their range changes. */
static int requests_check_name(const struct requests *q, const struct requests_options *o,
			       const struct analysis_input *in, struct error *err)
{
	bool part = in->runs[0].from != INT64_MIN || in->runs[0].to != INT64_MAX;
	char near[NEAREST_WORD_MAX + 1];

	if (!o->name || !q->spans.count || in->shared)
		return 0;
	for (uint32_t i = 0; i < q->spans.count; i++) {
		struct bytes name = requests_name(q, i);

		if (glob_match(o->name, (const char *)name.data, name.len))
			return 0;
	}
	requests_nearest(q, o->name, near);
	return error_set(err, -EINVAL, "--name '%.60s': no span%s has this name%s%s%s", o->name,
			 part ? " of this range" : "", *near ? ": did you mean '" : "", near,
			 *near ? "'?" : " (weir requests lists them)");
}

#define KEYS_SHOWN 12 /* maximum number of attributes in a message */

/* "customer, http.status_code": the first attributes of spans. 0 or -ENOMEM. */
static int requests_put_keys(const struct requests *q, struct buf *to)
{
	struct intern seen = {0};
	uint32_t id = 0, last = 0;
	int r = 0;

	for (uint32_t i = 0; i < q->spans.count && r >= 0 && last < KEYS_SHOWN; i++) {
		struct bytes all = spanset_text(&q->spans, q->spans.all[i].attributes), key, value;
		size_t at = 0;

		while (r >= 0 && last < KEYS_SHOWN && json_next_member(all, &at, &key, &value)) {
			r = intern_add(&seen, key.data, key.len, &id);
			if (r < 0 || id < last)
				continue;
			last++;
			r = buf_printf(to, "%s%.*s", to->len ? ", " : "", (int)MIN(key.len, 60u),
				       (const char *)key.data);
		}
	}
	intern_free(&seen);
	return r;
}

static int requests_check_key(const struct requests *q, const struct requests_options *o,
			      const struct analysis_input *in, struct error *err)
{
	_cleanup_buf_ struct buf keys = {0};
	struct bytes key, value;

	if (!o->by || !strcmp(o->by, "name") || !q->spans.count || in->shared)
		return 0;
	key = bytes_of(o->by + 5);
	for (uint32_t i = 0; i < q->spans.count; i++) {
		if (json_member(spanset_text(&q->spans, q->spans.all[i].attributes), key, &value))
			return 0;
	}
	if (requests_put_keys(q, &keys) < 0)
		return -ENOMEM;
	return error_set(err, -EINVAL, "--by %.60s: no span has this attribute%s%s", o->by,
			 keys.len ? "; there are " : ", or any other",
			 keys.len ? buf_str(&keys) : "");
}

static int requests_choose(struct requests *q, const struct requests_options *o)
{
	q->chosen = malloc((q->spans.count + 1) * sizeof(*q->chosen));
	if (!q->chosen)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->spans.count; i++) {
		if (requests_wants(q, o, i))
			q->chosen[q->chosen_count++] = i;
	}
	return 0;
}

static void requests_free(void *own)
{
	struct requests *q = own;

	spanset_free(&q->spans);
	for (size_t i = 0; i < q->group_count; i++)
		free(q->groups[i].spans);
	free(q->groups);
	free(q->chosen);
	free(q->tree.lines);
	free(q->tree.calls);
	free(q->tree.path.all);
	free(q->tree.path.threads);
	free(q->compare.files);
	free(q->compare.traits);
	free(q->clusters.outliers);
	free(q->heat.all);
	intern_free(&q->memory);
	if (q->files)
		file_lines_free(q->files);
	free(q);
}

/* ---- the analysis ---- */

static enum requests_view requests_view_of(const struct requests_options *o)
{
	return o->tree	     ? REQUESTS_TREE
	       : o->compare  ? REQUESTS_COMPARE
	       : o->clusters ? REQUESTS_CLUSTERS
	       : o->freq     ? REQUESTS_FREQ
	       : o->heat     ? REQUESTS_HEAT
	       : o->stats    ? REQUESTS_STATS
	       : o->log	     ? REQUESTS_LOG
	       : o->keep     ? REQUESTS_KEEP
			     : REQUESTS_NAMES;
}

static int requests_check(const void *options, struct error *err)
{
	const struct requests_options *o = options;
	int views = (o->tree != NULL) + o->compare + o->clusters + o->freq + o->heat + o->stats +
		    o->log;

	if (views > 1)
		return error_set(err, -EINVAL,
				 "--log, --stats, --freq, --heat, --tree, --compare and --clusters "
				 "exclude one another");
	if (o->by && !o->freq && !o->stats)
		return error_set(err, -EINVAL, "--by needs --freq or --stats");
	if (o->by && (strncmp(o->by, "attr.", 5) != 0 || !o->by[5]) && strcmp(o->by, "name") != 0)
		return error_set(err, -EINVAL,
				 "--by '%.60s': name, or attr.KEY as in attr.customer", o->by);
	if (o->overlap && !o->tree)
		return error_set(
			err, -EINVAL,
			"--overlap needs --tree: calls that only overlap are never summed");
	return 0;
}

static int requests_sum_all(struct requests *q, const struct analysis_input *in, struct error *err)
{
	struct spans *s = &q->spans;
	struct span_pass p = {.of = SPAN_NONE, .sum = true, .unselected = true};
	int r;

	spanset_range(s, &p.from, &p.to);
	if (in->runs[0].to == INT64_MAX)
		p.to = INT64_MAX;
	r = s->count ? spanset_pass(s, in, &in->runs[0], &p, err) : 0;
	spanset_settle(s);
	return r;
}

/* Slowest first. */
static int request_order_slowest(const void *a, const void *b, void *arg)
{
	const struct span *all = arg;
	int64_t m = span_dur(&all[*(const uint32_t *)a]), n = span_dur(&all[*(const uint32_t *)b]);

	return ORDER(n, m) ?: ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int requests_make(struct requests *q, const struct analysis_input *in,
			 const struct requests_options *o, struct error *err)
{
	int r = requests_group(q, o->by && strcmp(o->by, "name") != 0 ? o->by + 5 : NULL);

	if (r >= 0 && q->view == REQUESTS_TREE)
		r = requests_make_tree(q, in, o->tree, o->overlap, err);
	if (r >= 0 && q->view == REQUESTS_COMPARE)
		r = requests_make_compare(q, in, err);
	if (r >= 0 && q->view == REQUESTS_CLUSTERS)
		r = requests_make_clusters(q);
	if (r >= 0 && q->view == REQUESTS_HEAT)
		r = requests_make_heat(q);
	if (q->view == REQUESTS_LOG && q->chosen_count)
		array_sort_by(q->chosen, q->chosen_count, request_order_slowest, q->spans.all);
	return r;
}

static int requests_run(const struct analysis_input *in, struct analysis_result *out,
			struct error *err)
{
	const struct requests_options *o = in->options;
	struct requests *q = calloc(1, sizeof(*q));
	uint32_t none;
	int r;

	if (!q)
		return -ENOMEM;
	out->own = q;
	q->view = requests_view_of(o);
	r = spanset_load(&q->spans, in, &in->runs[0], err);
	if (r < 0)
		return r;
	r = requests_check_name(q, o, in, err);
	if (r < 0)
		return r;
	r = requests_check_key(q, o, in, err);
	if (r < 0)
		return r;
	q->dims = store_dims(in->runs[0].store);
	r = file_lines_new(&q->files);
	if (r < 0)
		return r;
	r = file_lines_update(q->files, q->dims);
	if (r < 0)
		return r;
	r = intern_add(&q->memory, "", 0, &none);
	if (r < 0)
		return r;
	r = o->keep ? requests_keep(q, in, err) : requests_sum_all(q, in, err);
	if (r < 0)
		return r;
	r = requests_choose(q, o);
	if (r < 0)
		return r;
	r = requests_make(q, in, o, err);
	return r < 0 ? r : requests_put(q, o, out);
}

/* `"spans"`: the number of spans, and how calls were attributed to them. */
static int requests_put_members(const struct analysis_input *in _unused_,
				const struct analysis_result *result, struct buf *to)
{
	const struct requests *q = result->own;
	const struct spans *s = &q->spans;
	uint32_t blurred = 0;
	int r;

	for (uint32_t i = 0; i < s->count; i++)
		blurred += s->all[i].sums.blurred;
	r = buf_printf(
		to,
		",\n\"spans\": {\"count\": %u, \"running\": %u, \"cut\": %u, \"orphans\": %u, "
		"\"loops\": %u, \"crossed\": %u, \"estimated\": %u, \"contexts\": %llu, "
		"\"unsure\": %llu, \"unjoined\": %llu}",
		s->count, s->running, s->cut, s->orphans, s->loops, s->crossed, blurred,
		(unsigned long long)s->contexts, (unsigned long long)s->unsure,
		(unsigned long long)s->unjoined);
	for (unsigned int i = 0; i < SPAN_VIAS - 1 && r >= 0; i++)
		r = buf_printf(to, "%s\"%s\": {\"calls\": %llu, \"time\": %lld}%s",
			       i ? ", " : ",\n\"via\": {", vocab_word("via", VIA_CONTEXT + i),
			       (unsigned long long)s->calls_via[i], (long long)s->time_via[i],
			       i == SPAN_VIAS - 2 ? "}" : "");
	return r < 0 || q->view != REQUESTS_TREE ? r : requests_put_path(q, to);
}

static const struct option requests_table[] = {
	{0, "name", OPTION_STRING, "GLOB", "only spans of this name, with or without a parent",
	 offsetof(struct requests_options, name)},
	{0, "min", OPTION_DURATION, "TIME", "only those that took this long or longer",
	 offsetof(struct requests_options, least)},
	{0, "log", OPTION_FLAG, NULL, "list them one by one, the slowest first",
	 offsetof(struct requests_options, log)},
	{0, "tree", OPTION_STRING, "NUMBER",
	 "show one request with its spans, calls and waits: its number, its id, or `slowest`",
	 offsetof(struct requests_options, tree)},
	{0, "overlap", OPTION_FLAG, NULL,
	 "with --tree: also calls of other threads that only overlap it in time",
	 offsetof(struct requests_options, overlap)},
	{0, "stats", OPTION_FLAG, NULL, "all figures by name: minimum, mean, percentiles, phases",
	 offsetof(struct requests_options, stats)},
	{0, "freq", OPTION_FLAG, NULL, "the distribution of their durations",
	 offsetof(struct requests_options, freq)},
	{0, "heat", OPTION_FLAG, NULL,
	 "their durations over time, as a heat map with the slowest of each cell",
	 offsetof(struct requests_options, heat)},
	{0, "by", OPTION_STRING, "WHAT",
	 "with --freq or --stats: name, or attr.KEY for an attribute",
	 offsetof(struct requests_options, by)},
	{0, "compare", OPTION_FLAG, NULL,
	 "what differs in the slowest hundredth of one name: parts of the time, files, attributes",
	 offsetof(struct requests_options, compare)},
	{0, "clusters", OPTION_FLAG, NULL,
	 "group requests of one name by where their time went, and show outliers",
	 offsetof(struct requests_options, clusters)},
	{0, "keep", OPTION_FLAG, NULL,
	 "store which calls belong to which span, and why, in the trace: table span_op",
	 offsetof(struct requests_options, keep)},
	{0, "top", OPTION_COUNT, "N", "print at most N rows",
	 offsetof(struct requests_options, top), .otherwise = "5000"},
	{0},
};

static const struct command_example requests_examples[] = {
	{"weir requests", "where the time of requests went, by name"},
	{"weir requests --log --name checkout --min 10ms", "the slow ones of one name"},
	{"weir requests --tree slowest", "the slowest request with everything it did"},
	{"weir requests --compare --name checkout", "what is different in the slow ones"},
	{"weir requests --freq --by attr.customer", "durations by an attribute"},
	{0},
};

const struct analysis analysis_requests = {
	.files = true,
	.name = "requests",
	.summary = "show requests: where their time went, in the program, in calls, in waits",
	.description = "Shows how long spans took, and where: in the program, in calls by class, "
		       "in waits. Spans are marked by a program (table span), published by an "
		       "OpenTelemetry SDK (context) or found by the definition of a period "
		       "(period, weir periods --keep). A call belongs "
		       "to the span whose "
		       "id its thread carried, else to the innermost one open on its thread; "
		       "requests of io_uring and libaio "
		       "belong to the span that submitted them; a thread that another thread wakes "
		       "from a wait for work continues that thread's span. The parts of a span add "
		       "up to its time: a "
		       "wait counts where no "
		       "other call of the request ran, and where calls ran side by side the time "
		       "is split in "
		       "proportion.",
	.examples = requests_examples,
	.order = ANALYSIS_STREAM,
	.options = requests_table,
	.options_size = sizeof(struct requests_options),
	.check = requests_check,
	.run = requests_run,
	.put_members = requests_put_members,
	.free = requests_free,
};
