/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_try.c: a worker makes known calls; a recording of it must contain each of them. The worker is forked before
 * anything is loaded, so that it can also measure the cost of its calls without weir.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "capture/ebpf/ebpf.h"
#include "cli/doctor/doctor.h"
#include "cli/terminal/format.h"
#include "enrich/enrich.h"

#define KNOWN_CALLS 1000
#define KNOWN_POS \
	(1ll << 40) /* far past the end of the file: distinguishes the known calls from others */
#define KNOWN_SIZE  3
#define COST_CALLS  200000
#define COST_ROUNDS 10
#define DEPTH	    9
/* For the whole test, which takes 0.3 s, or 3 s with a fifth of a CPU. */
#define LIMIT_NS (30 * NSEC_PER_SEC)

/* The worker's answer to each order. */
struct answer {
	int64_t cost_ns; /* CPU time per call, the best round */
	int32_t failed;	 /* errno of a failed step, as on a full disk */
};

struct trial {
	char folder[64];
	pid_t worker;
	int line; /* to the worker: an order is one byte, the answer a struct answer */
	struct source *source;
	struct enrich *enrich;
	struct batch_set in, out;
	struct source_stats stats;
	struct loss loss;
	size_t ring_bytes;
	unsigned int rings;
	int64_t deadline;
	/* results */
	uint64_t known, known_wrong, known_lost, rows;
	bool open_path, failed_path, deep_path, renamed, old_path;
};

/* ---- the worker ---- */

static void path_of(char *buf, size_t size, const char *folder, const char *name)
{
	snprintf(buf, size, "%s/%s", folder, name);
}

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int64_t measure_cost(int fd)
{
	int64_t best = INT64_MAX;
	char byte;

	for (unsigned int round = 0; round < COST_ROUNDS; round++) {
		int64_t start = thread_cpu_ns();

		for (unsigned int i = 0; i < COST_CALLS / COST_ROUNDS; i++)
			(void)!pread(fd, &byte, 1, 0);
		best = MIN(best, thread_cpu_ns() - start);
	}
	return best / (COST_CALLS / COST_ROUNDS);
}

/* check_op() looks for each step. */
static int known_steps(const char *folder, int old_fd)
{
	char a[256], b[256], deep[256];
	int fd, deep_fd;

	path_of(a, sizeof(a), folder, "known");
	path_of(b, sizeof(b), folder, "renamed");
	path_of(deep, sizeof(deep), folder, "1/2/3/4/5/6/7/8/9/deep");
	fd = open(a, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	for (int i = 0; i < KNOWN_CALLS; i++) {
		char buf[KNOWN_SIZE];

		(void)!pread(fd, buf, sizeof(buf), KNOWN_POS + i);
	}
	if (rename(a, b) < 0)
		return errno;
	(void)!pwrite(fd, "renamed", 7, 0);
	deep_fd = open(deep, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)!pwrite(deep_fd, "deeper!!", 8, 0);
	(void)!pwrite(old_fd, "old", 3, 0);
	path_of(a, sizeof(a), folder, "missing");
	if (open(a, O_RDONLY | O_CLOEXEC) >= 0)
		return EEXIST;
	close(deep_fd);
	close(fd);
	return 0;
}

static int doctor_try_make_folders(const char *folder)
{
	char path[256];
	int len = snprintf(path, sizeof(path), "%s", folder);

	for (unsigned int i = 1; i <= DEPTH; i++) {
		len += snprintf(path + len, sizeof(path) - (size_t)len, "/%u", i);
		if (mkdir(path, 0700) < 0)
			return -errno;
	}
	return 0;
}

static _Noreturn void worker_main(const char *folder, int line)
{
	char path[256], order;
	int old_fd, cost_fd;

	path_of(path, sizeof(path), folder, "old");
	old_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	path_of(path, sizeof(path), folder, "cost");
	cost_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)!write(cost_fd, "x", 1);
	while (read(line, &order, 1) == 1) {
		struct answer a = {.failed = old_fd < 0 || cost_fd < 0 ? EIO : 0};

		if (order == 's')
			a.failed = known_steps(folder, old_fd);
		else
			a.cost_ns = measure_cost(cost_fd);
		if (write(line, &a, sizeof(a)) != sizeof(a))
			break;
	}
	_exit(0);
}

