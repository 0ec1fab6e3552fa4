/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/contexts/remote_tls.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PHDRS_MAX   64
#define MODULES_MAX 4096
#define DYNAMIC_MAX 512 /* entries */
#define CHAIN_MAX   4096
#define RELOC_CHUNK 1024
#define RELOC_MAX   (1u << 20) /* relocations per table */
#define OFFSET_MAX  (1ll << 30)
#define NAME_MAX_   64

#ifndef R_X86_64_TLSDESC
#	define R_X86_64_TLSDESC 36
#endif

int remote_read(int32_t pid, uint64_t at, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)at, size};
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return n < 0 ? -errno : (size_t)n == size ? 0 : -EFAULT;
}

/* ---- /proc/PID/maps ---- */

struct maps {
	FILE *file;
	char *line;
	size_t cap;
	uint64_t start, end, pos;
	const char *name; /* "" if it has none */
};

static void maps_close(struct maps *m)
{
	if (m->file)
		fclose(m->file);
	free(m->line);
}

static void maps_open(struct maps *m, int32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	*m = (struct maps){.file = fopen(path, "re")};
}

static bool maps_next(struct maps *m)
{
	int name = 0;

	if (!m->file || getline(&m->line, &m->cap, m->file) <= 0)
		return false;
	m->line[strcspn(m->line, "\n")] = '\0';
	if (sscanf(m->line, "%lx-%lx %*s %lx %*s %*s %n", &m->start, &m->end, &m->pos, &name) < 3 ||
	    !name)
		return false;
	m->name = m->line + name;
	return true;
}

static bool maps_is(const struct maps *m, const char *name)
{
	static const char *const forms[] = {"/memfd:", "[anon_shmem:", "[anon:"};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i]);

		if (!strncmp(m->name, forms[i], len) && !strncmp(m->name + len, name, strlen(name)))
			return true;
	}
	return false;
}

bool remote_mapping(int32_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end)
{
	_cleanup_(maps_close) struct maps m;

	maps_open(&m, pid);
	while (maps_next(&m)) {
		if (!maps_is(&m, name))
			continue;
		*ret_start = m.start;
		*ret_end = m.end;
		return true;
	}
	return false;
}

#if defined(__x86_64__)

/* ---- a mapped program file ---- */

struct image {
	int32_t pid;
	uint64_t base; /* address of its first page */
	uint64_t bias; /* added to its own addresses to get those in the process */
	Elf64_Ehdr head;
	Elf64_Phdr phdrs[PHDRS_MAX];
	const Elf64_Phdr *tls;
	uint64_t symbols, strings, strings_size, gnu_hash, hash;
	struct {
		uint64_t at, size;
	} relocs[2]; /* DT_RELA, DT_JMPREL */
};

/* An address in the dynamic section, to which the C library's loader has usually added the bias. */
static uint64_t image_address(const struct image *im, uint64_t v)
{
	return v < im->bias ? v + im->bias : v;
}

static void image_dynamic(struct image *im, const Elf64_Dyn *d)
{
	uint64_t at = image_address(im, d->d_un.d_ptr);

	switch (d->d_tag) {
	case DT_SYMTAB:
		im->symbols = at;
		break;
	case DT_STRTAB:
		im->strings = at;
		break;
	case DT_STRSZ:
		im->strings_size = d->d_un.d_val;
		break;
	case DT_GNU_HASH:
		im->gnu_hash = at;
		break;
	case DT_HASH:
		im->hash = at;
		break;
	case DT_RELA:
		im->relocs[0].at = at;
		break;
	case DT_RELASZ:
		im->relocs[0].size = d->d_un.d_val;
		break;
	case DT_JMPREL:
		im->relocs[1].at = at;
		break;
	case DT_PLTRELSZ:
		im->relocs[1].size = d->d_un.d_val;
		break;
	}
}

static bool image_read_dynamic(struct image *im, const Elf64_Phdr *p)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t count = MIN(p->p_memsz / sizeof(*entries), (uint64_t)DYNAMIC_MAX);

	if (remote_read(im->pid, im->bias + p->p_vaddr, entries, count * sizeof(*entries)))
		return false;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		image_dynamic(im, &entries[i]);
	return im->symbols && im->strings && (im->gnu_hash || im->hash);
}

