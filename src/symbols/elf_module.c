/* SPDX-License-Identifier: Apache-2.0 */
/* elf_module.c: the functions, unwind tables and lines of a program file, by libdw. */
#include "symbols/internal.h"

#include "base/array.h"

#ifdef HAVE_LIBDW
#	include <dlfcn.h>
#	include <dwarf.h>
#	include <elfutils/libdwfl.h>
#	include <fcntl.h>
#	include <string.h>
#	include <unistd.h>

#	if defined(__x86_64__)
#		define REG_STACK 7
#		define REG_FRAME 6
#	else
#		define REG_STACK 31
#		define REG_FRAME 29
#	endif
#	define SEGMENTS_MAX 16

struct function {
	uint64_t start, size;
	const char *name; /* owned by libdw */
	char *plain;	  /* demangled; NULL: not tried, or not mangled */
	bool global, tried;
};

struct segment {
	uint64_t pos, size, address;
};

struct elf_module {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	int fd; /* borrowed */
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
	struct function *functions; /* sorted by start */
	size_t function_count;
	Dwarf_CFI *cfi;
	Dwarf_Addr bias, cfi_bias;
};

static char *debug_path; /* NULL: libdw's default */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

static void elf_segments(struct elf_module *m)
{
	Elf *elf = dwfl_module_getelf(m->mod, &m->bias);
	size_t count = 0;
	GElf_Phdr room;

	if (!elf || elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && m->segment_count < SEGMENTS_MAX; i++) {
		const GElf_Phdr *p = gelf_getphdr(elf, (int)i, &room);

		if (p && p->p_type == PT_LOAD)
			m->segments[m->segment_count++] =
				(struct segment){p->p_offset, p->p_filesz, p->p_vaddr};
	}
}

/* The module's virtual address of a file position. */
static bool elf_address(const struct elf_module *m, uint64_t at, uint64_t *ret)
{
	for (size_t i = 0; i < m->segment_count; i++) {
		const struct segment *s = &m->segments[i];

		/* the kernel maps whole pages */
		if (at >= (s->pos & ~4095ull) && at < s->pos + s->size) {
			*ret = at - s->pos + s->address;
			return true;
		}
	}
	return false;
}

static int function_compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* of several names the last one is used: a global one with a size */
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	if (x->global != y->global)
		return x->global ? 1 : -1;
	/* prefer read, which programs call, to __read or __GI___read */
	if (strspn(x->name, "_") != strspn(y->name, "_"))
		return strspn(x->name, "_") > strspn(y->name, "_") ? -1 : 1;
	return -strcmp(x->name, y->name);
}

static void elf_functions(struct elf_module *m)
{
	int count = dwfl_module_getsymtab(m->mod);
	size_t cap = 0;

	for (int i = 1; i < count; i++) {
		GElf_Addr address;
		GElf_Word section;
		GElf_Sym sym;
		const char *name =
			dwfl_module_getsym_info(m->mod, i, &sym, &address, &section, NULL, NULL);
		int type = GELF_ST_TYPE(sym.st_info);

		if (!name || !*name || section == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		if (type == STT_NOTYPE && (name[0] == '$' || name[0] == '.'))
			continue; /* assembler labels */
		if (grow((void **)&m->functions, &cap, m->function_count + 1,
			 sizeof(*m->functions)) < 0)
			break;
		m->functions[m->function_count++] = (struct function){
			.start = address,
			.size = sym.st_size,
			.name = name,
			.global = GELF_ST_BIND(sym.st_info) != STB_LOCAL,
		};
	}
	array_sort(m->functions, m->function_count, function_compare);
}

static bool same_build_id(Dwfl_Module *mod, const struct symbols_module *m)
{
	const unsigned char *bits;
	GElf_Addr address;
	int len = dwfl_module_build_id(mod, &bits, &address);

	return !m->build_id_len ||
	       (len == (int)m->build_id_len && !memcmp(bits, m->build_id, m->build_id_len));
}

struct elf_module *elf_module_open(const struct symbols_module *of)
{
	_cleanup_(elf_module_freep) struct elf_module *m = calloc(1, sizeof(*m));
	int fd = of->fd >= 0 ? fcntl(of->fd, F_DUPFD_CLOEXEC, 0)
			     : open(of->path, O_RDONLY | O_CLOEXEC);

	if (!m || fd < 0) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	m->fd = fd;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl)
		return NULL;
	dwfl_report_begin(m->dwfl);
	/* libdw closes the descriptor passed to it. */
	fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	m->mod = dwfl_report_elf(m->dwfl, of->path, of->path, fd, 0, false);
	if (!m->mod && fd >= 0)
		close(fd);
	if (!m->mod || dwfl_report_end(m->dwfl, NULL, NULL) || !same_build_id(m->mod, of))
		return NULL;
	elf_segments(m);
	elf_functions(m);
	m->cfi = dwfl_module_eh_cfi(m->mod, &m->cfi_bias);
	return TAKE_PTR(m);
}

void elf_module_free(struct elf_module *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->function_count; i++)
		free(m->functions[i].plain);
	free(m->functions);
	if (m->dwfl)
		dwfl_end(m->dwfl);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

