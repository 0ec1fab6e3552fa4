// SPDX-License-Identifier: Apache-2.0
#include "batch/host_row.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>

#define BOOT_MAX 64 /* bytes of the boot's id with a line end */

int batch_set_add_host(struct batch_set *s, int64_t id, struct batch **ret_b, size_t *ret_row)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct batch *b = NULL;
	char boot[BOOT_MAX];
	struct utsname u;
	size_t row = 0;
	ssize_t len = fd < 0 ? -1 : read(fd, boot, sizeof(boot));
	int r = batch_set_add_row(s, TABLE_HOST, &b, &row);

	if (r >= 0 && uname(&u))
		return -errno;
	if (r >= 0)
		r = batch_set(b, HOST_ID, row, id);
	if (r >= 0)
		r = batch_set_str(b, HOST_NAME, row, u.nodename);
	if (r >= 0 && len > 1)
		r = batch_set_bytes(b, HOST_BOOT, row, boot, (size_t)len - (boot[len - 1] == '\n'));
	if (r >= 0)
		r = batch_set_str(b, HOST_KERNEL, row, u.release);
	if (r >= 0)
		r = batch_set_str(b, HOST_MACHINE, row, u.machine);
	if (r >= 0)
		r = batch_set(b, HOST_CPUS, row, sysconf(_SC_NPROCESSORS_ONLN));
	*ret_b = b;
	*ret_row = row;
	return r;
}
