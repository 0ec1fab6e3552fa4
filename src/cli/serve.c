// SPDX-License-Identifier: Apache-2.0
/* serve.c: `weir serve`: the pages of a trace. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/trace/call_text.h"
#include "cli/commands.h"
#include "cli/terminal/json_text.h"
#include "cli/terminal/loss_text.h"
#include "cli/terminal/output.h"
#include "cli/serve_open.h"
#include "cli/options/shared.h"
#include "engine/engine.h"
#include "exchange/spans_write.h"
#include "privilege/privilege.h"
#include "server/http/server.h"

#define TICK_NS	    (200 * NSEC_PER_MSEC) /* how often a growing trace is checked */
#define THREADS_MAX 256
#define PORT_MAX    65535
#define MEMORY_MIN  (32ull << 20) /* with less, the engine cannot answer anything */

struct serve_opts {
	struct option_list inputs, hosts;
	const char *listen;
	int64_t port, threads;
	uint64_t memory, download_max;
	const char *library, *spans;
	bool open, json;
};

static int serve_put_call(struct buf *to, const struct batch *op, size_t row,
			  const struct dims *dims)
{
	const struct call_text_style style = {0};

	return call_text(to, op, row, dims, &style);
}

static int serve_put_loss(struct buf *to, const struct store *s, struct error *err)
{
	struct loss loss;
	int r = loss_read(&loss, s, err);

	if (r >= 0 && loss_put_text(to, &loss) < 0)
		r = error_errno(err, -ENOMEM, "cannot determine what is missing");
	return r;
}

/* ---- options ---- */

/* No other address until there are users and TLS: the token would cross the network in clear text. */
static int check_listen(const struct serve_opts *o)
{
	static const char *const own[] = {"127.0.0.1", "localhost"};

	if (!o->listen)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t len = strlen(own[i]);

		if (strncmp(o->listen, own[i], len))
			continue;
		if (!o->listen[len])
			return 0;
		if (o->listen[len] == ':')
			return fail_usage("serve: --listen %s: give the address without a port, "
					  "and the port as --port %s",
					  o->listen, o->listen + len + 1);
	}
	return fail_usage(
		"serve: --listen %s: weir serves only on 127.0.0.1, so that no one on the network "
		"can read the trace; from your machine: ssh -L %d:127.0.0.1:%d HOST, then open the "
		"link there",
		o->listen, (int)(o->port ? o->port : SERVER_PORT),
		(int)(o->port ? o->port : SERVER_PORT));
}

/* Checks limits that every question would otherwise report. 0 or 2. */
static int check_limits(const struct serve_opts *o)
{
	struct error err = {0};

	if (o->port > PORT_MAX)
		return fail_usage("serve: --port: must be at most %d", PORT_MAX);
	if (o->threads > THREADS_MAX)
		return fail_usage("serve: --threads: must be at most %d", THREADS_MAX);
	if (o->memory && o->memory < MEMORY_MIN)
		return fail_usage("serve: --memory: at least %lluMiB, or no query can be answered",
				  MEMORY_MIN >> 20);
	if (o->library && engine_probe(o->library, NULL, NULL, &err) < 0)
		return fail_usage("serve: --duckdb: %s", err.message);
	return check_listen(o);
}

/* ---- serving ---- */

/* Without the link nobody can connect. */
static int tell_link(const struct serve_opts *o, const char *url, struct error *err)
{
	if (o->json) {
		fputs("{\"url\": ", stdout);
		json_put_string(stdout, url, strlen(url));
		fputs("}\n", stdout);
	} else {
		puts(url);
	}
	if (fflush(stdout) == 0)
		return 0;
	error_errno(err, -errno, "the link could not be written");
	clearerr(stdout); /* reported here */
	return err->code;
}

/* Runs until a signal, and refreshes the trace periodically. */
static int serve_until(struct server *s, struct serve_open *opened, const sigset_t *signals)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct error told = {0};

	for (;;) {
		struct error err = {0};

		if (sigtimedwait(signals, NULL, &tick) > 0)
			return 0;
		if (server_tick(s, &err) < 0 && strcmp(err.message, told.message) != 0) {
			fail(&err); /* reported once; a later refresh may succeed */
			told = err;
		}
		serve_open_end(opened, false);
	}
}

/* Creates the trace for received spans, and appends it to the list of served traces. */
static int take_spans(const char *path, struct output *out, const char ***paths, size_t *count,
		      struct error *err)
{
	static const struct store_options store = {.owner = (uid_t)-1};
	const char **more = reallocarray(*paths, *count + 1, sizeof(*more));
	int r;

	if (!more)
		return error_errno(err, -ENOMEM, "cannot serve");
	*paths = more;
	more[(*count)++] = path;
	r = output_open(out, path, &store, err);
	if (r < 0)
		return r;
	r = spans_write_begin(out->writer, err);
	return r < 0 ? r : store_flush(out->writer, true, err);
}