/* ---- folder and worker ---- */

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"old",
					    "cost",
					    "known",
					    "renamed",
					    "1/2/3/4/5/6/7/8/9/deep",
					    "1/2/3/4/5/6/7/8/9",
					    "1/2/3/4/5/6/7/8",
					    "1/2/3/4/5/6/7",
					    "1/2/3/4/5/6",
					    "1/2/3/4/5",
					    "1/2/3/4",
					    "1/2/3",
					    "1/2",
					    "1"};
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		path_of(path, sizeof(path), folder, names[i]);
		remove(path);
	}
	rmdir(folder);
}

static void trial_free(struct trial *t)
{
	source_free(t->source);
	enrich_free(t->enrich);
	batch_set_free(&t->in);
	batch_set_free(&t->out);
	if (t->line >= 0)
		close(t->line);
	if (t->worker > 0) {
		kill(t->worker, SIGKILL);
		waitpid(t->worker, NULL, 0);
	}
	if (t->folder[0])
		remove_folder(t->folder);
}

static int start_worker(struct trial *t, struct error *err)
{
	const char *tmp = secure_getenv("TMPDIR");
	int ends[2];

	snprintf(t->folder, sizeof(t->folder), "%.32s/weir-doctor-XXXXXX",
		 tmp && *tmp && strlen(tmp) < 32 ? tmp : "/tmp");
	if (!mkdtemp(t->folder)) {
		t->folder[0] = '\0';
		return error_errno(err, -errno, "cannot make a folder in /tmp for the test");
	}
	if (doctor_try_make_folders(t->folder) < 0)
		return error_errno(err, -errno, "cannot make folders in %s", t->folder);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, -errno, "cannot make a socket pair");
	t->line = ends[0];
	t->worker = fork();
	if (t->worker == 0) {
		close(ends[0]);
		worker_main(t->folder, ends[1]);
	}
	close(ends[1]);
	return t->worker < 0 ? error_errno(err, -errno, "cannot fork") : 0;
}

/* ---- the recording ---- */

static bool is_path(struct bytes s, const char *folder, const char *name)
{
	char path[256];
	size_t n;

	path_of(path, sizeof(path), folder, name);
	n = strlen(path);
	return s.len == n && !memcmp(s.data, path, n);
}

static struct bytes path_of_op(const struct trial *t, const struct batch *b, size_t row)
{
	int64_t id = batch_get(b, OP_FILE_ID, row, -1);

	return id < 0 ? (struct bytes){NULL, 0} : dims_file_name(enrich_dims(t->enrich), id);
}

/* The path as it is now: rows are checked as they arrive, before a later name replaces an earlier one. */
static void check_op(struct trial *t, const struct batch *b, size_t row)
{
	int64_t op = batch_get(b, OP_OP, row, -1), pos = batch_get(b, OP_POS, row, -1);
	int64_t ret = batch_get(b, OP_RET, row, INT64_MIN);
	struct bytes path = path_of_op(t, b, row);

	t->rows++;
	if (op == op_find("pread64") && pos >= KNOWN_POS) {
		bool right = pos == KNOWN_POS + (int64_t)t->known && ret == 0 &&
			     batch_get(b, OP_DUR, row, -1) > 0 &&
			     batch_get(b, OP_SIZE, row, -1) == KNOWN_SIZE &&
			     batch_get(b, OP_TID, row, -1) == t->worker;

		t->known++;
		t->known_wrong += !right;
	} else if (op == op_find("pwrite64")) {
		t->renamed |= ret == 7 && is_path(path, t->folder, "renamed");
		t->deep_path |= ret == 8 && is_path(path, t->folder, "1/2/3/4/5/6/7/8/9/deep");
		t->old_path |= ret == 3 && is_path(path, t->folder, "old");
	} else if (op == op_find("openat") || op == op_find("open")) {
		t->failed_path |= ret == -ENOENT && is_path(path, t->folder, "missing");
		t->open_path |= ret >= 0 && (is_path(path, t->folder, "known") ||
					     is_path(path, t->folder, "renamed"));
	}
}

