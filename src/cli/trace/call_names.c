/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/call_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/terminal/format.h"
#include "schema/flags.h"

#define ADDRESS_TEXT_MAX 160

void call_put(struct call_writer *w, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert(n >= 0 &&
	       (size_t)n < sizeof(text)); /* names chosen by programs are never formatted here */
	buf_append(w->to, text, (size_t)n);
}

/* Prints a name, shortened in the middle if the style requires it, and always escaped. */
static void call_names_put_name(struct call_writer *w, struct bytes text, const char *also)
{
	if (w->style->path_max)
		format_path(w->to, text.data, text.len, w->style->path_max);
	else
		call_text_escape(w->to, text, also);
}

static void put_quoted(struct call_writer *w, struct bytes text)
{
	call_put(w, "\"");
	call_names_put_name(w, text, "\"");
	call_put(w, "\"");
}

/* ---- descriptors ---- */

static const char *socket_kind(const struct dims_file *f)
{
	int64_t type = f->proto >= 0 ? f->proto >> 16 : -1;

	switch (f->family) {
	case AF_UNIX:
		return type == SOCK_STREAM	? "UNIX-STREAM"
		       : type == SOCK_DGRAM	? "UNIX-DGRAM"
		       : type == SOCK_SEQPACKET ? "UNIX-SEQPACKET"
						: "UNIX";
	case AF_INET:
		return type == SOCK_STREAM ? "TCP" : type == SOCK_DGRAM ? "UDP" : "RAW";
	case AF_INET6:
		return type == SOCK_STREAM ? "TCPv6" : type == SOCK_DGRAM ? "UDPv6" : "RAWv6";
	case AF_NETLINK:
		return "NETLINK";
	case AF_PACKET:
		return "PACKET";
	default:
		return "socket";
	}
}

/* The name in "unix:/x", "unix:@x"; empty if there is none. */
static struct bytes unix_name(struct bytes address)
{
	if (address.len <= 5 || memcmp(address.data, "unix:", 5))
		return (struct bytes){NULL, 0};
	return (struct bytes){address.data + 5, address.len - 5};
}

static void call_names_put_socket(struct call_writer *w, const struct dims_file *f)
{
	struct bytes local = unix_name(f->local), peer = unix_name(f->peer);

	call_put(w, "%s:[", socket_kind(f));
	if (f->family != AF_UNIX && (f->local.len || f->peer.len)) {
		call_text_escape(w->to, f->local, "<>");
		if (f->peer.len)
			call_put(w, "->");
		call_text_escape(w->to, f->peer, "<>");
	} else {
		call_put(w, "%llu", (unsigned long long)f->ino);
		if (peer.len) {
			call_put(w, "->");
			put_quoted(w, peer);
		}
		if (local.len) {
			call_put(w, ",");
			put_quoted(w, local);
		}
	}
	call_put(w, "]");
}

/* True if the file's last name had been removed before this call. */
static bool is_deleted(const struct call_writer *w, const struct dims_file *f)
{
	int64_t start = call_value(w, OP_START, INT64_MIN);

	return f->deleted != INT64_MIN && start != INT64_MIN && f->deleted <= start;
}

void call_put_fd(struct call_writer *w, int64_t fd, int64_t file_id)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, file_id, &room) : NULL;

	call_put(w, "%lld", (long long)fd);
	if (!f || f->name_only || fd < 0)
		return;
	call_put(w, "<");
	if (f->family >= 0) {
		call_names_put_socket(w, f);
	} else {
		call_names_put_name(w, dims_file_version_name(w->dims, file_id), "<>");
	}
	call_put(w, is_deleted(w, f) ? ">(deleted)" : ">");
}

/* "<name>" after a descriptor. */
static void put_folder(struct call_writer *w, struct bytes name)
{
	call_put(w, "<");
	call_names_put_name(w, name, "<>");
	call_put(w, ">");
}

/* The name of the call's folder; empty: it is in the file's row, or unknown. */
static struct bytes folder_of_call(const struct call_writer *w)
{
	int64_t id = call_value(w, OP_DIR_ID, -1);

	return w->dims && id >= 0 ? dims_file_version_name(w->dims, id) : (struct bytes){NULL, 0};
}

int call_folder(const struct call_writer *w, int64_t file_id, struct buf *to)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, file_id, &room) : NULL;
	struct bytes folder = folder_of_call(w);

	if (!folder.len && f)
		folder = f->base;
	return buf_append(to, folder.data, folder.len);
}

