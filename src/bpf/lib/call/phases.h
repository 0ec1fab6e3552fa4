/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * phases.h: where the time of a call goes: on a CPU, runnable, blocked on I/O, blocked otherwise. The phases object
 * records each time at which the thread of a call loses its CPU, is woken up and gets a CPU again, by weir's own clock;
 * the kernel's run_delay is off by up to 260 us. The rest of the call was spent on a CPU.
 *
 * Nothing is guessed: the number of switches seen is compared with the kernel's count, and if one is missing the call
 * has no phases.
 */
#pragma once

#include "bpf/lib/state.h"

/* Bytes that a task has read from devices; 0 if the kernel does not count. */
static __always_inline __u64 phases_read_bytes(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.read_bytes) ? task->ioac.read_bytes : 0;
}

/* Call this after taking the call's start time: earlier events belong to no call. */
static __always_inline void phases_begin(struct task_struct *task, struct thread_state *ts)
{
	struct call_phases *ph = &ts->phases;

	ph->io_wait = 0;
	ph->sleep = 0;
	ph->runq = 0;
	ph->out = 0;
	ph->woken = 0;
	ph->outs = 0;
	ph->misses = 0;
	ph->wait_count = 0;
	ph->unknown = 0;
	ph->read_bytes = phases_read_bytes(task);
	ph->switches = task->nvcsw + task->nivcsw;
}

/* The call has ended. True if there is more to report than time on a CPU. */
static __always_inline bool phases_end(struct task_struct *task, struct thread_state *ts)
{
	struct call_phases *ph = &ts->phases;
	__u64 read = phases_read_bytes(task) - ph->read_bytes;
	__u32 switches = (__u32)(task->nvcsw + task->nivcsw) - ph->switches;

	if (likely(!(switches | ph->outs | ph->misses | read)))
		return false;
	ph->read_bytes = read;
	ph->unknown |= ph->out || ph->outs != switches;
	return true;
}

/*
 * The phases so far of a thread in a call, possibly on a CPU now, without the current period. Read twice, as it may
 * lose or get its CPU meanwhile: values that changed are unknown.
 */
static __always_inline void phases_copy(struct call_phases *to, struct task_struct *task,
					struct thread_state *ts)
{
	volatile struct call_phases *ph = &ts->phases;
	__u64 out = ph->out, woken = ph->woken;
	__u32 outs = ph->outs, switches;

	to->io_wait = ph->io_wait;
	to->sleep = ph->sleep;
	to->runq = ph->runq;
	to->how = ph->how;
	to->misses = ph->misses;
	to->wait_count = 0xffff; /* not including the current one */
	to->unknown = ph->unknown;
	to->read_bytes = phases_read_bytes(task) - ph->read_bytes;
	switches = (__u32)(task->nvcsw + task->nivcsw) - ph->switches;
	to->out = out;
	to->woken = woken;
	if (outs != switches || outs != ph->outs || out != ph->out || woken != ph->woken)
		to->unknown = 1;
}

/* Adds the time since such a thread lost its CPU. */
static __always_inline void phases_until(struct call_phases *ph, __u64 now)
{
	__u64 ready = ph->out;

	if (!ready)
		return;
	if (ph->how != OUT_READY) {
		if (ph->woken && ph->woken < ready) /* woken while leaving, or before: unknown */
			ph->unknown = 1;
		ready = ph->woken ? ph->woken : now;
		if (ph->how == OUT_IO)
			ph->io_wait += ready - ph->out;
		else
			ph->sleep += ready - ph->out;
	}
	ph->runq += now - ready;
}

static __always_inline void phases_fill(struct wire_phases *w, const struct call_phases *ph)
{
	w->io_wait = ph->unknown ? WIRE_TIME_UNKNOWN : ph->io_wait;
	w->sleep = ph->unknown ? WIRE_TIME_UNKNOWN : ph->sleep;
	w->runq = ph->unknown ? WIRE_TIME_UNKNOWN : ph->runq;
	w->read_bytes = ph->read_bytes;
	w->misses = ph->misses;
	w->waits = ph->wait_count < 0xffff ? ph->wait_count : 0xffff;
	w->kept = 0;
}

/* The bytes that phases_fill_all() fills, including the waits sent. */
static __always_inline __u32 phases_bytes(const struct call_phases *ph)
{
	__u32 n = phases_split ? ph->wait_count : 0;

	return sizeof(struct wire_phases) +
	       (n < WIRE_WAITS_MAX ? n : WIRE_WAITS_MAX) * sizeof(struct wire_wait);
}

/* The same, followed by all waits, for which there must be room. */
static __always_inline void phases_fill_all(struct wire_phases *w, const struct call_phases *ph)
{
	phases_fill(w, ph);
	if (!phases_split || !ph->wait_count)
		return;
	w->kept = ph->wait_count < WIRE_WAITS_MAX ? ph->wait_count : WIRE_WAITS_MAX;
	__builtin_memcpy(w + 1, ph->waits, sizeof(ph->waits));
}
