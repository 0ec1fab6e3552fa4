/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/flags.h"

#include <stdio.h>
#include <string.h>

#include "schema/vocab.h"
#include "schema/words.h"

static const char *flags_find_word(const struct flag_word *words, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i].value == value)
			return words[i].name;
	}
	return NULL;
}

static const char *flags_code_word(enum word_set set, uint64_t code)
{
	const struct flag_set *s = flag_set(set);

	return set == WORDS_FAMILY ? vocab_word("family", (int64_t)code)
				   : flags_find_word(s->codes, s->code_count, code);
}

const char *flags_word(enum word_set set, uint64_t value)
{
	const struct flag_set *s = flag_set(set);
	const char *word = NULL;

	if (s->mask && (value & s->mask) == value)
		word = flags_code_word(set, value);
	if (!word)
		word = flags_find_word(s->bits, s->bit_count, value);
	return word || value ? word : s->none;
}

static const char *bar(const struct buf *to, size_t start)
{
	return to->len > start ? "|" : "";
}

/* Prints the names of the bits; *ret_rest: the bits without a name. */
static int print_bits(struct buf *to, size_t start, const struct flag_set *s, uint64_t bits,
		      uint64_t *ret_rest)
{
	assert(to->len >= start);
	for (size_t i = 0; i < s->bit_count && bits; i++) {
		if (!s->bits[i].value || (bits & s->bits[i].value) != s->bits[i].value)
			continue;
		buf_printf(to, "%s%s", bar(to, start), s->bits[i].name);
		bits &= ~s->bits[i].value;
	}
	*ret_rest = bits;
	return buf_status(to);
}

static int print_number(struct buf *to, const struct flag_set *s, size_t start, uint64_t value)
{
	bool alone = to->len == start;

	return buf_printf(to, "%s%#llx%s%s%s", bar(to, start), (unsigned long long)value,
			  alone && s->what ? " /* " : "", alone && s->what ? s->what : "",
			  alone && s->what ? " */" : "");
}

/* An ioctl without a name: its bits encode direction, type, number and size. */
static int print_ioctl(struct buf *to, uint64_t cmd)
{
	static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						 "_IOC_READ|_IOC_WRITE"};

	return buf_printf(to, "_IOC(%s, %#x, %#x, %#x)", directions[cmd >> 30 & 3],
			  (unsigned int)(cmd >> 8 & 0xff), (unsigned int)(cmd & 0xff),
			  (unsigned int)(cmd >> 16 & 0x3fff));
}

static int print_quota(struct buf *to, uint64_t cmd)
{
	static const char *const types[] = {"USRQUOTA", "GRPQUOTA", "PRJQUOTA"};
	const char *word = flags_code_word(WORDS_QUOTACTL, cmd >> 8 & 0xffffff);
	unsigned int type = cmd & 0xff;

	if (word)
		buf_printf(to, "QCMD(%s, ", word);
	else
		buf_printf(to, "QCMD(%#x /* Q_??? */, ", (unsigned int)(cmd >> 8 & 0xffffff));
	return type < ARRAY_SIZE(types) ? buf_printf(to, "%s)", types[type])
					: buf_printf(to, "%#x)", type);
}

/* Values that are not a set of names. True: *ret is the result. */
static bool print_special(struct buf *to, enum word_set set, uint64_t value, int *ret)
{
	if (set == WORDS_QUOTACTL)
		*ret = print_quota(to, value & UINT32_MAX);
	else if (set == WORDS_IOCTL && !flags_code_word(set, value & UINT32_MAX))
		*ret = print_ioctl(to, value & UINT32_MAX);
	else if (set == WORDS_SIGNAL && !flags_code_word(set, value & UINT32_MAX))
		*ret = buf_printf(to, "%d", (int)value);
	else
		return false;
	return true;
}

static int print_nothing(struct buf *to, const struct flag_set *s)
{
	/* for a command, 0 is a value like any other, here an unknown one */
	if (s->mask == UINT32_MAX && s->what)
		return buf_printf(to, "0 /* %s */", s->what);
	return buf_printf(to, "%s", s->none ? s->none : "0");
}

int flags_print(struct buf *to, enum word_set set, uint64_t value)
{
	const struct flag_set *s = flag_set(set);
	size_t start = to->len;
	uint64_t code, bits;
	const char *word;
	int r = 0;

	assert(!(s->mask & s->number)); /* a bit belongs to the code or to the number */
	assert(s->wide || !((s->mask | s->number) >> 32));
	if (print_special(to, set, value, &r))
		return r;
	if (!s->wide)
		value &= UINT32_MAX;
	code = value & s->mask;
	bits = value & ~s->mask & ~s->number;
	word = s->mask ? flags_code_word(set, code) : NULL;
	if (!value && !word && !s->number)
		return print_nothing(to, s);
	if (word && !s->code_last) {
		buf_printf(to, "%s", word);
	} else if (code && !word && !s->code_last) {
		bits |= code; /* unknown: shown with the other bits without a name */
	}
	print_bits(to, start, s, bits, &bits);
	if (s->shift && bits >> s->shift) {
		buf_printf(to, "%s%llu<<MAP_HUGE_SHIFT", bar(to, start),
			   (unsigned long long)(bits >> s->shift));
		bits &= (1ull << s->shift) - 1;
	}
	if (bits)
		print_number(to, s, start, bits);
	if (s->number) {
		buf_printf(to, s->octal ? "%s%#03llo" : "%s%llu", bar(to, start),
			   (unsigned long long)(value & s->number));
	}
	r = buf_status(to);
	if (s->code_last && word)
		return buf_printf(to, "%s%s", bar(to, start), word);
	if (s->code_last && code)
		return buf_printf(to, "%s%llu", bar(to, start), (unsigned long long)code);
	return 0;
}

/* ---- numbers with their own encoding ---- */

int flags_print_mode(struct buf *to, uint64_t mode)
{
	static const struct flag_word types[] = {
		{0140000, "S_IFSOCK"}, {0120000, "S_IFLNK"}, {0100000, "S_IFREG"},
		{0060000, "S_IFBLK"},  {0040000, "S_IFDIR"}, {0020000, "S_IFCHR"},
		{0010000, "S_IFIFO"},
	};
	static const struct flag_word high[] = {
		{04000, "S_ISUID"}, {02000, "S_ISGID"}, {01000, "S_ISVTX"}};
	const char *type = flags_find_word(types, ARRAY_SIZE(types), mode & 0170000);

	mode &= UINT32_MAX;
	if (type) {
		buf_printf(to, "%s|", type);
		mode &= ~0170000ull;
	}
	for (size_t i = 0; type && i < ARRAY_SIZE(high); i++) {
		if (!(mode & high[i].value))
			continue;
		buf_printf(to, "%s|", high[i].name);
		mode &= ~high[i].value;
	}
	return buf_printf(to, "%#03llo", (unsigned long long)mode);
}

int flags_print_dev(struct buf *to, uint64_t dev)
{
	unsigned int major = (dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffull);
	unsigned int minor = (dev & 0xff) | (dev >> 12 & ~0xffull);

	return buf_printf(to, "makedev(%#x, %#x)", major, minor);
}
