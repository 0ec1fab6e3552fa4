/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: implements the API of `weir serve` (docs/openapi.yaml), one file per route in api/. May use net, analysis,
 * engine.
 *
 * server.h: the interface for the command.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

#define SERVER_PORT 7373

struct server_options {
	const char *const *paths; /* files or directories */
	size_t path_count;
	uint16_t port;	       /* 0: SERVER_PORT or the next free one */
	const char *library;   /* path of the engine's library; NULL: searched for */
	uint64_t memory_max;   /* for all running questions together; 0: 512 MiB */
	uint64_t download_max; /* maximum bytes of a file made for a download; 0: 4 GiB */
	unsigned int threads;  /* per question; 0: one per CPU */
	const char *(*shown)(const char *path); /* the displayed form of a path; NULL: unchanged */
	struct store_writer *spans; /* where received spans are written; NULL: none are accepted */
	/*
	 * Texts that the command line produces: a call as strace's line, and missing data as the member "loss" of
	 * every document. 0 or negative.
	 */
	int (*call_text)(struct buf *to, const struct batch *op, size_t row,
			 const struct dims *dims);
	int (*loss_json)(struct buf *to, const struct store *s, struct error *err);
};

struct server;

/* Opens the traces and listens on 127.0.0.1. */
int server_start(struct server **ret, const struct server_options *opt, struct error *err);
/*
 * Looks for new blocks and wakes the requests that wait for them. Call it a few times a second. Fails if a trace
 * cannot be read any more.
 */
int server_tick(struct server *s, struct error *err);
/* http://127.0.0.1:7373/#token=... */
const char *server_url(const struct server *s);
/* True if the pages are part of this program. */
bool server_has_pages(void);
/* Cancels running questions and closes every connection. */
void server_stop(struct server *s);
DEFINE_CLEANUP(struct server *, server_stop)
