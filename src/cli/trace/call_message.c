/* SPDX-License-Identifier: Apache-2.0 */
/* call_message.c: prints vectors and messages like strace. */
#include <string.h>
#include <sys/socket.h>

#include "cli/trace/call_memory.h"
#include "schema/flags.h"

#define IOVEC_BYTES   16
#define MSGHDR_BYTES  56
#define MMSGHDR_BYTES 64
#define CMSG_HEAD     16

void call_put_vector(struct call_writer *w, uint64_t address, uint64_t count, uint64_t moved)
{
	struct bytes list = call_memory(w, address), content = call_memory_content(w);
	uint64_t at = 0;

	if (!list.len) {
		call_put(w, count ? "[...]" : "[]");
		return;
	}
	call_put(w, "[");
	for (size_t i = 0; i < list.len / IOVEC_BYTES; i++) {
		uint64_t base = memory_u64(list, i * IOVEC_BYTES),
			 len = memory_u64(list, i * IOVEC_BYTES + 8);
		/* the call filled only a part of the element; the rest is stale */
		uint64_t filled = MIN(len, moved - at);
		struct bytes text = call_memory(w, base);

		if (!text.data && at < content.len)
			text = (struct bytes){content.data + at, MIN(content.len - at, filled)};
		call_put(w, "%s{iov_base=", i ? ", " : "");
		if (text.data || (!filled && call_memory_recorded(w)))
			call_put_content(w, text, filled);
		else
			call_put(w, base ? "..." : "NULL");
		call_put(w, ", iov_len=%llu}", (unsigned long long)len);
		at += filled;
	}
	call_put(w, count > list.len / IOVEC_BYTES ? ", ...]" : "]");
}

static void put_rights(struct call_writer *w, struct bytes data)
{
	call_put(w, "[");
	for (size_t i = 0; i + 4 <= data.len; i += 4)
		call_put(w, "%s%d", i ? ", " : "", (int32_t)memory_u32(data, i));
	call_put(w, "]");
}

/* Prints control data of `whole` bytes, of which fewer may be recorded. */
static void put_control(struct call_writer *w, struct bytes b, uint64_t whole)
{
	size_t at = 0;

	call_put(w, "[");
	while (at + CMSG_HEAD <= b.len) {
		uint64_t len = memory_u64(b, at);
		uint32_t level = memory_u32(b, at + 8), type = memory_u32(b, at + 12);
		struct bytes data = {b.data + at + CMSG_HEAD,
				     len >= CMSG_HEAD ? MIN(len, b.len - at) - CMSG_HEAD : 0};

		call_put(w, "%s{cmsg_len=%llu, cmsg_level=", at ? ", " : "",
			 (unsigned long long)len);
		call_note(w, flags_print(w->to, WORDS_SOL, level));
		if (level == SOL_SOCKET && type == SCM_RIGHTS) {
			call_put(w, ", cmsg_type=SCM_RIGHTS, cmsg_data=");
			put_rights(w, data);
		} else if (level == SOL_SOCKET && type == SCM_CREDENTIALS && data.len >= 12) {
			call_put(w,
				 ", cmsg_type=SCM_CREDENTIALS, cmsg_data={pid=%d, uid=%u, gid=%u}",
				 (int32_t)memory_u32(data, 0), memory_u32(data, 4),
				 memory_u32(data, 8));
		} else {
			call_put(w, ", cmsg_type=%#x", type);
		}
		call_put(w, "}");
		if (len < CMSG_HEAD || len > b.len - at)
			break;
		at += align_up(len, 8);
	}
	call_put(w, whole > b.len ? ", ...]" : "]");
}

static void message_put_name(struct call_writer *w, struct bytes m)
{
	int64_t peer = call_value(w, OP_PEER_ID, -1), was = 0;
	uint32_t len = memory_u32(m, 8);

	call_put(w, "msg_name=");
	if (memory_u64(m, 0) && peer >= 0)
		call_put_address(w, peer);
	else if (memory_u64(m, 0))
		call_put(w, "%#llx", (unsigned long long)memory_u64(m, 0));
	else
		call_put(w, "NULL");
	call_put(w, ", msg_namelen=");
	call_memory_was(w, call_memory_address(w, 1), &was);
	if (was && was != len)
		call_put(w, "%lld => ", (long long)was);
	call_put(w, "%u", len);
}

/* Prints a message header, which may be an element of an array. */
static void message_put_head(struct call_writer *w, struct bytes m, uint64_t moved)
{
	uint64_t control = memory_u64(m, 32), control_len = memory_u64(m, 40);
	struct bytes b = call_memory(w, control);

	call_put(w, "{");
	message_put_name(w, m);
	call_put(w, ", msg_iov=");
	call_put_vector(w, memory_u64(m, 16), memory_u64(m, 24), moved);
	call_put(w, ", msg_iovlen=%llu", (unsigned long long)memory_u64(m, 24));
	if (b.len) {
		call_put(w, ", msg_control=");
		put_control(w, b, control_len);
	}
	call_put(w, ", msg_controllen=%llu, msg_flags=", (unsigned long long)control_len);
	call_note(w, flags_print(w->to, WORDS_MSG, memory_u32(m, 48)));
	call_put(w, "}");
}

void call_put_message(struct call_writer *w, uint64_t address, uint64_t moved)
{
	struct bytes m = call_memory(w, address);

	if (m.len < MSGHDR_BYTES)
		call_put(w, "...");
	else
		message_put_head(w, m, moved);
}

void call_put_messages(struct call_writer *w, uint64_t address)
{
	struct bytes list = call_memory(w, address);
	size_t count = list.len / MMSGHDR_BYTES;
	int64_t ret = call_value(w, OP_RET, -1);

	call_put(w, "[");
	for (size_t i = 0; i < count; i++) {
		struct bytes m = {list.data + i * MMSGHDR_BYTES, MSGHDR_BYTES};
		uint32_t len = memory_u32(list, i * MMSGHDR_BYTES + MSGHDR_BYTES);

		call_put(w, "%s{msg_hdr=", i ? ", " : "");
		message_put_head(w, m, len);
		call_put(w, ", msg_len=%u}", len);
	}
	call_put(w, ret >= 0 && (size_t)ret > count ? ", ...]" : "]");
}
