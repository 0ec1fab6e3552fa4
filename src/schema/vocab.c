/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/vocab.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "schema/ops.h"

struct word {
	int64_t code;
	const char *text;
};

#define WORD(P, N, s) {P##_##N, s},
static const struct word kinds[] = {VOCAB_KIND(WORD)};
static const struct word classes[] = {VOCAB_CLASS(WORD)};
static const struct word types[] = {VOCAB_FILE_TYPE(WORD)};
static const struct word causes[] = {VOCAB_CAUSE(WORD)};
static const struct word vias[] = {VOCAB_VIA(WORD)};
static const struct word origins[] = {VOCAB_ORIGIN(WORD)};
static const struct word net_events[] = {VOCAB_EVENT(WORD)};
static const struct word whys[] = {VOCAB_WHY(WORD)};
static const struct word wakes[] = {VOCAB_WOKEN_BY(WORD)};
static const struct word irq_kinds[] = {VOCAB_IRQ_KIND(WORD)};
static const struct word tcp_states[] = {VOCAB_TCP_STATE(WORD)};
static const struct word span_kinds[] = {VOCAB_SPAN_KIND(WORD)};
static const struct word span_statuses[] = {VOCAB_SPAN_STATUS(WORD)};
static const struct word span_sources[] = {VOCAB_SPAN_SOURCE(WORD)};
static const struct word ways[] = {VOCAB_WAY(WORD)};
static const struct word forms[] = {VOCAB_FORM(WORD)};
static const struct word outcomes[] = {VOCAB_OUTCOME(WORD)};
static const struct word certainties[] = {VOCAB_CERTAINTY(WORD)};

/* asm-generic's numbers, which x86-64 and aarch64 share; only tracers see the last ones outside the kernel. */
static const struct word errnos[] = {
#define E(n, name) {n, #name},
#include "schema/errnos.def"
#undef E
};

#define AF(name) {AF_##name, "AF_" #name},
static const struct word families[] = {
	AF(UNSPEC) AF(UNIX) AF(INET) AF(AX25) AF(IPX) AF(APPLETALK) AF(NETROM) AF(BRIDGE) AF(ATMPVC)
		AF(X25) AF(INET6) AF(ROSE) AF(DECnet) AF(NETBEUI) AF(SECURITY) AF(KEY) AF(NETLINK)
			AF(PACKET) AF(ASH) AF(ECONET) AF(ATMSVC) AF(RDS) AF(SNA) AF(IRDA) AF(PPPOX)
				AF(WANPIPE) AF(LLC) AF(IB) AF(MPLS) AF(CAN) AF(TIPC) AF(BLUETOOTH)
					AF(IUCV) AF(RXRPC) AF(ISDN) AF(PHONET) AF(IEEE802154)
						AF(CAIF) AF(ALG) AF(NFC) AF(VSOCK) AF(KCM)
							AF(QIPCRTR) AF(SMC) AF(XDP){45, "AF_MCTP"},
};

static_assert(ENOENT == 2 && EHWPOISON == 133, "errno numbers in traces are asm-generic's");

static const struct vocabulary {
	const char *column;
	const struct word *words; /* ascending codes */
	size_t count;
} vocabularies[] = {
	{"kind", kinds, ARRAY_SIZE(kinds)},
	{"class", classes, ARRAY_SIZE(classes)},
	{"err", errnos, ARRAY_SIZE(errnos)},
	{"type", types, ARRAY_SIZE(types)},
	{"family", families, ARRAY_SIZE(families)},
	{"cause", causes, ARRAY_SIZE(causes)},
	{"via", vias, ARRAY_SIZE(vias)},
	{"origin", origins, ARRAY_SIZE(origins)},
	{"event", net_events, ARRAY_SIZE(net_events)},
	{"tcp_state", tcp_states, ARRAY_SIZE(tcp_states)},
	{"why", whys, ARRAY_SIZE(whys)},
	{"woken_by", wakes, ARRAY_SIZE(wakes)},
	{"irq_kind", irq_kinds, ARRAY_SIZE(irq_kinds)},
	{"span_kind", span_kinds, ARRAY_SIZE(span_kinds)},
	{"span_status", span_statuses, ARRAY_SIZE(span_statuses)},
	{"source", span_sources, ARRAY_SIZE(span_sources)},
	{"way", ways, ARRAY_SIZE(ways)},
	{"form", forms, ARRAY_SIZE(forms)},
	{"outcome", outcomes, ARRAY_SIZE(outcomes)},
	{"certainty", certainties, ARRAY_SIZE(certainties)},
};

static const struct vocabulary *vocab_find(const char *column)
{
	for (size_t i = 0; i < ARRAY_SIZE(vocabularies); i++) {
		if (!strcmp(vocabularies[i].column, column))
			return &vocabularies[i];
	}
	return NULL;
}

/* These codes are dense, so that arrays can be indexed by code. */
static_assert(ARRAY_SIZE(kinds) == KIND_COUNT && ARRAY_SIZE(classes) == CLASS_COUNT &&
		      ARRAY_SIZE(types) == FILE_TYPE_COUNT && ARRAY_SIZE(causes) == CAUSE_COUNT &&
		      ARRAY_SIZE(vias) == VIA_COUNT && ARRAY_SIZE(origins) == ORIGIN_COUNT &&
		      ARRAY_SIZE(net_events) == NET_EVENT_COUNT &&
		      ARRAY_SIZE(tcp_states) == TCP_STATE_COUNT && ARRAY_SIZE(whys) == WHY_COUNT &&
		      ARRAY_SIZE(wakes) == WOKEN_BY_COUNT &&
		      ARRAY_SIZE(irq_kinds) == IRQ_KIND_COUNT &&
		      ARRAY_SIZE(span_kinds) == SPAN_KIND_COUNT &&
		      ARRAY_SIZE(span_statuses) == SPAN_STATUS_COUNT &&
		      ARRAY_SIZE(span_sources) == SPAN_SOURCE_COUNT &&
		      ARRAY_SIZE(ways) == WAY_COUNT && ARRAY_SIZE(forms) == FORM_COUNT &&
		      ARRAY_SIZE(outcomes) == OUTCOME_COUNT &&
		      ARRAY_SIZE(certainties) == CERTAINTY_COUNT,
	      "each code has its word");

static bool is_op(const char *column)
{
	return !strcmp(column, "op");
}

const char *vocab_word(const char *column, int64_t code)
{
	const struct vocabulary *v;
	size_t lo = 0, hi;

	if (is_op(column)) {
		const struct op_def *def =
			code >= 0 && code < OP_CODE_MAX ? op_def((uint32_t)code) : NULL;

		return def ? def->name : NULL;
	}
	v = vocab_find(column);
	hi = v ? v->count : 0;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v->words[mid].code == code)
			return v->words[mid].text;
		if (v->words[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

int64_t vocab_code(const char *column, const char *word)
{
	const struct vocabulary *v;

	if (is_op(column))
		return op_find(word);
	v = vocab_find(column);
	for (size_t i = 0; v && i < v->count; i++) {
		if (!strcmp(v->words[i].text, word))
			return v->words[i].code;
	}
	return -1;
}

static int64_t op_at(size_t i)
{
	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (op_def(code) && i-- == 0)
			return code;
	}
	return -1;
}

int64_t vocab_at(const char *column, size_t i)
{
	const struct vocabulary *v;

	if (is_op(column))
		return op_at(i);
	v = vocab_find(column);
	return v && i < v->count ? v->words[i].code : -1;
}
