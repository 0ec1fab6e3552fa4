/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c: the build-id of an ELF file, from its notes: only two reads, because recording waits for it. */
#include "symbols/symbols.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX   64
#define NOTE_BYTES_MAX 4096

static size_t find_note(const uint8_t *notes, size_t len, uint8_t *ret)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name, desc;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		if (n.n_namesz > len || n.n_descsz > len)
			return 0;
		desc = name + align_up(n.n_namesz, 4);
		at = desc + align_up(n.n_descsz, 4);
		if (at > len)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz <= SYMBOLS_BUILD_ID_MAX) {
			memcpy(ret, notes + desc, n.n_descsz);
			return n.n_descsz;
		}
	}
	return 0;
}

size_t symbols_build_id(int fd, uint8_t ret[static SYMBOLS_BUILD_ID_MAX])
{
	uint8_t notes[NOTE_BYTES_MAX];
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t count, len = 0;
	Elf64_Ehdr e;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(segments[0]))
		return 0;
	count = MIN((size_t)e.e_phnum, (size_t)SEGMENTS_MAX);
	if (pread(fd, segments, count * sizeof(segments[0]), (off_t)e.e_phoff) !=
	    (ssize_t)(count * sizeof(segments[0])))
		return 0;
	for (size_t i = 0; i < count && !len; i++) {
		ssize_t n;

		if (segments[i].p_type != PT_NOTE)
			continue;
		n = pread(fd, notes, MIN(segments[i].p_filesz, sizeof(notes)),
			  (off_t)segments[i].p_offset);
		len = n > 0 ? find_note(notes, (size_t)n, ret) : 0;
	}
	return len;
}
