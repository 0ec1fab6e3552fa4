// SPDX-License-Identifier: Apache-2.0
#include "batch/host_row.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>

#define BOOT_MAX 64 /* length of the boot id with a newline */

struct batch_row batch_set_host(struct batch_set *s, int64_t id)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct batch_row row = batch_set_row(s, TABLE_HOST);
	char boot[BOOT_MAX];
	struct utsname u;
	ssize_t len = fd < 0 ? -1 : read(fd, boot, sizeof(boot));

	if (row.r >= 0 && uname(&u))
		row.r = -errno;
	if (row.r < 0)
		return row;
	row_set(&row, HOST_ID, id);
	row_set_str(&row, HOST_NAME, u.nodename);
	if (len > 1)
		row_set_bytes(&row, HOST_BOOT, boot, (size_t)len - (boot[len - 1] == '\n'));
	row_set_str(&row, HOST_KERNEL, u.release);
	row_set_str(&row, HOST_MACHINE, u.machine);
	row_set(&row, HOST_CPUS, sysconf(_SC_NPROCESSORS_ONLN));
	return row;
}