/* False: no file with a symbol table is mapped there. */
static bool image_open(struct image *im, int32_t pid, uint64_t base)
{
	const Elf64_Phdr *dynamic = NULL, *first = NULL;
	Elf64_Ehdr *h = &im->head;

	*im = (struct image){.pid = pid, .base = base};
	if (remote_read(pid, base, h, sizeof(*h)) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
	    h->e_phentsize != sizeof(*im->phdrs) || h->e_phnum > PHDRS_MAX ||
	    remote_read(pid, base + h->e_phoff, im->phdrs, h->e_phnum * sizeof(*im->phdrs)))
		return false;
	for (size_t i = 0; i < h->e_phnum; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];

		if (p->p_type == PT_LOAD && !first)
			first = p;
		if (p->p_type == PT_DYNAMIC)
			dynamic = p;
		if (p->p_type == PT_TLS)
			im->tls = p;
	}
	if (!first || !dynamic || !im->tls)
		return false;
	im->bias = base - first->p_vaddr + first->p_offset;
	return image_read_dynamic(im, dynamic);
}

static bool image_symbol(const struct image *im, uint32_t index, const char *name, Elf64_Sym *ret)
{
	char text[NAME_MAX_] = "";
	size_t len = strlen(name) + 1;

	assert(len <= sizeof(text));
	if (remote_read(im->pid, im->symbols + (uint64_t)index * sizeof(*ret), ret, sizeof(*ret)) ||
	    ELF64_ST_TYPE(ret->st_info) != STT_TLS || ret->st_shndx == SHN_UNDEF ||
	    ret->st_name >= im->strings_size || ret->st_value >= im->tls->p_memsz ||
	    remote_read(im->pid, im->strings + ret->st_name, text, len))
		return false;
	return !memcmp(text, name, len);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (uint8_t)*name;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

/* By DT_GNU_HASH: header, filter, buckets, and the hashes of symbols from head[1] on; the lowest bit ends a chain. */
static bool image_find_gnu(const struct image *im, const char *name, uint32_t *ret, Elf64_Sym *sym)
{
	uint32_t head[4], hash = gnu_hash(name), at, chain;
	uint64_t buckets, chains;

	if (remote_read(im->pid, im->gnu_hash, head, sizeof(head)) || !head[0])
		return false;
	buckets = im->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	chains = buckets + (uint64_t)head[0] * 4;
	if (remote_read(im->pid, buckets + (uint64_t)(hash % head[0]) * 4, &at, sizeof(at)) ||
	    at < head[1])
		return false;
	for (uint32_t n = 0; n < CHAIN_MAX; n++, at++) {
		if (remote_read(im->pid, chains + (uint64_t)(at - head[1]) * 4, &chain,
				sizeof(chain)))
			return false;
		if ((chain | 1) == (hash | 1) && image_symbol(im, at, name, sym)) {
			*ret = at;
			return true;
		}
		if (chain & 1)
			return false;
	}
	return false;
}

static bool image_find_sysv(const struct image *im, const char *name, uint32_t *ret, Elf64_Sym *sym)
{
	uint32_t head[2], at;
	uint64_t chains;

	if (remote_read(im->pid, im->hash, head, sizeof(head)) || !head[0])
		return false;
	chains = im->hash + sizeof(head) + (uint64_t)head[0] * 4;
	if (remote_read(im->pid, im->hash + sizeof(head) + sysv_hash(name) % head[0] * 4ull, &at,
			sizeof(at)))
		return false;
	for (uint32_t n = 0; n < CHAIN_MAX && at && at < head[1]; n++) {
		if (image_symbol(im, at, name, sym)) {
			*ret = at;
			return true;
		}
		if (remote_read(im->pid, chains + (uint64_t)at * 4, &at, sizeof(at)))
			return false;
	}
	return false;
}

/* ---- the location of the variable ---- */

static bool place_by_offset(int64_t offset, struct remote_tls *ret)
{
	*ret = (struct remote_tls){.offset = offset};
	return offset < 0 && offset > -OFFSET_MAX;
}

static bool place_in_module(uint64_t module, uint64_t offset, struct remote_tls *ret)
{
	*ret = (struct remote_tls){.module = (uint32_t)module, .offset = (int64_t)offset};
	return module && module <= MODULES_MAX && offset < (uint64_t)OFFSET_MAX;
}

/* The values that the loader stored for a relocation against the variable, or its module (symbol 0: bound within it). */
static bool place_of_reloc(const struct image *im, const Elf64_Rela *r, uint32_t index,
			   const Elf64_Sym *sym, struct remote_tls *ret)
{
	bool named = ELF64_R_SYM(r->r_info) == index,
	     local = !ELF64_R_SYM(r->r_info) && (uint64_t)r->r_addend == sym->st_value;
	uint64_t slot[2] = {0, 0}, inner[2];

	if (!named && ELF64_R_SYM(r->r_info))
		return false;
	if (remote_read(im->pid, im->bias + r->r_offset, slot,
			ELF64_R_TYPE(r->r_info) == R_X86_64_TPOFF64 ? 8 : 16))
		return false;
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_TPOFF64:
		return (named || local) && place_by_offset((int64_t)slot[0], ret);
	case R_X86_64_TLSDESC:
		if (!named && !local)
			return false;
		if ((int64_t)slot[1] < 0)
			return place_by_offset((int64_t)slot[1], ret);
		return slot[1] && !remote_read(im->pid, slot[1], inner, sizeof(inner)) &&
		       place_in_module(inner[0], inner[1], ret);
	case R_X86_64_DTPMOD64:
		return place_in_module(slot[0], named ? slot[1] : sym->st_value, ret);
	default:
		return false;
	}
}

