/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE_BYTES 65536

int fd_write(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const uint8_t *)data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int fd_write_at(int fd, const void *data, size_t len, uint64_t offset)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const uint8_t *)data + done, len - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

ssize_t fd_read_at(int fd, void *to, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (uint8_t *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int fd_read_all(int fd, size_t max, struct buf *to)
{
	while (to->len <= max) {
		ssize_t n;

		if (buf_reserve(to, PIECE_BYTES) < 0)
			return -ENOMEM;
		n = read(fd, to->data + to->len, PIECE_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		to->len += (size_t)n;
	}
	return 0;
}

const char *temporary_folder(void)
{
	const char *named = secure_getenv("TMPDIR");

	return named && *named ? named : "/var/tmp";
}
