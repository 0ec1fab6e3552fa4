/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/probes/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/nearest.h"

#define NOTES	  ".note.stapsdt"
#define OWNER	  "stapsdt"
#define NOTE_TYPE 3
#define ADDRESSES 3   /* of the probe, the section's base, the semaphore */
#define LIST_MAX  600 /* bytes of the list in an error */

struct probe_file {
	int fd;
	Elf *elf;
};

static void probe_file_close(struct probe_file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

static int probe_file_open(struct probe_file *f, const char *path, struct error *err)
{
	struct stat st;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return error_errno(err, -errno, "cannot open %.700s", path);
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
		return error_set(err, -ENOEXEC, "%.700s is not a program or library", path);
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return error_set(err, -ENOEXEC,
				 "%.700s is not a program or library (ELF); for a script, name its "
				 "interpreter",
				 path);
	if (gelf_getclass(f->elf) != ELFCLASS64)
		return error_set(err, -ENOTSUP,
				 "%.700s is a 32-bit file: its probes cannot be used", path);
	return 0;
}

/* A probe's note, in the section's memory. */
struct usdt_note {
	const char *provider, *name, *args;
};

/* The three texts of a note, each with its NUL. */
static bool note_texts(const char *at, size_t len, struct usdt_note *ret)
{
	const char **const texts[] = {&ret->provider, &ret->name, &ret->args};

	if (len < ADDRESSES * sizeof(uint64_t))
		return false;
	at += ADDRESSES * sizeof(uint64_t);
	len -= ADDRESSES * sizeof(uint64_t);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t text_len = strnlen(at, len);

		if (text_len == len)
			return false;
		*texts[i] = at;
		at += text_len + 1;
		len -= text_len + 1;
	}
	return true;
}

/* How many arguments a probe has: "8@%rax -4@$5". */
static unsigned int note_args(const struct usdt_note *n)
{
	unsigned int count = 0;

	for (const char *at = n->args; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		count += *at != 0;
	}
	return count;
}

static Elf_Data *notes_of(const struct probe_file *f)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return NULL;
	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		name = elf_strptr(f->elf, names, header.sh_name);
		if (name && !strcmp(name, NOTES))
			return elf_getdata(section, NULL);
	}
	return NULL;
}

static bool notes_next(Elf_Data *data, size_t *at, struct usdt_note *ret)
{
	GElf_Nhdr header;
	size_t name, desc;

	while (data && (*at = gelf_getnote(data, *at, &header, &name, &desc))) {
		const char *bytes = data->d_buf;

		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(OWNER) &&
		    !memcmp(bytes + name, OWNER, sizeof(OWNER)) &&
		    note_texts(bytes + desc, header.n_descsz, ret))
			return true;
	}
	return false;
}

/* Adds "provider:name", unless it is already listed or the list is full; counts those that do not fit. */
static int probe_list(struct buf *list, const struct usdt_note *n, size_t *left_out)
{
	_cleanup_buf_ struct buf word = {0};
	int r = buf_printf(&word, "%s:%s, ", n->provider, n->name);

	if (r < 0 || strstr(buf_str(list), buf_str(&word)))
		return r;
	if (list->len + word.len > LIST_MAX) {
		(*left_out)++; /* may count duplicates, so the number is not shown */
		return 0;
	}
	return buf_append(list, word.data, word.len);
}

static int usdt_missing(const struct probe_file *f, const struct probe_point *p, struct error *err)
{
	struct nearest near = {.word = p->name};
	_cleanup_buf_ struct buf list = {0};
	Elf_Data *data = notes_of(f);
	struct usdt_note n;
	size_t at = 0, left_out = 0;
	int r = 0;

	if (!data)
		return error_set(err, -ENOENT,
				 "%.700s has no probes (USDT); readelf -n lists those of a file",
				 p->path);
	while (r >= 0 && notes_next(data, &at, &n)) {
		nearest_offer(&near, n.name);
		r = probe_list(&list, &n, &left_out);
	}
	if (r < 0)
		return error_set(err, r, "out of memory");
	if (list.len >= 2)
		list.data[list.len - 2] = 0;
	return error_set(err, -ENOENT, "%.200s has no probe %s%s%.60s%s%s%s: it has %s%s", p->path,
			 p->provider, *p->provider ? ":" : "", p->name,
			 near.best ? " (did you mean " : "", near.best ? near.best : "",
			 near.best ? "?)" : "", list.len ? buf_str(&list) : "none",
			 left_out ? ", ..." : "");
}