static int doctor_try_read_rows(struct trial *t, int timeout_ms, struct error *err)
{
	int result = source_read(t->source, &t->in, timeout_ms, err), r;
	const struct batch *b;

	if (result < 0)
		return result;
	r = enrich_apply(t->enrich, &t->in, &t->out, err);
	batch_set_clear(&t->in);
	b = t->out.tables[TABLE_OP];
	for (size_t i = 0; r >= 0 && b && i < b->rows; i++)
		check_op(t, b, i);
	if (t->out.tables[TABLE_LOSS])
		loss_add(&t->loss, t->out.tables[TABLE_LOSS]);
	batch_set_clear(&t->out);
	if (r >= 0 && clock_monotonic_ns() > t->deadline)
		return error_set(err, -ETIMEDOUT, "the test recording took more than %d s",
				 (int)(LIMIT_NS / NSEC_PER_SEC));
	return r < 0 ? r : result;
}

static void ending_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGHUP);
}

/* True if an ending signal is pending, which takes effect once everything is cleaned up. */
static bool is_asked_to_end(void)
{
	sigset_t signals, pending;

	ending_signals(&signals);
	return sigpending(&pending) == 0 && sigandset(&pending, &pending, &signals) == 0 &&
	       !sigisemptyset(&pending);
}

/* Gives the worker an order and waits for its answer, recording meanwhile if a source runs. */
static int order(struct trial *t, char what, bool recording, struct answer *ret, struct error *err)
{
	struct pollfd p = {.fd = t->line, .events = POLLIN};

	if (send(t->line, &what, 1, MSG_NOSIGNAL) != 1)
		return error_set(err, -EPIPE, "the test process ended early");
	for (;;) {
		int r = recording ? doctor_try_read_rows(t, 1, err) : 0;

		if (r < 0)
			return r;
		if (poll(&p, 1, recording ? 0 : 1000) == 1)
			break;
		if (clock_monotonic_ns() > t->deadline)
			return error_set(err, -ETIMEDOUT, "the test process does not respond");
		if (is_asked_to_end())
			return error_set(err, -EINTR, "the test was ended by a signal");
	}
	if (recv(t->line, ret, sizeof(*ret), 0) != sizeof(*ret))
		return error_set(err, -EPIPE, "the test process ended early");
	return ret->failed ? error_errno(err, -ret->failed, "the test's own calls failed in %s",
					 t->folder)
			   : 0;
}

static int record_worker(struct trial *t, struct answer *cost, struct error *err)
{
	struct select select = {.follow = true, .pids = {(int32_t)t->worker}, .pid_count = 1};
	struct ebpf_options opt = {.select = &select};
	struct answer steps;
	int r = ebpf_source_new(&t->source, &opt, err);

	if (r >= 0)
		r = enrich_new(&t->enrich, err);
	if (r >= 0)
		r = source_start(t->source, err);
	if (r >= 0)
		t->ring_bytes = ebpf_source_ring_bytes(t->source, &t->rings);
	if (r >= 0)
		r = order(t, 's', true, &steps, err);
	if (r >= 0) {
		source_stats(t->source, &t->stats);
		t->known_lost =
			t->stats.lost; /* of the calls in this step, a CPU loses some if it stalls */
		r = order(t, 'c', true, cost, err);
	}
	if (r >= 0)
		r = source_stop(t->source, err);
	while (r >= 0 && r != SOURCE_END)
		r = doctor_try_read_rows(t, 20, err);
	if (t->source)
		source_stats(t->source, &t->stats);
	return r < 0 ? r : 0;
}

/* ---- evaluation ---- */