void call_put_dirfd(struct call_writer *w, bool known, int64_t fd, int64_t file_id, bool second)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, file_id, &room) : NULL;
	struct bytes folder = second ? (struct bytes){NULL, 0} : folder_of_call(w);

	if (known && fd == AT_FDCWD)
		call_put(w, "AT_FDCWD");
	else if (known)
		call_put(w, "%lld", (long long)fd);
	else
		call_put(w, "?");
	if (folder.len)
		put_folder(w, folder);
	else if (f && f->base.len && !(f->argument.len && f->argument.data[0] == '/'))
		put_folder(w, f->base);
}

/* The part of a path below a folder; "." for the folder itself; the whole path if it is elsewhere. */
static struct bytes below_folder(struct bytes path, struct bytes folder)
{
	size_t at = folder.len;

	if (at && path.len == at && !memcmp(path.data, folder.data, at))
		return (struct bytes){(const uint8_t *)".", 1};
	if (!at || path.len <= at || memcmp(path.data, folder.data, at) != 0)
		return path;
	if (folder.data[at - 1] != '/' && path.data[at++] != '/')
		return path;
	return at < path.len ? (struct bytes){path.data + at, path.len - at} : path;
}

void call_put_path(struct call_writer *w, int64_t file_id, bool whole)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, file_id, &room) : NULL;
	bool relative = f && f->argument.len && f->argument.data[0] != '/' && f->base.len;
	bool unread = call_value(w, OP_STATUS, 0) & STATUS_ARG_UNREAD;

	if (!f)
		call_put(w, unread ? "?" : "NULL");
	else if (f->argument.data && !(whole && relative))
		put_quoted(w, f->argument);
	else
		put_quoted(w, dims_file_version_name(w->dims, file_id));
}

void call_put_path_at(struct call_writer *w, int64_t file_id)
{
	/* the folder first: composing both uses the same buffer */
	struct bytes folder = folder_of_call(w);
	_cleanup_buf_ struct buf name = {0};
	int r = folder.len ? buf_append(&name, folder.data, folder.len) : 0;
	struct bytes path = r == 0 && folder.len ? dims_file_version_name(w->dims, file_id)
						 : (struct bytes){NULL, 0};
	struct bytes below = below_folder(path, buf_bytes(&name));

	buf_fail(w->to, r);
	if (path.len && below.len < path.len)
		put_quoted(w, below);
	else
		call_put_path(w, file_id, false);
}

/* ---- addresses ---- */

/* Splits "10.0.0.1:80" and "[::1]:80"; false for any other form. */
static bool split_address(struct bytes text, char host[ADDRESS_TEXT_MAX], char port[16])
{
	const char *s = (const char *)text.data;
	const char *colon = text.len ? memrchr(s, ':', text.len) : NULL;
	size_t host_len = colon ? (size_t)(colon - s) : 0;
	size_t port_len = colon ? text.len - host_len - 1 : 0;

	if (!colon || host_len >= ADDRESS_TEXT_MAX || port_len >= 16)
		return false;
	if (host_len >= 2 && *s == '[' && s[host_len - 1] == ']') {
		s++;
		host_len -= 2;
	}
	snprintf(host, ADDRESS_TEXT_MAX, "%.*s", (int)host_len, s);
	snprintf(port, 16, "%.*s", (int)port_len, colon + 1);
	return true;
}

void call_put_address(struct call_writer *w, int64_t peer_id)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, peer_id, &room) : NULL;
	struct bytes text = f ? (f->peer.len ? f->peer : f->local) : (struct bytes){NULL, 0};
	struct bytes name = unix_name(text);
	char host[ADDRESS_TEXT_MAX], port[16];

	if (!f || f->family < 0) {
		call_put(w, "...");
		return;
	}
	call_put(w, "{sa_family=");
	flags_print(w->to, WORDS_FAMILY, (uint64_t)f->family);
	if (f->family == AF_UNIX && name.len) {
		bool abstract = name.data[0] == '@';

		call_put(w, ", sun_path=%s", abstract ? "@" : "");
		put_quoted(w, (struct bytes){name.data + abstract, name.len - abstract});
	} else if (f->family == AF_INET && split_address(text, host, port)) {
		call_put(w, ", sin_port=htons(%s), sin_addr=inet_addr(\"%s\")", port, host);
	} else if (f->family == AF_INET6 && split_address(text, host, port)) {
		call_put(w, ", sin6_port=htons(%s), inet_pton(AF_INET6, \"%s\", &sin6_addr)", port,
			 host);
	} else if (text.len && f->family != AF_UNIX) {
		call_put(w, ", ");
		call_text_escape(w->to, text, "");
	}
	call_put(w, "}");
}

