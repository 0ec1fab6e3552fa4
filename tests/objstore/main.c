/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: objstore node --listen ADDRESS:PORT [--next ADDRESS:PORT] --dir DIR [OPTION...]
 *         objstore client --next ADDRESS:PORT --objects N [OPTION...]
 *         objstore make --source DIR --objects N --sizes N,...
 *
 * --name NAME, --threads N, --limit SECONDS (then the process is killed), --truth FILE
 * --recv, --send, --store BYTES: what one call moves at most; --how send|writev|sendmsg
 * node: --storers N (0: workers store themselves), --sendfile (for gets),
 *   --fault alter-store:OBJECT:POS:BYTES, alter-forward:OBJECT:POS:BYTES, flip:OBJECT:POS:BIT, drop:OBJECT, keep:OBJECT,
 *   duplicate:OBJECT, reorder:OBJECT
 * client: --sizes BYTES,..., --depth N (puts of a thread that are under way at once), --seconds N, --source DIR,
 *   --get ADDRESS:PORT (repeatable), --pace MICROSECONDS (a rest behind each put)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "objstore.h"

struct config config = {.name = "objstore",
			.threads = 4,
			.storers = 2,
			.depth = 1,
			.sizes_count = 1,
			.sizes = {65536},
			.objects = 1,
			.limit_s = 60,
			.cut_recv = 65536,
			.cut_send = 65536,
			.cut_store = 65536};

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", config.name, what, strerror(errno));
	_exit(1);
}

double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "objstore: %s\n", what);
	exit(2);
}

static uint64_t number_of(const char *text, uint64_t most)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (end == text || *end || n > most)
		usage(text);
	return n;
}

static void address_of(const char *text, struct sockaddr_in *ret)
{
	const char *colon = strrchr(text, ':');
	char host[64];

	if (!colon || colon - text >= (ptrdiff_t)sizeof(host))
		usage(text);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	ret->sin_family = AF_INET;
	ret->sin_port = htons((uint16_t)number_of(colon + 1, UINT16_MAX));
	if (inet_pton(AF_INET, host, &ret->sin_addr) != 1)
		usage(text);
}

static void sizes_of(char *text)
{
	char *one;

	config.sizes_count = 0;
	while ((one = strsep(&text, ",")) && config.sizes_count < SIZES_MAX)
		config.sizes[config.sizes_count++] = number_of(one, OBJECT_MAX);
}

static void fault_of(char *text)
{
	static const char *const names[] = {"none", "alter-store", "alter-forward", "flip",
					    "drop", "keep",	   "duplicate",	    "reorder"};
	uint64_t *fields[] = {&config.fault.object, &config.fault.pos, &config.fault.bytes};
	const char *name = strsep(&text, ":");
	char *one;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i], name))
			config.fault.kind = (enum fault_kind)i;
	}
	for (size_t i = 0; i < 3 && (one = strsep(&text, ":")); i++)
		*fields[i] = number_of(one, UINT64_MAX);
	if (!config.fault.kind)
		usage(name);
}

static enum send_how how_of(const char *text)
{
	if (!strcmp(text, "writev"))
		return SEND_WRITEV;
	return strcmp(text, "sendmsg") ? SEND_PLAIN : SEND_MSG;
}

static void option(int c, char *arg)
{
	switch (c) {
	case 'n':
		config.name = arg;
		break;
	case 'd':
		config.dir = arg;
		break;
	case 's':
		config.source = arg;
		break;
	case 't':
		config.truth = arg;
		break;
	case 'l':
		address_of(arg, &config.listen);
		break;
	case 'x':
		address_of(arg, &config.next);
		config.has_next = true;
		break;
	case 'g':
		if (config.gets_count < GETS_MAX)
			address_of(arg, &config.gets[config.gets_count++]);
		break;
	case 'T':
		config.threads = (unsigned int)number_of(arg, 64);
		break;
	case 'S':
		config.storers = (unsigned int)number_of(arg, 64);
		break;
	case 'D':
		config.depth = (unsigned int)number_of(arg, 64);
		break;
	case 'L':
		config.limit_s = (unsigned int)number_of(arg, 3600);
		break;
	case 'C':
		config.seconds = (unsigned int)number_of(arg, 3600);
		break;
	case 'P':
		config.pace_us = (unsigned int)number_of(arg, 1000000);
		break;
	case 'o':
		config.objects = number_of(arg, UINT32_MAX);
		break;
	case 'z':
		sizes_of(arg);
		break;
	case 'R':
		config.cut_recv = number_of(arg, OBJECT_MAX);
		break;
	case 'E':
		config.cut_send = number_of(arg, OBJECT_MAX);
		break;
	case 'O':
		config.cut_store = number_of(arg, OBJECT_MAX);
		break;
	case 'h':
		config.how = how_of(arg);
		break;
	case 'F':
		config.sendfile = true;
		break;
	case 'f':
		fault_of(arg);
		break;
	default:
		usage("unknown option");
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"name", 1, NULL, 'n'},	    {"dir", 1, NULL, 'd'},
		{"source", 1, NULL, 's'},   {"truth", 1, NULL, 't'},
		{"listen", 1, NULL, 'l'},   {"next", 1, NULL, 'x'},
		{"get", 1, NULL, 'g'},	    {"threads", 1, NULL, 'T'},
		{"storers", 1, NULL, 'S'},  {"depth", 1, NULL, 'D'},
		{"limit", 1, NULL, 'L'},    {"seconds", 1, NULL, 'C'},
		{"objects", 1, NULL, 'o'},  {"sizes", 1, NULL, 'z'},
		{"recv", 1, NULL, 'R'},	    {"send", 1, NULL, 'E'},
		{"store", 1, NULL, 'O'},    {"how", 1, NULL, 'h'},
		{"sendfile", 0, NULL, 'F'}, {"fault", 1, NULL, 'f'},
		{"pace", 1, NULL, 'P'},	    {0}};
	int c;

	if (argc < 2)
		usage("node, client or make");
	while ((c = getopt_long(argc - 1, argv + 1, "", options, NULL)) != -1)
		option(c, optarg);
	if (!config.threads || !config.depth || !config.cut_recv || !config.cut_send ||
	    !config.cut_store || !config.sizes_count)
		usage("a number of 0");
	alarm(config.limit_s);
	if (blkin_init() < 0 ||
	    blkin_init_endpoint(&config.endpoint, "0.0.0.0", 0, config.name) < 0)
		die("blkin");
	if (!strcmp(argv[1], "node"))
		return run_node();
	if (!strcmp(argv[1], "client"))
		return run_client();
	if (!strcmp(argv[1], "make"))
		return run_make();
	usage(argv[1]);
}
