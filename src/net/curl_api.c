// SPDX-License-Identifier: Apache-2.0
/* curl_api.c: loads libcurl. */
#include "net/curl_api.h"

#include <dlfcn.h>
#include <errno.h>

/* The interface has been the same since 2006, with either TLS library. multi_poll() was added in 7.66. */
static const char *const libraries[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};

int curl_api_get(struct curl_api *ret, struct error *err)
{
	void *library = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(libraries) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return error_set(err, -ENOENT,
				 "libcurl, which is needed for stores, is not installed: apt-get "
				 "install libcurl3-gnutls");
		/* never closed: its TLS keeps process-wide state */
#define F(name)                                               \
	*(void **)&ret->name = dlsym(library, "curl_" #name); \
	if (!ret->name)                                       \
		return error_set(err, -EPROTONOSUPPORT,       \
				 "libcurl is too old: 7.66 or later is needed");
	CURL_FUNCTIONS(F)
#undef F
	return 0;
}
