// SPDX-License-Identifier: Apache-2.0
#include "enrich/secret.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"

#define NAME_MAX_LEN 64 /* bytes of an option or variable name; longer ones are not names */
#define TOKEN_MIN    12 /* consecutive letters and digits after a known prefix */
#define DEPTH_MAX    2	/* nesting of scripts */

/* ---- the patterns ---- */

/* Endings of names: "db-password", "PGPASSWORD", "clientSecret". Names are compared in lower case, with words separated
 * by "-". */
static const char *const name_ends[] = {
	"password",   "passwd",	     "passphrase",  "passcode",	  "secret",	 "apikey",
	"api-key",    "authtoken",   "accesstoken", "secretkey",  "secret-key",	 "accesskey",
	"access-key", "account-key", "accountkey",  "auth-key",	  "signing-key", "encryption-key",
	"shared-key", "storepass",   "keypass",	    "vault-pass", "dbpass",	 "userpass",
};

/* The same, as whole words: not "compass". "pwd" alone is the working directory. */
static const char *const name_words[] = {"token", "pass", "-pwd", "bearer"};

/* Headers, whose names are followed by a colon. */
static const char *const header_names[] = {"authorization", "proxy-authorization", "cookie",
					   "set-cookie"};

/* With one of these before the ending a name means something else: --no-password, --next-token, --max-token. */
static const char *const other_words[] = {
	"no",		"ask", "prompt", "with", "without", "disable", "next", "page", "starting",
	"continuation", "eos", "bos",	 "pad",	 "unk",	    "mask",    "sep",  "max",  "min",
};

/* Values that are not secrets. */
static const char *const no_values[] = {"true", "false", "yes",	   "no",
					"none", "null",	 "prompt", "stdin"};
static const char *const references[] = {
	"$", "env:", "file:", "fd:", "vault:", "id=", "@", SECRET_MASK};

/* Prefixes of the tokens that services issue. */
static const char *const token_begins[] = {
	"ghp_",	 "gho_",     "ghu_",	 "ghs_",  "ghr_",  "github_pat_", "glpat-",
	"xoxb-", "xoxp-",    "xoxa-",	 "xoxs-", "npm_",  "pypi-",	  "hf_",
	"sk-",	 "sk_live_", "rk_live_", "AIza",  "ya29.", "hvs.",	  "eyJ",
};

enum form {
	WHOLE,	    /* the entire value */
	USER_COLON, /* user:secret */
	USER_PERCENT,
	USER_COMMA,
};

/* Short options of programs; a trailing '*' matches any longer name. */
static const struct {
	const char *program, *letters;
	bool attached, separate; /* -pX, -p X */
	enum form form;
	const char *word; /* must precede it; NULL: none */
} short_options[] = {
	{"mysql*", "p", true, false, WHOLE, NULL},
	{"mariadb*", "p", true, false, WHOLE, NULL},
	{"mytop", "p", true, true, WHOLE, NULL},
	{"mydumper", "p", true, true, WHOLE, NULL},
	{"sshpass", "p", true, true, WHOLE, NULL},
	{"curl", "uU", true, true, USER_COLON, NULL},
	{"lftp", "u", true, true, USER_COMMA, NULL},
	{"redis-cli", "a", false, true, WHOLE, NULL},
	{"mongo*", "p", true, true, WHOLE, NULL},
	{"ldap*", "w", true, true, WHOLE, NULL},
	{"smbclient", "U", true, true, USER_PERCENT, NULL},
	{"rpcclient", "U", true, true, USER_PERCENT, NULL},
	{"7z*", "p", true, false, WHOLE, NULL},
	{"rar", "p", true, false, WHOLE, NULL},
	{"unrar", "p", true, false, WHOLE, NULL},
	{"zip", "P", true, true, WHOLE, NULL},
	{"unzip", "P", true, true, WHOLE, NULL},
	{"openssl", "kK", false, true, WHOLE, NULL},
	{"docker", "p", false, true, WHOLE, "login"},
	{"podman", "p", false, true, WHOLE, "login"},
	{"helm", "p", false, true, WHOLE, "login"},
	{"az", "p", false, true, WHOLE, "login"},
	{"ipmitool", "P", true, true, WHOLE, NULL},
	{"sqlcmd", "P", true, true, WHOLE, NULL},
	{"bcp", "P", true, true, WHOLE, NULL},
	{"tsql", "P", true, true, WHOLE, NULL},
	{"mosquitto_*", "P", false, true, WHOLE, NULL},
	{"snmp*", "AX", true, true, WHOLE, NULL},
	{"rdesktop", "p", true, true, WHOLE, NULL},
	{"useradd", "p", false, true, WHOLE, NULL},
	{"usermod", "p", false, true, WHOLE, NULL},
};

