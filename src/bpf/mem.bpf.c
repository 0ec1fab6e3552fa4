// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem.bpf.c: pages that threads allocate, free and reclaim, summed for each thread; a record is sent 100 ms or more
 * after its first event. Pages of interrupts, kernel threads and unrecorded threads are summed by CPU, so that the
 * total is complete.
 */
#include "bpf/lib/thread/context.h"
#include "bpf/lib/thread/selected.h"
#include "bpf/lib/side.h"
#include "bpf/lib/thread/thread_state.h"

#define SUM_NS	   100000000
#define PF_EXITING 0x4
#define LOOK_EVERY 32  /* events between looks at the clock; a power of two */
#define PAGES_LAST 256 /* threshold for a thread that ends, whose last record may come late */

char LICENSE[] SEC("license") = "GPL";

struct page;

/* Sums of everything that is not a recorded thread's. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_mem);
} mem_others SEC(".maps");

/* The sums to which current events are added. */
static __always_inline struct wire_mem *mem_of(struct task_struct *task)
{
	__u32 zero = 0;
	struct thread_state *ts = NULL;

	if (context_now() <= CONTEXT_THREAD)
		ts = thread_of(task);
	if (!ts || !thread_is_known(ts))
		return bpf_map_lookup_elem(&mem_others, &zero);
	/* of the previous version, which ends here */
	if (!ts->mem.allocated && !ts->mem.freed)
		ts->mem.thread = ts->version;
	return &ts->mem;
}

/*
 * False: no room. An interrupt may add to the same sums at any time, or send them: each is fetched atomically, `start`
 * first, so that later additions get a new one.
 */
static __always_inline bool mem_send(struct wire_mem *m, __u64 now)
{
	struct wire_mem *r = side_try(WIRE_MEM, sizeof(*r), now);

	if (!r)
		return false;
	r->start = __sync_lock_test_and_set(&m->start, 0);
	if (!r->start) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		return true;
	}
	r->allocated = __sync_lock_test_and_set(&m->allocated, 0);
	r->freed = __sync_lock_test_and_set(&m->freed, 0);
	r->reclaimed = __sync_lock_test_and_set(&m->reclaimed, 0);
	r->reclaim_time = __sync_lock_test_and_set(&m->reclaim_time, 0);
	r->reclaims = __sync_lock_test_and_set(&m->reclaims, 0);
	r->largest = __sync_lock_test_and_set(&m->largest, 0);
	r->events = __sync_lock_test_and_set(&m->events, 0);
	r->thread = m->thread;
	side_commit(r);
	return true;
}

/* The end of a thread's remaining record, limited to the end of recording. */
static __always_inline __u64 mem_left_end(struct wire_mem *m)
{
	__u64 over = shared.over;

	if (!over)
		return bpf_ktime_get_ns();
	return over > m->start ? over : m->start;
}

static __always_inline void mem_add(struct task_struct *task, __u64 allocated, __u64 freed)
{
	struct wire_mem *m;
	__u64 now;

	if (shared.over)
		return;
	m = mem_of(task);
	if (!m)
		return;
	if (allocated)
		__sync_fetch_and_add(&m->allocated, allocated);
	if (freed)
		__sync_fetch_and_add(&m->freed, freed);
	if (allocated > m->largest)
		m->largest = (__u32)allocated;
	if (m->start && (++m->events & (LOOK_EVERY - 1)))
		return;
	now = bpf_ktime_get_ns();
	if (!m->start)
		m->start = now;
	if (now - m->start >= SUM_NS || ((task->flags & PF_EXITING) && m->freed >= PAGES_LAST))
		mem_send(m, now);
}

SEC("tp_btf/mm_page_alloc")
int BPF_PROG(weir_page_alloc, struct page *page, unsigned int order)
{
	if (page)
		mem_add(bpf_get_current_task_btf(), 1ull << (order & 31), 0);
	return 0;
}

SEC("tp_btf/mm_page_free")
int BPF_PROG(weir_page_free, struct page *page, unsigned int order)
{
	mem_add(bpf_get_current_task_btf(), 0, 1ull << (order & 31));
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(weir_reclaim_begin)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	if (ts)
		ts->reclaim_began = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(weir_reclaim_end, unsigned long pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	struct wire_mem *m = mem_of(task);
	__u64 now = bpf_ktime_get_ns();

	if (!m || shared.over)
		return 0;
	if (!m->start)
		m->start = now;
	__sync_fetch_and_add(&m->reclaims, 1);
	__sync_fetch_and_add(&m->reclaimed, pages);
	if (ts && ts->reclaim_began) {
		__sync_fetch_and_add(&m->reclaim_time, now - ts->reclaim_began);
		if (ts->reclaim_began < m->start)
			m->start = ts->reclaim_began;
		ts->reclaim_began = 0;
	}
	return 0;
}

/* The thread's memory may be freed after sched_process_exit. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(weir_mem_end, struct task_struct *task)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);

	if (ts && ts->mem.start && !mem_send(&ts->mem, mem_left_end(&ts->mem)))
		side_lose(WIRE_SIDE_FULL, WIRE_MEM);
	return 0;
}

/* At the stop: remaining sums of live threads. */
SEC("iter/task")
int weir_mem_left(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *ts;
	struct wire_mem r;

	if (!task)
		return 0;
	ts = bpf_task_storage_get(&threads, task, 0, 0);
	if (!ts || !ts->mem.start)
		return 0;
	__builtin_memcpy(&r, &ts->mem, sizeof(r));
	__builtin_memset(&r.head, 0, sizeof(r.head));
	r.head.type = WIRE_MEM;
	r.head.size = sizeof(r);
	r.head.time = mem_left_end(&r);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
