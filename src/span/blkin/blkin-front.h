/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blkin-front.h: BlkKin's original interface of 2015, over libweir-span. It cannot be included together with
 * zipkin_c.h, from which it differs: endpoints are not const and have an int port, members have other names,
 * annotations are strings only, pack and unpack return 1. The original's function variables, filled by blkin_init(),
 * are functions here.
 */
#pragma once

#ifdef BLKIN_FORM
#	error "blkin-front.h and zipkin_c.h are two forms of one interface: include one of them"
#endif
#define BLKIN_FORM 2015

#include <asm/byteorder.h>
#include <errno.h>
#include <stdint.h>

#include "weir-span.h"

#ifdef __cplusplus
extern "C" {
#endif

struct blkin_endpoint {
	char *ip;
	int port;
	char *name;
};

struct blkin_trace_info {
	int64_t trace_id;
	int64_t span_id;
	int64_t parent_span_id;
};

struct blkin_trace_info_packed {
	__be64 trace_id;
	__be64 span_id;
	__be64 parent_span_id;
} __attribute__((packed));

struct blkin_trace {
	char *name;
	struct blkin_trace_info info;
	struct blkin_endpoint *trace_endpoint;
};

enum { ANNOT_STRING, ANNOT_TIMESTAMP };
typedef int blkin_annotation_type;

struct blkin_annotation {
	blkin_annotation_type type;
	char *key;
	char *val;
	struct blkin_endpoint *annotation_endpoint;
};

static inline int blkin_init(void)
{
	return 0;
}

static inline int blkin_init_new_trace(struct blkin_trace *trace, char *name,
				       struct blkin_endpoint *endpoint)
{
	if (!trace)
		return -EINVAL;
	trace->name = name;
	trace->info.trace_id = weir_span_new_id();
	trace->info.span_id = weir_span_new_id();
	trace->info.parent_span_id = 0;
	trace->trace_endpoint = endpoint;
	return 0;
}

static inline int blkin_init_child_info(struct blkin_trace *child,
					struct blkin_trace_info *parent_info,
					struct blkin_endpoint *endpoint, char *child_name)
{
	if (!child || !parent_info)
		return -EINVAL;
	child->info.trace_id = parent_info->trace_id;
	child->info.span_id = weir_span_new_id();
	child->info.parent_span_id = parent_info->span_id;
	child->name = child_name;
	child->trace_endpoint = endpoint;
	return 0;
}

static inline int blkin_init_child(struct blkin_trace *child, struct blkin_trace *parent,
				   struct blkin_endpoint *endpoint, char *child_name)
{
	if (!parent)
		return -EINVAL;
	return blkin_init_child_info(child, &parent->info,
				     endpoint ? endpoint : parent->trace_endpoint, child_name);
}

static inline int blkin_init_endpoint(struct blkin_endpoint *endp, char *ip, int port, char *name)
{
	if (!endp)
		return -EINVAL;
	endp->ip = ip;
	endp->port = port;
	endp->name = name;
	return 0;
}

static inline int blkin_init_string_annotation(struct blkin_annotation *annotation, char *key,
					       char *val, struct blkin_endpoint *endpoint)
{
	if (!annotation)
		return -EINVAL;
	annotation->type = ANNOT_STRING;
	annotation->key = key;
	annotation->val = val;
	annotation->annotation_endpoint = endpoint;
	return 0;
}

static inline int blkin_init_timestamp_annotation(struct blkin_annotation *annotation, char *event,
						  struct blkin_endpoint *endpoint)
{
	if (!annotation)
		return -EINVAL;
	annotation->type = ANNOT_TIMESTAMP;
	annotation->key = event;
	annotation->val = NULL;
	annotation->annotation_endpoint = endpoint;
	return 0;
}

static inline int blkin_record(struct blkin_trace *trace, struct blkin_annotation *annotation)
{
	struct blkin_endpoint *endpoint;

	if (!trace || !annotation || !annotation->key ||
	    (annotation->type == ANNOT_STRING && !annotation->val))
		return -EINVAL;
	if (!weir_span_recorded())
		return 0;
	endpoint = annotation->annotation_endpoint ? annotation->annotation_endpoint
						   : trace->trace_endpoint;
	return weir_span_annotate_blkin(
		(uint64_t)trace->info.trace_id, (uint64_t)trace->info.span_id,
		(uint64_t)trace->info.parent_span_id, trace->name, endpoint ? endpoint->name : NULL,
		annotation->key, annotation->type == ANNOT_STRING ? annotation->val : NULL, false,
		0);
}

static inline int blkin_get_trace_info(struct blkin_trace *trace, struct blkin_trace_info *info)
{
	if (!trace || !info)
		return -EINVAL;
	*info = trace->info;
	return 0;
}

static inline int blkin_set_trace_info(struct blkin_trace *trace, struct blkin_trace_info *info)
{
	if (!trace || !info)
		return -EINVAL;
	trace->info = *info;
	return 0;
}

static inline int blkin_pack_trace_info(struct blkin_trace_info *info,
					struct blkin_trace_info_packed *pinfo)
{
	pinfo->trace_id = __cpu_to_be64((uint64_t)info->trace_id);
	pinfo->span_id = __cpu_to_be64((uint64_t)info->span_id);
	pinfo->parent_span_id = __cpu_to_be64((uint64_t)info->parent_span_id);
	return 1;
}

static inline int blkin_unpack_trace_info(struct blkin_trace_info_packed *pinfo,
					  struct blkin_trace_info *info)
{
	info->trace_id = (int64_t)__be64_to_cpu(pinfo->trace_id);
	info->span_id = (int64_t)__be64_to_cpu(pinfo->span_id);
	info->parent_span_id = (int64_t)__be64_to_cpu(pinfo->parent_span_id);
	return 1;
}

#define BLKIN_TIMESTAMP(trace, endp, event)                                       \
	do {                                                                      \
		struct blkin_annotation blkin_a_;                                 \
		if (!blkin_init_timestamp_annotation(&blkin_a_, (event), (endp))) \
			blkin_record((trace), &blkin_a_);                         \
	} while (0)

#define BLKIN_KEYVAL(trace, endp, key, val)                                         \
	do {                                                                        \
		struct blkin_annotation blkin_a_;                                   \
		if (!blkin_init_string_annotation(&blkin_a_, (key), (val), (endp))) \
			blkin_record((trace), &blkin_a_);                           \
	} while (0)

#ifdef __cplusplus
}
#endif
