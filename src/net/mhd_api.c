/* SPDX-License-Identifier: Apache-2.0 */
/* mhd_api.c: loads libmicrohttpd. */
#include "net/mhd_api.h"

#include <dlfcn.h>
#include <errno.h>

int mhd_api_get(struct mhd_api *ret, struct error *err)
{
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return error_set(err, -ENOENT,
				 "libmicrohttpd, which is needed to serve pages, is not installed: "
				 "apt-get install libmicrohttpd12");
		/* never closed: its TLS library keeps process-wide state */
#define F(name)                                              \
	*(void **)&ret->name = dlsym(library, "MHD_" #name); \
	if (!ret->name)                                      \
		return error_set(err, -EPROTONOSUPPORT, "libmicrohttpd has no function MHD_" #name);
	MHD_FUNCTIONS(F)
#undef F
	return 0;
}