/* By the C++ library, if it is loaded. */
static char *function_demangle(const char *name)
{
	static char *(*demangle)(const char *, char *, size_t *, int *);
	static bool tried;
	int status = 0;

	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	if (!tried) {
		void *library = dlopen("libstdc++.so.6", RTLD_NOW);

		tried = true;
		if (library)
			*(void **)&demangle = dlsym(library, "__cxa_demangle");
	}
	return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

/* The last function that begins at or before the address. */
static struct function *elf_function(struct elf_module *m, uint64_t address)
{
	size_t low = array_first(i, 0, m->function_count, m->functions[i].start > address);

	for (size_t i = low, looks = 0; i-- > 0 && looks < 8; looks++) {
		struct function *f = &m->functions[i];

		if (address - f->start < f->size)
			return f;
	}
	/* assembly functions have no size; an address past the end of a sized one does not belong to it */
	return low && !m->functions[low - 1].size ? &m->functions[low - 1] : NULL;
}

const char *elf_module_name(struct elf_module *m, uint64_t at)
{
	uint64_t address;
	struct function *f =
		elf_address(m, at, &address) ? elf_function(m, address + m->bias) : NULL;

	if (!f)
		return NULL;
	if (!f->tried) {
		f->tried = true;
		f->plain = function_demangle(f->name);
	}
	return f->plain ? f->plain : f->name;
}

int elf_module_line(struct elf_module *m, uint64_t at, struct buf *out)
{
	const char *file = NULL;
	Dwfl_Line *line;
	uint64_t address;
	int number = 0;

	if (!elf_address(m, at, &address))
		return 0;
	line = dwfl_module_getsrc(m->mod, address + m->bias);
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	return file ? buf_printf(out, " %s:%d", file, number) : 0;
}

/* Where the caller's frame pointer is, in words above the stack pointer; the return address is at return_word. */
static uint64_t elf_frame_word(Dwarf_Frame *frame, uint64_t return_word)
{
	Dwarf_Op room[3], *ops = NULL;
	size_t count = 0;

	/* no operations: it is in its register, or unknown */
	if (dwarf_frame_register(frame, REG_FRAME, room, &ops, &count) || !count)
		return SYMBOLS_NONE;
	/* an offset from the canonical frame address, the word above the return address */
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		return return_word + 1 + (uint64_t)((int64_t)ops[1].number / 8);
	return SYMBOLS_NONE - 1;
}

struct unwind_rule elf_module_rule(struct elf_module *m, uint64_t at)
{
	struct unwind_rule rule = {.kind = m->cfi ? UNWIND_NONE : UNWIND_UNKNOWN};
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	uint64_t address, reg = 0;
	int64_t offset = 0;

	if (!m->cfi || !elf_address(m, at, &address) ||
	    dwarf_cfi_addrframe(m->cfi, address + m->bias - m->cfi_bias, &frame))
		return rule;
	if (!dwarf_frame_cfa(frame, &ops, &count) && count == 1) {
		if (ops[0].atom == DW_OP_bregx) {
			reg = ops[0].number;
			offset = (int64_t)ops[0].number2;
		} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
			reg = ops[0].atom - DW_OP_breg0;
			offset = (int64_t)ops[0].number;
		} else {
			offset = -1;
		}
		if (offset == 16 && reg == REG_FRAME)
			rule.kind = UNWIND_FRAME;
		else if (offset >= 8 && !(offset & 7) && reg == REG_STACK)
			rule = (struct unwind_rule){
				UNWIND_STACK, (uint64_t)offset / 8 - 1,
				elf_frame_word(frame, (uint64_t)offset / 8 - 1)};
	}
	free(frame);
	return rule;
}

bool elf_module_calls(const struct elf_module *m, uint64_t at)
{
#	if defined(__x86_64__)
	uint8_t b[8];

	if (at < sizeof(b) || pread(m->fd, b, sizeof(b), (off_t)(at - sizeof(b))) != sizeof(b))
		return true;
	return b[3] == 0xe8 || (b[2] == 0xff && (b[3] == 0x15 || (b[3] & 0xf8) == 0x90)) ||
	       (b[6] == 0xff && (b[7] & 0xf8) == 0xd0) || (b[5] == 0xff && (b[6] & 0xf8) == 0x50) ||
	       (b[4] == 0xff && (b[5] & 0xf8) == 0x50);
#	else
	return true;
#	endif
}

#else

struct elf_module *elf_module_open(const struct symbols_module *of)
{
	return NULL;
}

void elf_module_free(struct elf_module *m)
{
}

const char *elf_module_name(struct elf_module *m, uint64_t at)
{
	return NULL;
}

int elf_module_line(struct elf_module *m, uint64_t at, struct buf *out)
{
	return 0;
}

struct unwind_rule elf_module_rule(struct elf_module *m, uint64_t at)
{
	return (struct unwind_rule){.kind = UNWIND_UNKNOWN};
}

bool elf_module_calls(const struct elf_module *m, uint64_t at)
{
	return true;
}
#endif
