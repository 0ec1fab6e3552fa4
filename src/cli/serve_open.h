/* SPDX-License-Identifier: Apache-2.0 */
/* serve_open.h: opens the link of `weir serve` in a browser without showing it to other users. */
#pragma once

#include "base/error.h"

/* A private page that redirects to the link, because command lines are visible to every user of the machine. */
struct serve_open {
	char path[256];	  /* "": none */
	char folder[192]; /* created for it; "": it is in the user's runtime folder */
	int64_t until;	  /* monotonic: the browser has read it by then */
};

/* Opens the link in the user's browser. Failures are reported and do not stop the server. */
void serve_open(struct serve_open *o, const char *url);
/* Removes the page: once it is old, or (`now`) at the end. */
void serve_open_end(struct serve_open *o, bool now);