/* Long options of curl that take a user and a secret. */
static const char *const user_options[] = {"--user", "--proxy-user"};

/* In these programs --password prompts for it and takes no value. */
static const char *const asking[] = {"psql",	 "pg_*",   "createdb", "dropdb",
				     "vacuumdb", "mysql*", "mariadb*"};

/* ---- masked ranges ---- */

struct span {
	const char *from, *to;
};

struct mask {
	struct span *spans;
	size_t count, cap;
	int error;
};

static void hide(struct mask *m, const char *from, const char *to)
{
	if (m->error < 0 || from >= to)
		return;
	m->error = grow((void **)&m->spans, &m->cap, m->count + 1, sizeof(*m->spans));
	if (m->error >= 0)
		m->spans[m->count++] = (struct span){from, to};
}

/* ---- words ---- */

static bool is_one_of(const char *const *words, size_t count, const char *s, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(words[i]) == len && strncasecmp(words[i], s, len) == 0)
			return true;
	}
	return false;
}

#define IS_ONE_OF(words, s, len) is_one_of(words, ARRAY_SIZE(words), s, len)

static bool begins(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && strncasecmp(s, with, n) == 0;
}

/* The name of a program: the last component of a path. */
static struct span program_name(struct span word)
{
	const char *slash = memrchr(word.from, '/', (size_t)(word.to - word.from));

	return (struct span){slash ? slash + 1 : word.from, word.to};
}

/* "mysql*" is mysql, mysqldump, ... */
static bool is_program(const char *pattern, struct span name)
{
	size_t len = (size_t)(name.to - name.from), n = strlen(pattern);

	if (!len || *pattern != *name.from)
		return false;
	if (pattern[n - 1] == '*')
		return len >= n - 1 && strncmp(name.from, pattern, n - 1) == 0;
	return len == n && strncmp(name.from, pattern, n) == 0;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* "--dbPassword_2" -> "db-password": lower case, one dash between words. */
static void plain_name(const char *s, size_t len, char ret[static NAME_MAX_LEN])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 2 < NAME_MAX_LEN; i++) {
		bool letter = isalnum((unsigned char)s[i]);

		if ((!letter ||
		     (i && isupper((unsigned char)s[i]) && islower((unsigned char)s[i - 1]))) &&
		    n && ret[n - 1] != '-')
			ret[n++] = '-';
		if (letter)
			ret[n++] = (char)tolower((unsigned char)s[i]);
	}
	while (n && (isdigit((unsigned char)ret[n - 1]) || ret[n - 1] == '-'))
		n--;
	ret[n] = '\0';
}

static bool has_other_word(const char *name)
{
	for (const char *p = name; *p;) {
		size_t n = strcspn(p, "-");

		if (p[n] && IS_ONE_OF(other_words, p, n))
			return true;
		p += n + (p[n] == '-');
	}
	return false;
}

