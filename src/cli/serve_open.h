/* SPDX-License-Identifier: Apache-2.0 */
/* serve_open.h: opens the link of `weir serve` in a browser without showing it to other users. */
#pragma once

#include "base/error.h"

/* A private page that redirects to the link: a command line is visible to every user of the machine. */
struct serve_open {
	char path[256];	  /* "": none */
	char folder[192]; /* made for it; "": it lies in the user's own */
	int64_t until;	  /* monotonic: by then a browser has read it */
};

/* Opens the link in the user's browser. What is wrong is said; it does not hold up the server. */
void serve_open(struct serve_open *o, const char *url);
/* Takes the page away: once it is old, or (`now`) at the end. */
void serve_open_end(struct serve_open *o, bool now);
