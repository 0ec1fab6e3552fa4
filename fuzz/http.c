/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a server that runs in this process, over a small trace: the first byte chooses the route and the method, the
 * rest is what stands behind it, parts of the path up to the first '?', then parameters; what follows the first end of line
 * is the body of methods that have one. Whatever is asked, there is an answer of HTTP with a status that the interface
 * knows, and a document where it says so. What is kept beside the trace is kept and removed again. Queries and SQL need the
 * engine's library and are told apart in tests/server/fuzz.py; here they end at their parser.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/synth/synth.h"
#include "cli/trace/call_text.h"
#include "enrich/enrich.h"
#include "server/http/server.h"

#define ROWS	    3000
#define REQUEST_MAX 4096

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const routes[] = {
	"trace",   "overview",	 "latency",    "lanes",	      "timeline",     "op/",
	"op/",	   "file/",	 "file/",      "files",	      "check",	      "query",
	"explain", "complete",	 "dashboards", "dashboards/", "openapi.yaml", "",
	"session", "../../etc/", "queries",    "queries/",
};

#define ROUTES (sizeof(routes) / sizeof(*routes))

/* What the first byte divided by the number of routes says; half of the requests are questions. */
static const char *const methods[] = {"GET",  "GET", "GET",    "GET",	  "GET", "GET",
				      "HEAD", "PUT", "DELETE", "OPTIONS", "PUT", "POST"};

static struct server *server;
static char token[33];
static unsigned int port;
static char folder[] = "/tmp/weir-fuzz-XXXXXX";

/* ---- the trace and its server ---- */

static void need(bool good, const struct error *err)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", err ? err->message : "out of memory");
	abort();
}

static void write_trace(const char *path)
{
	const struct synth_options synth = {.profile = SYNTH_HOSTILE, .rows = ROWS, .seed = 3};
	struct store_options options = {.owner = (uid_t)-1};
	struct batch_set in = {0}, out = {0};
	struct store_writer *w = NULL;
	struct source *source = NULL;
	struct enrich *enrich = NULL;
	struct error err = {0};
	int r;

	need(synth_source_new(&source, &synth, &err) >= 0, &err);
	need(enrich_new(&enrich, &err) >= 0, &err);
	need(store_create(&w, path, &options, &err) >= 0, &err);
	r = source_start(source, &err);
	while (r >= 0 && r != SOURCE_END) {
		r = source_read(source, &in, 0, &err);
		if (r == SOURCE_ROWS)
			r = enrich_apply(enrich, &in, &out, &err);
		if (r >= 0 && r != SOURCE_END)
			r = store_append_set(w, &out, &err);
		batch_set_clear(&in);
		batch_set_clear(&out);
	}
	need(r >= 0, &err);
	need(store_close(w, &err) >= 0, &err);
	batch_set_free(&in);
	batch_set_free(&out);
	enrich_free(enrich);
	source_free(source);
}

static int put_call(struct buf *to, const struct batch *op, size_t row, const struct dims *dims)
{
	const struct call_text_style style = {0};

	return call_text(to, op, row, dims, &style);
}

static int put_loss(struct buf *to, const struct store *s, struct error *err)
{
	return buf_printf(to, "{\"events\":0,\"causes\":{}}");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static void stop(void)
{
	server_stop(server);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char path[sizeof(folder) + 16];
	static const char *paths[] = {path};
	static struct server_options options = {
		.paths = paths,
		.path_count = 1,
		.library = "/nonexistent",
		.threads = 1,
		.call_text = put_call,
		.loss_json = put_loss,
	};
	struct error err = {0};

	need(mkdtemp(folder) != NULL, NULL);
	snprintf(path, sizeof(path), "%s/t.trace", folder);
	write_trace(path);
	need(server_start(&server, &options, &err) >= 0, &err);
	need(sscanf(server_url(server), "http://127.0.0.1:%u/#token=%32s", &port, token) == 2,
	     NULL);
	atexit(stop);
	return 0;
}

/* ---- one request ---- */

/* Connections that ended hold their ports for a while: where all are taken, one is free again soon. */
static int connect_to(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};

	for (unsigned int i = 0; i < 400; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		if (fd < 0 ||
		    (errno != EADDRNOTAVAIL && errno != EINTR)) /* EINTR: the fuzzer's timer */
			break;
		close(fd);
		usleep(20000);
	}
	perror("connecting to the server");
	abort();
}

static void check_answer(const struct buf *answer)
{
	static const unsigned int known[] = {200, 204, 304, 400, 401, 404, 405, 408,
					     409, 413, 414, 421, 429, 431, 503};
	unsigned int status = 0;
	struct buf text = {0};
	bool good = false;

	if (buf_append(&text, answer->data, answer->len) < 0)
		abort();
	if (sscanf(buf_str(&text), "HTTP/1.1 %u ", &status) != 1) {
		fprintf(stderr, "no answer: %.100s\n", buf_str(&text));
		abort();
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		good |= known[i] == status;
	if (!good || (status < 300 && !strstr(buf_str(&text), "\r\n\r\n"))) {
		fprintf(stderr, "%.400s\n", buf_str(&text));
		abort();
	}
	buf_free(&text);
}

static void ask(const struct buf *request, struct buf *answer)
{
	uint8_t piece[65536];
	ssize_t n;
	int fd = connect_to();

	if (send(fd, request->data, request->len, MSG_NOSIGNAL) == (ssize_t)request->len) {
		while ((n = recv(fd, piece, sizeof(piece), 0)) > 0) {
			if (buf_append(answer, piece, (size_t)n) < 0)
				abort();
		}
	}
	close(fd);
}

/* A length for everybody: a body where none is expected is part of what is tried. */
static int put_headers(struct buf *to, const uint8_t *body, size_t size)
{
	int r = buf_printf(to,
			   " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n"
			   "Connection: close\r\nContent-Length: %zu\r\n\r\n",
			   port, token, size);

	return r < 0 ? r : buf_append(to, body, size);
}

static int make_request(struct buf *to, const uint8_t *data, size_t size)
{
	const char *method = methods[data[0] / ROUTES % (sizeof(methods) / sizeof(*methods))];
	int r = buf_printf(to, "%s /api/v1/%s", method, routes[data[0] % ROUTES]);
	size_t i;

	for (i = 1; i < size && data[i] != '\n' && r >= 0; i++) {
		/* the line ends where a request's line does: what follows would be headers */
		r = data[i] <= ' ' || data[i] >= 0x7f ? buf_printf(to, "%%%02x", data[i])
						      : buf_append(to, &data[i], 1);
	}
	i += i < size;
	return r < 0 ? r : put_headers(to, data + i, size - i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf request = {0}, answer = {0};

	if (size < 1 || size > REQUEST_MAX)
		return 0;
	if (make_request(&request, data, size) < 0)
		abort();
	/* connections that are being closed count against the limit: then one is refused */
	for (unsigned int i = 0; i < 200 && !answer.len; i++) {
		if (i)
			usleep(20000);
		ask(&request, &answer);
	}
	check_answer(&answer);
	buf_free(&request);
	buf_free(&answer);
	return 0;
}
