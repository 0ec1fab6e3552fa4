/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipkin_c.h: BlkKin's interface as used by Ceph, over libweir-span: programs written for it compile unmodified and
 * link with -lweir-span. Their annotations become rows of `note`, a span lasts from its first annotation to its last in
 * this process, and its source is "blkin".
 *
 * Functions return 0 or a negative errno. Names and endpoints are borrowed: they must live as long as the trace that
 * refers to them. An annotation with an endpoint belongs to the service of that endpoint.
 */
#pragma once

#ifdef BLKIN_FORM
#	error "blkin-front.h and zipkin_c.h are two forms of one interface: include one of them"
#endif
#define BLKIN_FORM 2019

#include <asm/byteorder.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "weir-span.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BLKIN_UNUSED_ __attribute__((unused))

/* Events that mark the progress of a request. */
static const char *const CLIENT_SEND BLKIN_UNUSED_ = "cs";
static const char *const CLIENT_RECV BLKIN_UNUSED_ = "cr";
static const char *const SERVER_SEND BLKIN_UNUSED_ = "ss";
static const char *const SERVER_RECV BLKIN_UNUSED_ = "sr";
static const char *const WIRE_SEND BLKIN_UNUSED_ = "ws";
static const char *const WIRE_RECV BLKIN_UNUSED_ = "wr";
static const char *const CLIENT_SEND_FRAGMENT BLKIN_UNUSED_ = "csf";
static const char *const CLIENT_RECV_FRAGMENT BLKIN_UNUSED_ = "crf";
static const char *const SERVER_SEND_FRAGMENT BLKIN_UNUSED_ = "ssf";
static const char *const SERVER_RECV_FRAGMENT BLKIN_UNUSED_ = "srf";

/* A service at an address. */
struct blkin_endpoint {
	const char *ip;
	int16_t port;
	const char *name;
};

struct blkin_trace_info {
	int64_t trace_id;
	int64_t span_id;
	int64_t parent_span_id; /* 0: none */
};

/* The transmitted form: 24 bytes, big-endian. */
struct blkin_trace_info_packed {
	__be64 trace_id;
	__be64 span_id;
	__be64 parent_span_id;
} __attribute__((packed));

/* A span. */
struct blkin_trace {
	const char *name;
	struct blkin_trace_info info;
	const struct blkin_endpoint *endpoint;
};

enum { ANNOT_STRING, ANNOT_INTEGER, ANNOT_TIMESTAMP };
typedef int blkin_annotation_type;

struct blkin_annotation {
	blkin_annotation_type type;
	const char *key;
	union {
		const char *val_str;
		int64_t val_int;
	};
	const struct blkin_endpoint *endpoint;
};

/* Nothing to initialize. */
static inline int blkin_init(void)
{
	return 0;
}

/* The ids of a new root span: its span id equals its trace id. */
static inline void blkin_init_trace_info(struct blkin_trace_info *info)
{
	info->span_id = info->trace_id = weir_span_new_id();
	info->parent_span_id = 0;
}

static inline int blkin_init_new_trace(struct blkin_trace *trace, const char *name,
				       const struct blkin_endpoint *endpoint)
{
	if (!trace)
		return -EINVAL;
	trace->name = name;
	blkin_init_trace_info(&trace->info);
	trace->endpoint = endpoint;
	return 0;
}

/* Begins a child of a span received from another process. */
static inline int blkin_init_child_info(struct blkin_trace *child,
					const struct blkin_trace_info *parent_info,
					const struct blkin_endpoint *endpoint,
					const char *child_name)
{
	if (!child || !parent_info)
		return -EINVAL;
	child->info.trace_id = parent_info->trace_id;
	child->info.span_id = weir_span_new_id();
	child->info.parent_span_id = parent_info->span_id;
	child->name = child_name;
	child->endpoint = endpoint;
	return 0;
}

/* endpoint NULL: the parent's. */
static inline int blkin_init_child(struct blkin_trace *child, const struct blkin_trace *parent,
				   const struct blkin_endpoint *endpoint, const char *child_name)
{
	if (!parent)
		return -EINVAL;
	return blkin_init_child_info(child, &parent->info, endpoint ? endpoint : parent->endpoint,
				     child_name);
}

static inline int blkin_init_endpoint(struct blkin_endpoint *endp, const char *ip, int16_t port,
				      const char *name)
{
	if (!endp)
		return -EINVAL;
	endp->ip = ip ? ip : "NaN";
	endp->port = port;
	endp->name = name;
	return 0;
}

static inline int blkin_init_string_annotation(struct blkin_annotation *annotation, const char *key,
					       const char *val,
					       const struct blkin_endpoint *endpoint)
{
	if (!annotation || !key || !val)
		return -EINVAL;
	annotation->type = ANNOT_STRING;
	annotation->key = key;
	annotation->val_str = val;
	annotation->endpoint = endpoint;
	return 0;
}