static bool is_secret_name(const char *s, size_t len)
{
	char name[NAME_MAX_LEN];
	size_t n;

	if (len >= NAME_MAX_LEN)
		return false;
	plain_name(s, len, name);
	n = strlen(name);
	if (has_other_word(name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(name_ends); i++) {
		size_t k = strlen(name_ends[i]);

		if (n >= k && strcmp(name + n - k, name_ends[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(name_words); i++) {
		size_t k = strlen(name_words[i]);

		if (n >= k && strcmp(name + n - k, name_words[i]) == 0 &&
		    (n == k || *name_words[i] == '-' || name[n - k - 1] == '-'))
			return true;
	}
	return false;
}

/* A single character is a number or a switch: ffmpeg -pass 1. */
static bool is_value(const char *from, const char *to)
{
	size_t len = (size_t)(to - from);

	for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
		if (begins(from, len, references[i]))
			return false;
	}
	return from < to && len > 1 && !IS_ONE_OF(no_values, from, len);
}

static void hide_value(struct mask *m, const char *from, const char *to)
{
	if (from < to && is_value(from, to))
		hide(m, from, to);
}

/* ---- anywhere within an argument ---- */

/* The end of a value that begins at `p` within other text: its closing quote, or a separator of words. */
static const char *value_end(const char **p, const char *end, const char *parts)
{
	const char *s = *p;
	bool escaped = end - s > 1 && s[0] == '\\' && (s[1] == '"' || s[1] == '\'');
	char quote;

	s += escaped;
	if (s < end && (*s == '"' || *s == '\'')) {
		quote = *s++;
		*p = s;
		while (s < end && *s != quote)
			s += *s == '\\' && s + 1 < end && !escaped ? 2 : 1;
		s = MIN(s, end);
		return s < end && escaped && s > *p && s[-1] == '\\' ? s - 1 : s;
	}
	while (s < end && !strchr(parts, *s))
		s++;
	return s;
}

/* name=value. An option's or variable's value extends to the end of its argument, unless that is a script or a list. */
static const char *hide_assigned(struct mask *m, struct span arg, const char *name,
				 const char *value, bool script)
{
	const char *end = arg.to, *p = value;
	bool first = name == arg.from;

	if (!first || (*arg.from != '-' && (script || memchr(value, '=', (size_t)(end - value)))))
		end = value_end(&p, arg.to, " \t\r\n,;&|)}]<>'\"");
	hide_value(m, p, end);
	return end;
}

/* name: value, "name": "value". A header's value extends to the end of its line. */
static const char *hide_after_colon(struct mask *m, struct span arg, const char *value, bool header)
{
	static const char *const schemes[] = {"basic", "bearer", "digest",
					      "token", "apikey", "negotiate"};
	const char *p = value, *end;

	while (p < arg.to && *p == ' ')
		p++;
	end = value_end(&p, arg.to, header ? "\r\n\"'" : " \t\r\n,;&}]'\"");
	if (header) {
		size_t word = 0;

		while (p + word < end && !isspace((unsigned char)p[word]))
			word++;
		if (p + word < end && IS_ONE_OF(schemes, p, word))
			p += word + 1;
	}
	hide_value(m, p, end);
	return end;
}

/* scheme://user:secret@host */
static const char *hide_userinfo(struct mask *m, struct span arg, const char *p)
{
	const char *end = p, *at = NULL, *colon;

	while (end < arg.to && !strchr("/?# \t\r\n'\"<>", *end)) {
		at = *end == '@' ? end : at;
		end++;
	}
	colon = at ? memchr(p, ':', (size_t)(at - p)) : NULL;
	if (colon)
		hide_value(m, colon + 1, at);
	return colon ? at : p;
}

/* The end of a token of a known format at `p`, or NULL. */
static const char *token_end(const char *p, const char *end)
{
	for (size_t i = 0; i < ARRAY_SIZE(token_begins); i++) {
		size_t n = strlen(token_begins[i]), row = 0, longest = 0;
		const char *s = p + n;
		bool digit = false, capital = false;

		if (*p != *token_begins[i] || (size_t)(end - p) < n ||
		    memcmp(p, token_begins[i], n) != 0)
			continue;
		for (; s < end && is_name_char(*s); s++) {
			digit |= isdigit((unsigned char)*s);
			capital |= isupper((unsigned char)*s);
			row = isalnum((unsigned char)*s) ? row + 1 : 0;
			longest = MAX(longest, row);
		}
		if (digit && capital && longest >= TOKEN_MIN)
			return s;
	}
	return NULL;
}

/* Also after "-H", which curl accepts without a space. */
static bool is_header(const char *s, size_t len)
{
	return IS_ONE_OF(header_names, s, len) ||
	       (begins(s, len, "-H") && IS_ONE_OF(header_names, s + 2, len - 2));
}

/* Handles what begins with a name at `p`; returns where to continue. */
static const char *scan_name(struct mask *m, struct span arg, const char *p, bool script)
{
	const char *end = p, *after, *token = token_end(p, arg.to);
	size_t len;
	bool header, blank;

	if (token) {
		hide(m, p, token);
		return token;
	}
	while (end < arg.to && is_name_char(*end))
		end++;
	len = (size_t)(end - p);
	after = end;
	if (after < arg.to && *after == '=')
		return is_secret_name(p, len) ? hide_assigned(m, arg, p, after + 1, script) : end;
	while (after < arg.to && strchr("\\\"'", *after) && after - end < 2)
		after++;
	if (after == arg.to || *after != ':')
		return end;
	header = is_header(p, len);
	blank = arg.to - after > 1 && after[1] == ' ';
	/* host:port is not a secret; pass:X is openssl's syntax */
	if (header || ((blank || after > end || (len == 4 && begins(p, len, "pass"))) &&
		       is_secret_name(p, len)))
		return hide_after_colon(m, arg, after + 1, header || (blank && p == arg.from));
	return end;
}

static void scan(struct mask *m, struct span arg, bool script)
{
	static const char key[] = "PRIVATE KEY-----";
	const char *begin = memmem(arg.from, (size_t)(arg.to - arg.from), key, strlen(key));

	if (begin)
		hide_value(m, begin + strlen(key), arg.to);
	for (const char *p = arg.from; p < arg.to;) {
		if (begins(p, (size_t)(arg.to - p), "://"))
			p = hide_userinfo(m, arg, p + 3);
		else if (is_name_char(*p))
			p = scan_name(m, arg, p, script);
		else
			p++;
	}
}

/* ---- options of known programs ---- */

static void hide_form(struct mask *m, enum form form, const char *from, const char *to)
{
	static const char part[] = {[USER_COLON] = ':', [USER_PERCENT] = '%', [USER_COMMA] = ','};
	const char *at = form == WHOLE ? from - 1 : memchr(from, part[form], (size_t)(to - from));

	if (at)
		hide_value(m, at + 1, to);
}

static bool has_word(const struct span *words, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		if ((size_t)(words[i].to - words[i].from) == strlen(word) &&
		    strncmp(words[i].from, word, strlen(word)) == 0)
			return true;
	}
	return false;
}

/* -pX and -p X of the current program. */
static void short_option(struct mask *m, const struct span *words, size_t count, size_t i,
			 struct span program)
{
	struct span w = words[i];

	for (size_t k = 0; k < ARRAY_SIZE(short_options); k++) {
		const char *word = short_options[k].word, *letters = short_options[k].letters;
		enum form form = short_options[k].form;
		bool first, last;

		if (w.to - w.from < 2 || !is_program(short_options[k].program, program) ||
		    (word && !has_word(words, i, word)))
			continue;
		first = strchr(letters, w.from[1]);
		/* curl -sSu user:secret */
		last = w.to - w.from == 2
			       ? first
			       : form != WHOLE && w.from[1] != '-' && strchr(letters, w.to[-1]);
		if (first && w.to - w.from > 2 && short_options[k].attached)
			hide_form(m, form, w.from + 2, w.to);
		if (last && short_options[k].separate && i + 1 < count)
			hide_form(m, form, words[i + 1].from, words[i + 1].to);
	}
}

static bool asks(struct span program)
{
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++) {
		if (is_program(asking[i], program))
			return true;
	}
	return false;
}

/* --password X, --user name:X */
static void long_option(struct mask *m, struct span w, struct span next, struct span program)
{
	size_t len = (size_t)(w.to - w.from);

	if (is_program("curl", program) && IS_ONE_OF(user_options, w.from, len))
		hide_form(m, USER_COLON, next.from, next.to);
	else if (next.from < next.to && *next.from != '-' && !asks(program) &&
		 !memchr(w.from, '=', len) && !memchr(w.from, ':', len) &&
		 is_secret_name(w.from, len))
		hide_value(m, next.from, next.to);
}

static bool is_known(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_options); i++) {
		if (is_program(short_options[i].program, name))
			return true;
	}
	return asks(name);
}