void call_put_address_len(struct call_writer *w, int64_t peer_id)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, peer_id, &room) : NULL;

	if (f && f->family == AF_INET)
		call_put(w, "16");
	else if (f && f->family == AF_INET6)
		call_put(w, "28");
	else
		call_put(w, "...");
}

/* ---- results ---- */

static void call_names_put_error(struct call_writer *w, int64_t e)
{
	static const struct {
		int64_t err;
		const char *text;
	} restarts[] = {
		{512, "ERESTARTSYS (To be restarted if SA_RESTART is set)"},
		{513, "ERESTARTNOINTR (To be restarted)"},
		{514, "ERESTARTNOHAND (To be restarted if no handler)"},
		{516, "ERESTART_RESTARTBLOCK (Interrupted by signal)"},
	};
	const char *word = vocab_word("err", e);

	for (size_t i = 0; i < ARRAY_SIZE(restarts); i++) {
		if (restarts[i].err == e) {
			call_put(w, "? %s", restarts[i].text);
			return;
		}
	}
	if (!word)
		call_put(w, "-1 (errno %lld)", (long long)e);
	else if (e < 512 && !w->style->brief)
		call_put(w, "-1 %s (%s)", word,
			 strerrordesc_np((int)e)); /* not translated to the locale */
	else
		call_put(w, "-1 %s", word);
}

/* The new descriptor; its file is the second one if the call also took a descriptor. */
static void put_new_fd(struct call_writer *w, int64_t ret)
{
	bool second = call_value(w, OP_FD2, -1) == ret && call_has(w, OP_FILE2_ID);

	call_put_fd(w, ret, call_value(w, second ? OP_FILE2_ID : OP_FILE_ID, -1));
}

static void put_fcntl_result(struct call_writer *w, int64_t ret)
{
	int64_t command = call_value(w, OP_A1, -1) & UINT32_MAX;
	enum word_set words = command == F_GETFL       ? WORDS_OPEN
			      : command == F_GETFD     ? WORDS_FD
			      : command == F_GET_SEALS ? WORDS_SEAL
						       : WORDS_NONE;

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
		put_new_fd(w, ret);
	} else if (words && (ret || words == WORDS_OPEN)) {
		const char *what = words == WORDS_SEAL ? "seals" : "flags";

		call_put(w, ret ? "%#llx (%s " : "%llu (%s ", (unsigned long long)ret, what);
		flags_print(w->to, words, (uint64_t)ret);
		call_put(w, ")");
	} else {
		call_put(w, "%lld", (long long)ret);
	}
}

/* True if the call timed out: strace prints that as the reason for 0. */
static bool timed_out(const struct call_writer *w, int64_t ret)
{
	return ret == 0 && (call_is(w, "poll") || call_is(w, "ppoll") || call_is(w, "select") ||
			    call_is(w, "pselect6"));
}

void call_put_result(struct call_writer *w)
{
	int64_t status = call_value(w, OP_STATUS, 0);
	int64_t ret = call_value(w, OP_RET, 0);
	enum ret_kind kind = w->def ? w->def->ret : RET_INT;

	if (!call_has(w, OP_RET))
		call_put(w, kind == RET_NEVER	       ? "?"
			    : status & STATUS_NORETURN ? "? (its thread ended)"
						       : "? (still running)");
	else if (ret < 0 && ret >= -4095)
		call_names_put_error(w, -ret);
	else if (kind == RET_FD)
		put_new_fd(w, ret);
	else if (kind == RET_ADDR)
		call_put(w, "%#llx", (unsigned long long)ret);
	else if (call_is(w, "fcntl"))
		put_fcntl_result(w, ret);
	else if (call_is(w, "umask"))
		flags_print_mode(w->to, (uint64_t)ret);
	else
		call_put(w, "%lld%s", (long long)ret, timed_out(w, ret) ? " (Timeout)" : "");
}
