/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mhd_api.h: the functions of libmicrohttpd that the server uses. The library is loaded when a server starts, not linked:
 * with GnuTLS it brings ten others, which take 2.3 of the 6 ms in which any other command of weir starts. Inside net/ only.
 */
#pragma once

#include <microhttpd.h>

#include "base/error.h"

/* clang-format off */
#define MHD_FUNCTIONS(F) \
	F(start_daemon) F(quiesce_daemon) F(stop_daemon) F(get_connection_info) F(get_connection_values) \
	F(lookup_connection_value) F(queue_response) F(destroy_response) F(add_response_header) \
	F(create_response_from_buffer) F(create_response_from_fd64) F(create_response_from_callback)
/* clang-format on */

struct mhd_api {
#define F(name) __typeof__(&MHD_##name) name;
	MHD_FUNCTIONS(F)
#undef F
};

/* Loads the library. -ENOENT: it is missing; the message says what to install. */
int mhd_api_get(struct mhd_api *ret, struct error *err);
