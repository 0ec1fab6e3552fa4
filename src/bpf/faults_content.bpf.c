// SPDX-License-Identifier: GPL-2.0-only
/* faults_content.bpf.c: faults.bpf.c including the bytes that were read; loaded instead of it by record --content. */
#define FAULTS_CONTENT
#include "bpf/faults.bpf.c"
