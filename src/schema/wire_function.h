/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_function.h: placeholders for the kernel functions that the programs call; the recorder replaces them by the
 * functions' numbers in the kernel's BTF (capture/ebpf/load/kernel_btf.h).
 */
#pragma once

#define WIRE_FUNCTION		   0x77656900 /* plus the index in the list */
#define WIRE_FUNCTION_LIST(x)	   x(bpf_rdonly_cast) x(bpf_preempt_disable) x(bpf_preempt_enable)
#define WIRE_FUNCTION_NUMBER(name) WIRE_NUMBER_##name,

enum wire_function {
	WIRE_FUNCTION_LIST(WIRE_FUNCTION_NUMBER) WIRE_FUNCTIONS,
};