static int usdt_check(const struct probe_file *f, struct probe_point *p, struct error *err)
{
	unsigned int wanted = 0, has = 0;
	Elf_Data *data = notes_of(f);
	struct usdt_note n;
	bool found = false;
	size_t at = 0;

	for (size_t i = 0; i < p->arg_count; i++)
		wanted = MAX(wanted, p->args[i].number + 1u);
	while (notes_next(data, &at, &n)) {
		if (strcmp(n.name, p->name) != 0 ||
		    (*p->provider && strcmp(n.provider, p->provider) != 0))
			continue;
		if (found && strcmp(n.provider, p->provider) != 0)
			return error_set(err, -EINVAL,
					 "%.200s has %s:%s and %s:%s: name the provider", p->path,
					 p->provider, p->name, n.provider, n.name);
		if (strlen(n.provider) >= sizeof(p->provider))
			continue;
		memcpy(p->provider, n.provider, strlen(n.provider) + 1);
		has = found ? MIN(has, note_args(&n)) : note_args(&n);
		found = true;
	}
	if (!found)
		return usdt_missing(f, p, err);
	if (wanted > has)
		return error_set(err, -EINVAL,
				 "the probe %s:%s of %.400s has %u argument%s, not %u", p->provider,
				 p->name, p->path, has, has == 1 ? "" : "s", wanted);
	return 0;
}

/* Checks the functions that a symbol table defines. True: one has the name. */
static bool symbols_have(const struct probe_file *f, Elf_Scn *section, struct nearest *near,
			 size_t *count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	size_t entries;

	if (!data || !gelf_getshdr(section, &header) || !header.sh_entsize)
		return false;
	entries = header.sh_size / header.sh_entsize;
	for (size_t i = 0; i < entries && i < INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(f->elf, header.sh_link, symbol.st_name);
		if (!name)
			continue;
		if (!strcmp(name, near->word))
			return true;
		nearest_offer(near, name);
		(*count)++;
	}
	return false;
}

static int function_check(const struct probe_file *f, const struct probe_point *p,
			  struct error *err)
{
	struct nearest near = {.word = p->name};
	Elf_Scn *section = NULL;
	size_t count = 0;

	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
		    symbols_have(f, section, &near, &count))
			return 0;
	}
	return count ? error_set(err, -ENOENT, "%.400s has no function %.200s%s%s%s", p->path,
				 p->name, near.best ? ": did you mean " : "",
				 near.best ? near.best : "", near.best ? "?" : "")
		     : error_set(err, -ENOENT, "%.400s has no symbols (it is stripped)", p->path);
}

/* ---- stacks ---- */

static bool file_is_go(const struct probe_file *f)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return false;
	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(f->elf, names, header.sh_name)
					   : NULL;

		if (name && (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".gopclntab")))
			return true;
	}
	return false;
}

/* Whether it calls the C library's or Boost's functions to switch stacks; the C library itself only defines them. */
static bool symbol_switches(const char *name, bool undefined)
{
	static const char *const library[] = {"makecontext", "swapcontext", "setcontext"};

	for (size_t i = 0; undefined && i < ARRAY_SIZE(library); i++) {
		if (!strcmp(name, library[i]))
			return true;
	}
	return !strcmp(name, "jump_fcontext") || !strcmp(name, "make_fcontext");
}

static bool symbols_switch(const struct probe_file *f, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;

	if (!data || !gelf_getshdr(section, &header) || !header.sh_entsize)
		return false;
	for (size_t i = 0; i < header.sh_size / header.sh_entsize && i < INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name = gelf_getsym(data, (int)i, &symbol)
					   ? elf_strptr(f->elf, header.sh_link, symbol.st_name)
					   : NULL;

		if (name && symbol_switches(name, symbol.st_shndx == SHN_UNDEF))
			return true;
	}
	return false;
}

static bool file_switches(const struct probe_file *f)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
		    symbols_switch(f, section))
			return true;
	}
	return false;
}

static int return_check(const struct probe_file *f, struct probe_point *p, struct error *err)
{
	if (file_is_go(f))
		return error_set(err, -EINVAL,
				 "%.400s is a Go program, which moves its stacks: the kernel would "
				 "kill it when %.200s returns; give END as a probe of its own, as "
				 "in ': FUNCTION'",
				 p->path, p->name);
	p->switches = file_switches(f);
	return 0;
}

int probe_file_check(struct probe_point *p, struct error *err)
{
	_cleanup_(probe_file_close) struct probe_file f = {.fd = -1};
	int r = probe_file_open(&f, p->path, err);

	if (r >= 0 && p->kind == PROBE_RETURN)
		r = return_check(&f, p, err);
	if (r < 0)
		return r;
	return p->kind == PROBE_USDT ? usdt_check(&f, p, err) : function_check(&f, p, err);
}