static int serve_main(const void *opts, int argc, char **argv)
{
	const struct serve_opts *o = opts;
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	const struct read_flags inputs = {.inputs = o->inputs, .hosts = o->hosts};
	_cleanup_free_ const char **paths = NULL;
	_cleanup_(output_free) struct output spans = {
		0}; /* declared first, so that it is closed after the server has stopped */
	_cleanup_(server_stopp) struct server *server = NULL;
	struct server_options options = {
		.port = (uint16_t)o->port,
		.library = o->library,
		.memory_max = o->memory,
		.download_max = o->download_max,
		.threads = (unsigned int)o->threads,
		.shown = input_shown,
		.call_text = serve_put_call,
		.loss_json = serve_put_loss,
	};
	struct serve_open opened = {0};
	struct error err = {0};
	sigset_t signals;
	int r;

	if (privilege_drop(privilege_files() | privilege_child(), &err) < 0)
		return fail(&err);
	/*
	 * Kept for starting SQL processes. The signal that ends such a process together with this one requires
	 * CAP_KILL here.
	 */
	privilege_rest(PRIVILEGE_CHILD & ~PRIVILEGE_SIGNAL);
	/* Many threads come and go; without this, memory left in each thread's arena would accumulate. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	if (check_limits(o))
		return 2;
	/* without trace names, only spans are shown */
	if ((!o->spans || argc || o->inputs.count) &&
	    read_flags_paths(&inputs, argc, argv, &paths, &options.path_count, &err) < 0)
		return fail(&err);
	if (o->spans && take_spans(o->spans, &spans, &paths, &options.path_count, &err) < 0)
		return fail(&err);
	options.spans = spans.writer;
	options.paths = paths;
	/* before the server's threads start, so that they all inherit the mask */
	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		sigaddset(&signals, ending[i]);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (server_start(&server, &options, &err) < 0)
		return fail(&err);
	if (!server_has_pages())
		fprintf(stderr, "weir: built without its pages, only the API is available; to "
				"build them: make pages && make\n");
	if (tell_link(o, server_url(server), &err) < 0)
		return fail(&err);
	if (o->open)
		serve_open(&opened, server_url(server));
	r = serve_until(server, &opened, &signals);
	serve_open_end(&opened, true);
	return r;
}

static const struct option serve_options[] = {
	{'i', "input", OPTION_LIST, "TRACE",
	 "show this trace, or every trace in this folder; repeatable; weir.trace if none is named",
	 offsetof(struct serve_opts, inputs)},
	HOST_FLAG(struct serve_opts, hosts),
	{0, "port", OPTION_COUNT, "PORT",
	 "listen on this port (default: 7373, or the next free one)",
	 offsetof(struct serve_opts, port)},
	{0, "listen", OPTION_STRING, "ADDRESS",
	 "the address to listen on: only 127.0.0.1 is allowed",
	 offsetof(struct serve_opts, listen)},
	{0, "open", OPTION_FLAG, NULL, "open the link in a browser",
	 offsetof(struct serve_opts, open)},
	{0, "json", OPTION_FLAG, NULL, "print the link as {\"url\": ...}, for scripts",
	 offsetof(struct serve_opts, json)},
	{0, "memory", OPTION_SIZE, "SIZE", "memory that queries may use together (default 512MiB)",
	 offsetof(struct serve_opts, memory)},
	{0, "download-max", OPTION_SIZE, "SIZE",
	 "refuse larger downloads (default 4GiB; they are prepared in $TMPDIR or /var/tmp)",
	 offsetof(struct serve_opts, download_max)},
	{0, "threads", OPTION_COUNT, "N", "threads of one query (default: one per CPU)",
	 offsetof(struct serve_opts, threads)},
	{0, "spans", OPTION_STRING, "TRACE",
	 "write spans that programs send (OTLP/HTTP, Zipkin) to this trace, which is shown with "
	 "the others; an existing one is moved to TRACE.old",
	 offsetof(struct serve_opts, spans)},
	{0, "duckdb", OPTION_STRING, "FILE",
	 "DuckDB's library, instead of weir's own and of $WEIR_DUCKDB",
	 offsetof(struct serve_opts, library)},
	{0},
};

static const struct command_example serve_examples[] = {
	{"weir serve redis.trace", "print a link to the pages of this trace"},
	{"weir serve app.weir --spans spans.weir",
	 "OpenTelemetry's SDKs send spans to it: OTEL_EXPORTER_OTLP_HEADERS has the token"},
	{"weir record -o live.trace -p 4711 & weir serve --open live.trace",
	 "watch a running recording"},
	{"ssh -t -L 7373:127.0.0.1:7373 HOST weir serve --port 7373 redis.trace",
	 "view a trace of another machine in a browser on this one"},
	{0},
};

const struct command command_serve = {
	.name = "serve",
	.summary = "show a trace in a browser",
	.usage = "[options] [TRACE...]",
	.description =
		"Prints a link to pages that show one or several traces, also while they are being "
		"recorded: overview, timeline, files, latency, queries. Stop it with Ctrl-C.\n\n"
		"Only programs on this machine can connect (127.0.0.1), and only with the link: it "
		"ends in a token that changes at each start. To view a trace of another machine, "
		"tunnel the port: "
		"ssh -L 7373:127.0.0.1:7373 HOST.\n\n"
		"Scripts can use the same API, described in /api/v1/openapi.yaml; pass the token "
		"in a header, Authorization: Bearer TOKEN.\n\n"
		"Memory: sums over the trace take at most 384 MiB (beyond that they are read from "
		"the file), cached answers 64 MiB, the calls of large files 96 MiB, the longest "
		"calls about 50 MiB, each file named in the trace about 100 bytes. Running queries "
		"share --memory: a query that needs more than is free waits. SQL runs in a process "
		"of its own, within the same limit.\n\n"
		"Exit status: 0 stopped by a signal, 1 the trace cannot be read or the port is "
		"taken, 2 wrong "
		"options.",
	.options = serve_options,
	.drops = true, /* root keeps the privileges to start a less privileged process */
	.options_size = sizeof(struct serve_opts),
	.examples = serve_examples,
	.run = serve_main,
};
