/* SPDX-License-Identifier: Apache-2.0 */
/* evil.c: a library that a user plants: says so as soon as it is loaded, and what it may do there. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void __attribute__((constructor)) run(void)
{
	int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);

	fprintf(stderr, "EVIL code runs as uid %d and %s /etc/shadow\n", (int)geteuid(),
		fd >= 0 ? "reads" : "cannot read");
	if (fd >= 0)
		close(fd);
}
