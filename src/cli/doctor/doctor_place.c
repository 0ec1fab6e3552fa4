/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_place.c: weir's environment on this machine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "cli/doctor/doctor.h"
#include "cli/terminal/format.h"
#include "cli/options/shared.h"
#include "engine/engine.h"
#include "privilege/privilege.h"
#include "record/tracers.h"

#define CALLS_PER_SECOND 400000 /* of a busy server, to estimate how long the disk lasts */
#define BYTES_PER_CALL	 10

/* ---- other tracers ---- */

static int add_tracer(void *arg, int32_t pid, const char *comm)
{
	struct buf *found = arg;

	return buf_printf(found, "%s%s (pid %d)", found->len ? ", " : "", comm, pid);
}

void doctor_check_tracers(struct doctor *d)
{
	_cleanup_buf_ struct buf found = {0};

	(void)!tracers_each(add_tracer, &found);
	if (found.len)
		doctor_add(d, DOCTOR_WARN, "other tracers", NULL,
			   "%s running; weir loses nothing by it, but tracers that attach through "
			   "perf may",
			   buf_str(&found));
	else
		doctor_add(d, DOCTOR_OK, "other tracers", NULL, "none is running");
}

/* ---- reading ---- */

/* Creates an empty trace in its own folder, for the engine to open. */
static int make_trace(char *folder, char *path, size_t size, struct error *err)
{
	struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	int r;

	if (!mkdtemp(folder))
		return error_errno(err, -errno, "cannot make a folder in /tmp");
	snprintf(path, size, "%s/weir.trace", folder);
	r = store_create(&w, path, &opt, err);
	return r < 0 ? r : store_close(w, err);
}

static void check_engine(struct doctor *d)
{
	char folder[] = "/tmp/weir-doctor-XXXXXX", path[64] = "";
	const char *const paths[] = {path};
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(engine_freep) struct engine *e = NULL;
	const char *remedy, *version = NULL, *library = NULL;
	struct error err = {0};
	int r = make_trace(folder, path, sizeof(path), &err);

	if (r >= 0)
		r = store_open(&s, paths, 1, &err);
	if (r >= 0)
		r = engine_open(&e, s, &(struct engine_options){.threads = 1}, &err);
	if (r >= 0)
		r = engine_probe(NULL, &version, &library, &err);
	/* splits "what is wrong: what to do" */
	remedy = r < 0 ? strstr(err.message, ": ") : NULL;
	if (r == -EOPNOTSUPP)
		doctor_add(d, DOCTOR_NONE, "query, sql, serve",
			   "use a weir that was built with -Dengine=true",
			   "this weir was built without it");
	else if (r < 0)
		doctor_add(d, DOCTOR_WARN, "query, sql, serve", remedy ? remedy + 2 : NULL, "%.*s",
			   (int)(remedy ? (size_t)(remedy - err.message) : strlen(err.message)),
			   err.message);
	else
		doctor_add(d, DOCTOR_OK, "query, sql, serve", NULL, "libduckdb %s, %s", version,
			   library);
	unlink(path);
	rmdir(folder);
}

static void check_disk(struct doctor *d)
{
	struct statvfs fs;
	uint64_t bytes;
	double hours;

	if (statvfs(".", &fs) < 0) {
		doctor_add(d, DOCTOR_WARN, "disk", NULL, "cannot determine the free space: %s",
			   strerror(errno));
		return;
	}
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	hours = (double)bytes / BYTES_PER_CALL / CALLS_PER_SECOND / 3600;
	doctor_add(d, hours < 0.1 ? DOCTOR_WARN : DOCTOR_OK, "disk",
		   hours < 0.1 ? "write elsewhere (-o) or bound the trace (--size)" : NULL,
		   "%s free here, about %.*f %s at %s calls/s", format_size(bytes).s,
		   hours < 1 || hours >= 10 ? 0 : 1, hours < 1 ? hours * 60 : hours,
		   hours < 1 ? "min" : "h", format_count(CALLS_PER_SECOND).s);
}