static bool place_by_relocs(const struct image *im, uint32_t index, const Elf64_Sym *sym,
			    struct remote_tls *ret)
{
	Elf64_Rela chunk[RELOC_CHUNK];

	for (size_t t = 0; t < ARRAY_SIZE(im->relocs); t++) {
		uint64_t count = im->relocs[t].at ? im->relocs[t].size / sizeof(*chunk) : 0;

		count = MIN(count, (uint64_t)RELOC_MAX);
		for (uint64_t at = 0; at < count; at += RELOC_CHUNK) {
			size_t n = MIN(count - at, (uint64_t)RELOC_CHUNK);

			if (remote_read(im->pid, im->relocs[t].at + at * sizeof(*chunk), chunk,
					n * sizeof(*chunk)))
				break;
			for (size_t i = 0; i < n; i++) {
				uint32_t type = ELF64_R_TYPE(chunk[i].r_info);

				if ((type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC ||
				     type == R_X86_64_DTPMOD64) &&
				    place_of_reloc(im, &chunk[i], index, sym, ret))
					return true;
			}
		}
	}
	return false;
}

/* The main program's TLS block ends, aligned, at the thread's base. */
static bool place_in_main(const struct image *im, const Elf64_Sym *sym, struct remote_tls *ret)
{
	const Elf64_Phdr *t = im->tls;
	uint64_t align = t->p_align ? t->p_align : 1, size = t->p_memsz;

	if (align & (align - 1) || size > (uint64_t)OFFSET_MAX || align > (uint64_t)OFFSET_MAX)
		return false;
	size += -(t->p_vaddr + size) & (align - 1);
	return place_by_offset((int64_t)sym->st_value - (int64_t)size, ret);
}

/* The address of the main program's headers; 0: unknown. */
static uint64_t main_phdrs(int32_t pid)
{
	uint64_t at = 0;
	char path[32];
	Elf64_auxv_t a;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	f = fopen(path, "re");
	while (f && !at && fread(&a, sizeof(a), 1, f) == 1 && a.a_type != AT_NULL)
		at = a.a_type == AT_PHDR ? a.a_un.a_val : 0;
	if (f)
		fclose(f);
	return at;
}

/* -ENOENT, -EAGAIN or 0, as for remote_tls_find(). */
static int place_in_image(const struct image *im, const char *symbol, uint64_t main_at,
			  struct remote_tls *ret)
{
	uint32_t index;
	Elf64_Sym sym;

	if (!(im->gnu_hash && image_find_gnu(im, symbol, &index, &sym)) &&
	    !(im->hash && image_find_sysv(im, symbol, &index, &sym)))
		return -ENOENT;
	if (im->base + im->head.e_phoff == main_at)
		return place_in_main(im, &sym, ret) ? 0 : -EAGAIN;
	return place_by_relocs(im, index, &sym, ret) ? 0 : -EAGAIN;
}

int remote_tls_find(int32_t pid, const char *symbol, struct remote_tls *ret)
{
	_cleanup_(maps_close) struct maps m;
	uint64_t main_at = main_phdrs(pid);
	struct remote_tls place;
	size_t modules = 0;
	struct image im;
	int r = -ENOENT, one;

	maps_open(&m, pid);
	while (modules < MODULES_MAX && maps_next(&m)) {
		if (m.pos || m.name[0] != '/' || !image_open(&im, pid, m.start))
			continue;
		modules++;
		one = place_in_image(&im, symbol, main_at, &place);
		if (!one && r)
			*ret = place;
		else if (!one)
			ret->several |= place.module != ret->module || place.offset != ret->offset;
		r = r && one != -ENOENT ? one : r;
	}
	return r;
}

#else

int remote_tls_find(int32_t pid, const char *symbol, struct remote_tls *ret)
{
	return -ENOTSUP;
}

#endif