static void tell_paths(struct doctor *d, const struct trial *t)
{
	_cleanup_buf_ struct buf wrong = {0};
	const struct {
		bool right;
		const char *name;
	} checks[] = {{t->open_path, "open"},
		      {t->failed_path, "failed open"},
		      {t->renamed, "rename"},
		      {t->deep_path, "9 folders deep"}};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (!checks[i].right)
			buf_printf(&wrong, "%s%s", wrong.len ? ", " : "", checks[i].name);
	}
	if (t->known_wrong)
		buf_printf(&wrong, "%s%llu of %d calls", wrong.len ? ", " : "",
			   (unsigned long long)t->known_wrong, KNOWN_CALLS);
	if (wrong.len)
		doctor_add(d, DOCTOR_NO, "arguments, paths",
			   "please report it, with the first line of this page", "wrong: %s",
			   buf_str(&wrong));
	else
		doctor_add(d, DOCTOR_OK, "arguments, paths", NULL,
			   "open, failed open, rename, 9 folders deep: all correct");
	if (t->old_path)
		doctor_add(d, DOCTOR_OK, "already open", NULL,
			   "a file that was open before the start has its path");
	else
		doctor_add(d, DOCTOR_NO, "already open",
			   "please report it, with the first line of this page",
			   "a file that was open before the start has no path");
}

/*
 * Reports how long the recorder may be delayed while one CPU makes the cheapest call in a loop, as the worker just
 * did.
 */
static void tell_rings(struct doctor *d, const struct trial *t, int64_t call_ns)
{
	uint64_t record = t->rows ? t->stats.ring_bytes / t->rows : 0;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t late = t->stats.lost - MIN(t->known_lost, t->stats.lost);
	char there[64] = "", lost[192] = "";

	if (!record)
		return;
	if (late)
		snprintf(lost, sizeof(lost), ": too little just now, %s of %s calls were lost",
			 format_count(late).s, format_count(COST_CALLS).s);
	if (online > 0 && online < (long)t->rings)
		snprintf(there, sizeof(there), " of memory (%ld CPUs are online, %u may be)",
			 online, t->rings);
	doctor_add(d, late ? DOCTOR_WARN : DOCTOR_OK, "rings",
		   late ? "if this machine stalls, use larger rings: --ring 64MiB, or --lossless"
			: NULL,
		   "%u x %s = %s%s, about %.0f ms of headroom at full rate per CPU%s", t->rings,
		   format_size(t->ring_bytes).s, format_size(t->rings * t->ring_bytes).s, there,
		   (double)(t->ring_bytes / record) * (double)call_ns / NSEC_PER_MSEC, lost);
}

static void doctor_try_tell(struct doctor *d, const struct trial *t, int64_t alone_ns,
			    int64_t traced_ns)
{
	bool all = t->known == KNOWN_CALLS && !t->known_lost;

	d->loss = t->loss;
	loss_raise(&d->loss, t->stats.lost);
	doctor_add(d, all ? DOCTOR_OK : DOCTOR_NO, "kernel programs",
		   all ? NULL : "please report it, with the first line of this page",
		   "loaded, attached; saw %s of %s test calls, lost %s", format_count(t->known).s,
		   format_count(KNOWN_CALLS).s, format_count(t->known_lost).s);
	tell_paths(d, t);
	tell_rings(d, t, traced_ns);
	doctor_add(d, DOCTOR_OK, "cost here", NULL,
		   "%lld ns per traced call: %lld ns instead of %lld (%s calls)",
		   (long long)MAX(traced_ns - alone_ns, (int64_t)0), (long long)traced_ns,
		   (long long)alone_ns, format_count(COST_CALLS).s);
}

static void try_recording(struct doctor *d)
{
	_cleanup_(trial_free) struct trial t = {.line = -1,
						.deadline = clock_monotonic_ns() + LIMIT_NS};
	struct answer alone = {0}, traced = {0};
	struct error err = {0};
	int r = start_worker(&t, &err);

	if (r >= 0)
		r = order(&t, 'c', false, &alone, &err);
	if (r >= 0)
		r = record_worker(&t, &traced, &err);
	if (r < 0)
		doctor_add(d, DOCTOR_NO, "kernel programs", NULL, "%s", err.message);
	else
		doctor_try_tell(d, &t, alone.cost_ns, traced.cost_ns);
}

void doctor_try_recording(struct doctor *d)
{
	sigset_t signals, before;

	/* Signals wait until the folder is removed: the recording looks for them. */
	ending_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	try_recording(d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