static int look_at(struct mask *m, struct span text, const char *parts, unsigned int depth);

/* sh -c SCRIPT, bash -lc, su -c; ssh HOST 'mysql ...' */
static bool is_script(struct span before, struct span arg)
{
	const char *blank = memchr(arg.from, ' ', (size_t)(arg.to - arg.from));

	if (!blank)
		return false;
	if (before.to - before.from > 1 && *before.from == '-' && before.from[1] != '-' &&
	    before.to[-1] == 'c')
		return true;
	return is_known(program_name((struct span){arg.from, blank}));
}

static bool is_dashes(struct span w)
{
	return w.to - w.from == 2 && w.from[0] == '-' && w.from[1] == '-';
}

/* The program is the first word, or a later word that is a known program: sudo mysql, env X=Y mysql. */
static void look_at_words(struct mask *m, const struct span *words, size_t count,
			  unsigned int depth)
{
	struct span program = count ? program_name(words[0]) : (struct span){"", ""};
	bool over = false;

	for (size_t i = 0; i < count && m->error >= 0; i++) {
		struct span w = words[i], before = i ? words[i - 1] : (struct span){w.from, w.from},
			    next = i + 1 < count ? words[i + 1] : (struct span){w.to, w.to};
		bool script = i && is_script(before, w);

		if (!depth)
			scan(m, w, script);
		if (script && depth < DEPTH_MAX)
			m->error = look_at(m, w, " \t\r\n;|&()", depth + 1);
		if (w.from == w.to)
			continue;
		if (*w.from == '-') {
			if (!over)

				short_option(m, words, count, i, program);
			long_option(m, w, next, program);
		} else if (i && is_program("sshpass", program) && before.to - before.from != 2) {
			over = true; /* from here on, -p is an option of ssh */
		} else if (i && (*before.from != '-' || is_dashes(before)) &&
			   is_known(program_name(w))) {
			program = program_name(w);
		}
	}
}