static inline int blkin_init_integer_annotation(struct blkin_annotation *annotation,
						const char *key, int64_t val,
						const struct blkin_endpoint *endpoint)
{
	if (!annotation || !key)
		return -EINVAL;
	annotation->type = ANNOT_INTEGER;
	annotation->key = key;
	annotation->val_int = val;
	annotation->endpoint = endpoint;
	return 0;
}

static inline int blkin_init_timestamp_annotation(struct blkin_annotation *annotation,
						  const char *event,
						  const struct blkin_endpoint *endpoint)
{
	if (!annotation || !event)
		return -EINVAL;
	annotation->type = ANNOT_TIMESTAMP;
	annotation->key = event;
	annotation->val_str = NULL;
	annotation->endpoint = endpoint;
	return 0;
}

static inline int blkin_record(const struct blkin_trace *trace,
			       const struct blkin_annotation *annotation)
{
	const struct blkin_endpoint *endpoint;
	bool integer;

	if (!annotation || !trace || !trace->name)
		return -EINVAL;
	endpoint = annotation->endpoint ? annotation->endpoint : trace->endpoint;
	if (!endpoint || !endpoint->ip || !endpoint->name || !annotation->key ||
	    (annotation->type == ANNOT_STRING && !annotation->val_str))
		return -EINVAL;
	if (!weir_span_recorded())
		return 0;
	integer = annotation->type == ANNOT_INTEGER;
	return weir_span_annotate_blkin(
		(uint64_t)trace->info.trace_id, (uint64_t)trace->info.span_id,
		(uint64_t)trace->info.parent_span_id, trace->name, endpoint->name, annotation->key,
		annotation->type == ANNOT_STRING ? annotation->val_str : NULL, integer,
		integer ? annotation->val_int : 0);
}

static inline int blkin_get_trace_info(const struct blkin_trace *trace,
				       struct blkin_trace_info *info)
{
	if (!trace || !info)
		return -EINVAL;
	*info = trace->info;
	return 0;
}

static inline int blkin_set_trace_info(struct blkin_trace *trace,
				       const struct blkin_trace_info *info)
{
	if (!trace || !info)
		return -EINVAL;
	trace->info = *info;
	return 0;
}

static inline int blkin_set_trace_properties(struct blkin_trace *trace,
					     const struct blkin_trace_info *info, const char *name,
					     const struct blkin_endpoint *endpoint)
{
	if (!trace || !info)
		return -EINVAL;
	trace->info = *info;
	trace->name = name;
	trace->endpoint = endpoint;
	return 0;
}

static inline int blkin_pack_trace_info(const struct blkin_trace_info *info,
					struct blkin_trace_info_packed *packed_info)
{
	if (!info || !packed_info)
		return -EINVAL;
	packed_info->trace_id = __cpu_to_be64((uint64_t)info->trace_id);
	packed_info->span_id = __cpu_to_be64((uint64_t)info->span_id);
	packed_info->parent_span_id = __cpu_to_be64((uint64_t)info->parent_span_id);
	return 0;
}

static inline int blkin_unpack_trace_info(const struct blkin_trace_info_packed *packed_info,
					  struct blkin_trace_info *info)
{
	if (!info || !packed_info)
		return -EINVAL;
	info->trace_id = (int64_t)__be64_to_cpu(packed_info->trace_id);
	info->span_id = (int64_t)__be64_to_cpu(packed_info->span_id);
	info->parent_span_id = (int64_t)__be64_to_cpu(packed_info->parent_span_id);
	return 0;
}

#define BLKIN_TIMESTAMP(trace, endp, event)                                       \
	do {                                                                      \
		struct blkin_annotation blkin_a_;                                 \
		if (!blkin_init_timestamp_annotation(&blkin_a_, (event), (endp))) \
			blkin_record((trace), &blkin_a_);                         \
	} while (0)

#define BLKIN_KEYVAL_STRING(trace, endp, key, val)                                  \
	do {                                                                        \
		struct blkin_annotation blkin_a_;                                   \
		if (!blkin_init_string_annotation(&blkin_a_, (key), (val), (endp))) \
			blkin_record((trace), &blkin_a_);                           \
	} while (0)

#define BLKIN_KEYVAL_INTEGER(trace, endp, key, val)                                  \
	do {                                                                         \
		struct blkin_annotation blkin_a_;                                    \
		if (!blkin_init_integer_annotation(&blkin_a_, (key), (val), (endp))) \
			blkin_record((trace), &blkin_a_);                            \
	} while (0)

#ifdef __cplusplus
}
#endif
