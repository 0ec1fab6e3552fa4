/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: what `weir serve` answers (docs/openapi.yaml), one file per route in api/. May use net, analysis,
 * engine.
 *
 * server.h: what the command sees of it.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

#define SERVER_PORT 7373

struct server_options {
	const char *const *paths; /* files, or directories of them */
	size_t path_count;
	uint16_t port;	       /* 0: SERVER_PORT or the next free one */
	const char *library;   /* the engine's; NULL: looked for */
	uint64_t memory_max;   /* of all questions that run, together; 0: 512 MiB */
	uint64_t download_max; /* bytes of a file that is made for a download; 0: 4 GiB */
	unsigned int threads;  /* of one question; 0: one per CPU */
	const char *(*shown)(const char *path); /* what a path is told as; NULL: as it is */
	struct store_writer *spans; /* where spans go that are sent; NULL: none are taken */
	/* What the command line has words for: one call as strace's line, and what is missing from a
	 * trace as the member "loss" of every document. 0 or negative. */
	int (*call_text)(struct buf *to, const struct batch *op, size_t row,
			 const struct dims *dims);
	int (*loss_json)(struct buf *to, const struct store *s, struct error *err);
};

struct server;

/* Opens the traces and listens on 127.0.0.1. */
int server_start(struct server **ret, const struct server_options *opt, struct error *err);
/* Looks for new blocks and wakes the requests that wait for them. Call it a few times a second.
 * A trace that cannot be read any more is an error. */
int server_tick(struct server *s, struct error *err);
/* http://127.0.0.1:7373/#token=... */
const char *server_url(const struct server *s);
/* Whether the pages are part of this program. */
bool server_has_pages(void);
/* Cancels what runs, closes every connection. */
void server_stop(struct server *s);
DEFINE_CLEANUP(struct server *, server_stop)