static int look_at(struct mask *m, struct span text, const char *parts, unsigned int depth)
{
	_cleanup_free_ struct span *words = NULL;
	size_t count = 0, cap = 0;

	for (const char *p = text.from; p < text.to; p++) {
		const char *from = p;

		while (p < text.to && !(*p ? strchr(parts, *p) != NULL : depth == 0))
			p++;
		if (depth && from == p)
			continue;
		if (array_add(words, count, cap, (struct span){from, p}) < 0)
			return -ENOMEM;
	}
	look_at_words(m, words, count, depth);
	return m->error;
}

/* ---- the masked copy ---- */

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return ORDER(x->from, y->from);
}

static int count_argument(struct secret_count *c, const char *from, const char *end)
{
	const char *to = memchr(from, 0, (size_t)(end - from));
	uint64_t hash = hash_bytes(from, (size_t)((to ? to : end) - from)), known;

	if (!c || recent_get(&c->seen, hash, &known))
		return 0;
	c->count++;
	return recent_set(&c->seen, hash, 1);
}

ssize_t secret_mask(struct bytes argv, struct buf *to, struct secret_count *different)
{
	struct mask m = {0};
	const char *all = (const char *)argv.data, *end = all + argv.len, *p = all, *arg = NULL;
	ssize_t masked = 0;
	int r = argv.len ? look_at(&m, (struct span){all, end}, "", 0) : 0;

	array_sort(m.spans, m.count, by_place);
	for (size_t i = 0; i < m.count && r >= 0; i++) {
		const char *before, *begin;

		if (m.spans[i].to <= p)
			continue; /* overlaps the previous one */
		m.spans[i].from = MAX(m.spans[i].from, p);
		before = memrchr(all, 0, (size_t)(m.spans[i].from - all));
		begin = before ? before + 1 : all;
		if (begin != arg) {
			masked++;
			r = count_argument(different, begin, end);
		}
		arg = begin;
		buf_append(to, p, (size_t)(m.spans[i].from - p));
		if (r >= 0)
			r = buf_append(to, SECRET_MASK, strlen(SECRET_MASK));
		p = m.spans[i].to;
	}
	if (r >= 0 && masked)
		r = buf_append(to, p, (size_t)(end - p));
	free(m.spans);
	return r < 0 ? r : masked;
}
