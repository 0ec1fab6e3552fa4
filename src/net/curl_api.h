/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_api.h: the functions of libcurl that client.c uses. The library is loaded on demand, not linked: with TLS,
 * LDAP and SSH it depends on 40 others, which every start of weir, even as a recorder, would load. Inside net/ only.
 */
#pragma once

#include <curl/curl.h>

#include "base/error.h"

/* clang-format off */
#define CURL_FUNCTIONS(F) \
	F(easy_init) F(easy_cleanup) F(easy_reset) F(easy_setopt) F(easy_getinfo) F(easy_strerror) \
	F(multi_init) F(multi_cleanup) F(multi_add_handle) F(multi_remove_handle) F(multi_perform) \
	F(multi_info_read) F(multi_poll) F(multi_strerror) F(slist_append) F(slist_free_all)
/* clang-format on */

/* the type-checking macros call the functions by name */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct curl_api {
#define F(name) __typeof__(&curl_##name) name;
	CURL_FUNCTIONS(F)
#undef F
};

/* Loads the library. -ENOENT: it is missing; the message says what to install. */
int curl_api_get(struct curl_api *ret, struct error *err);
