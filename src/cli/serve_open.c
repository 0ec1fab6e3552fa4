// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_open.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"

#define KEPT_NS (60 * NSEC_PER_SEC) /* enough time to start a browser */

/* ---- the page ---- */

static bool is_private(const char *folder)
{
	struct stat st;

	return *folder == '/' && stat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* Uses the user's runtime folder, or creates a temporary one. 0 or -errno. */
static int choose_folder(struct serve_open *o, char *to, size_t size)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR"), *tmp = secure_getenv("TMPDIR");

	if (runtime && is_private(runtime))
		return snprintf(to, size, "%s", runtime) < (int)size ? 0 : -ENAMETOOLONG;
	snprintf(o->folder, sizeof(o->folder), "%s/weir-open-XXXXXX",
		 tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(o->folder)) {
		o->folder[0] = '\0';
		return -errno;
	}
	return snprintf(to, size, "%s", o->folder) < (int)size ? 0 : -ENAMETOOLONG;
}

static int write_page(const char *path, const char *url)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	/* the link has no character that is special in HTML: only digits, letters, :/#= */
	return dprintf(fd,
		       "<!doctype html>\n<meta charset=\"utf-8\">\n<title>weir</title>\n"
		       "<meta name=\"referrer\" content=\"no-referrer\">\n"
		       "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
		       "<a href=\"%s\">the pages of weir serve</a>\n",
		       url, url) < 0
		       ? -EIO
		       : 0;
}

static int make_page(struct serve_open *o, const char *url)
{
	char folder[192];
	int r = choose_folder(o, folder, sizeof(folder));

	if (r < 0)
		return r;
	snprintf(o->path, sizeof(o->path), "%s/weir-open-%d.html", folder, (int)getpid());
	unlink(o->path); /* left by a killed server with the same pid */
	o->until = clock_monotonic_ns() + KEPT_NS;
	return write_page(o->path, url);
}

void serve_open_end(struct serve_open *o, bool now)
{
	if (!now && (!o->path[0] || clock_monotonic_ns() < o->until))
		return;
	if (o->path[0])
		unlink(o->path);
	if (o->folder[0])
		rmdir(o->folder);
	*o = (struct serve_open){0};
}

/* ---- the browser ---- */

static void start_browser(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		char address[sizeof("file://") + 256];
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		snprintf(address, sizeof(address), "file://%s", path);
		/* a grandchild, so that it need not be waited for */
		if (fork() == 0) {
			execlp("xdg-open", "xdg-open", address, NULL);
			fprintf(stderr,
				"weir: --open: cannot run xdg-open (%s); open the link yourself\n",
				strerror(errno));
		}
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

void serve_open(struct serve_open *o, const char *url)
{
	int r;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
		fprintf(stderr, "weir: --open: no display; open the link yourself\n");
		return;
	}
	r = make_page(o, url);
	if (r < 0) {
		fprintf(stderr, "weir: --open: cannot write %s (%s); open the link yourself\n",
			o->path[0] ? o->path : "a page in TMPDIR", strerror(-r));
		serve_open_end(o, true);
		return;
	}
	start_browser(o->path);
}