/* Checks the last trace recorded here, under record's default name. */
static void doctor_place_check_trace(struct doctor *d)
{
	const char *const paths[] = {TRACE_DEFAULT};
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_buf_ struct buf b = {0};
	struct error err = {0};
	struct loss loss;
	int r;

	if (access(paths[0], F_OK) < 0)
		return;
	r = store_open(&s, paths, 1, &err);
	if (r >= 0)
		r = loss_read(&loss, s, &err);
	if (r < 0) {
		doctor_add(d, DOCTOR_WARN, paths[0], NULL, "%s", err.message);
		return;
	}
	if (loss.failed.count && loss_put_failed(&b, &loss) >= 0)
		doctor_add(d, DOCTOR_WARN, paths[0], NULL, "recording failed: %s", buf_str(&b));
	else if (loss.unclosed.traces && loss_put_unclosed(&b, &loss, FORMAT_LOCAL) >= 0)
		doctor_add(d, DOCTOR_WARN, paths[0], NULL, "not closed %s", buf_str(&b));
	else if (loss_of_calls(&loss) && loss_put_calls(&b, &loss) >= 0)
		doctor_add(d, DOCTOR_WARN, paths[0], NULL, "%s lost", buf_str(&b));
	else if (loss.damage.blocks && loss_put_damage(&b, &loss) >= 0)
		doctor_add(d, DOCTOR_WARN, paths[0], NULL, "damaged: %s", buf_str(&b));
	else
		doctor_add(d, DOCTOR_OK, paths[0], NULL, "%s, lost 0",
			   store_is_growing(s) ? "is being recorded" : "closed");
}

void doctor_check_reading(struct doctor *d)
{
	doctor_add(d, DOCTOR_OK, "report, trace", NULL, "built in");
	check_engine(d);
	check_disk(d);
	doctor_place_check_trace(d);
}

/* ---- rights ---- */

#define SIGHT                                                                                  \
	"the calls, file names, arguments and peers of every process, including passwords in " \
	"arguments"

/* Reports which privileges are or could be granted, to whom, and the consequences. */
static void check_grant(struct doctor *d)
{
	char exe[4096], remedy[DOCTOR_TEXT_MAX], caps[64];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct stat st;

	exe[MAX(n, (ssize_t)0)] = '\0';
	if (getxattr(exe, "security.capability", caps, sizeof(caps)) > 0) {
		bool all = stat(exe, &st) < 0 || st.st_mode & S_IXOTH;

		snprintf(
			remedy, sizeof(remedy),
			"revoke it: setcap -r %.200s; then chgrp and chmod 750, and grant it again",
			exe);
		doctor_add(d, DOCTOR_WARN, "file capabilities", all ? remedy : NULL,
			   "set: everyone who can run %.120s (%s) can see " SIGHT, exe,
			   all ? "every user" : "its owner and group");
		return;
	}
	snprintf(
		remedy, sizeof(remedy),
		"as a service: systemctl start weir-record; or for a group: chgrp and chmod 750 on "
		"%.120s, then setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace,"
		"cap_checkpoint_restore+p on it: everyone who can run it can then see " SIGHT,
		exe);
	doctor_add(d, DOCTOR_NONE, "other users", remedy,
		   "only root can record: CAP_BPF, CAP_PERFMON are not granted");
}

void doctor_check_rights(struct doctor *d)
{
	check_grant(d);
	if (privilege_can_filter())
		doctor_add(d, DOCTOR_OK, "confinement", NULL,
			   "after loading its BPF programs the recorder drops most of root's "
			   "privileges and cannot start programs");
	else
		doctor_add(d, DOCTOR_WARN, "confinement",
			   "boot a kernel with CONFIG_SECCOMP_FILTER",
			   "this kernel has no seccomp filters: the recorder drops root's "
			   "privileges, but can start programs");
}
