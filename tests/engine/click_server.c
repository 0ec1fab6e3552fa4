// SPDX-License-Identifier: Apache-2.0
#include "click_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clickhouse/server.h"
#include "fixture.h"
#include "load/load.h"

static const char *const programs[] = {"/usr/sbin/clickhouse-server", "/usr/bin/clickhouse-server"};

#define TRIES 300 /* of 100 ms */

static const char config[] =
	"<yandex><logger><level>warning</level><log>%s/log</log><errorlog>%s/errors</errorlog>"
	"</logger><http_port>%u</http_port><tcp_port>%u</tcp_port><listen_host>127.0.0.1"
	"</listen_host><path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><user_files_path>%s/files/"
	"</user_files_path><users_config>%s/users.xml</users_config><default_profile>default"
	"</default_profile><default_database>default</default_database><mark_cache_size>67108864"
	"</mark_cache_size></yandex>";
static const char users[] =
	"<yandex><profiles><default/></profiles><users><default><password/><networks><ip>"
	"127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>"
	"</users><quotas><default/></quotas></yandex>";

static const char *program; /* the one that is there */
static pid_t server;
static unsigned int port;
static char folder[256];

static unsigned int free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static void write_config(void)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/config.xml", folder);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, config, folder, folder, port, free_port(), folder, folder, folder, folder);
	fclose(f);
	snprintf(path, sizeof(path), "%s/users.xml", folder);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(users, f);
	fclose(f);
}

static bool answers(void)
{
	struct clickhouse c = {0};
	bool is = clickhouse_connect(&c, click_server_address("default"), NULL) >= 0;

	clickhouse_close(&c);
	return is;
}

static void run_server(void)
{
	char option[300], out[300];
	int fd;

	snprintf(option, sizeof(option), "--config-file=%s/config.xml", folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	if (chdir(folder) == 0)
		execl(program, program, option, NULL);
	_exit(127);
}

bool click_server_start(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs) && !program; i++)
		program = access(programs[i], X_OK) == 0 ? programs[i] : NULL;
	if (!program)
		return false;
	if (!port) {
		fixture_file("clickhouse", folder);
		assert_int_equal(mkdir(folder, 0700), 0);
		port = free_port();
		write_config();
	}
	server = fork();
	assert_true(server >= 0);
	if (!server)
		run_server();
	for (int i = 0; i < TRIES; i++) {
		if (answers())
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	}
	fail_msg("clickhouse-server does not answer, see %s/errors", folder);
	return false;
}

void click_server_stop(int sig)
{
	if (server <= 0)
		return;
	kill(server, sig);
	waitpid(server, NULL, 0);
	server = 0;
}

const char *click_server_address(const char *database)
{
	static char text[128];

	snprintf(text, sizeof(text), "clickhouse://127.0.0.1:%u/%s", port, database);
	return text;
}

void click_server_load(const char *database, const char *const *paths, size_t count)
{
	const struct load_target_ops *ops = load_target_find(click_server_address(database), NULL);
	const struct load_options opt = {0};
	const struct load_loop loop = {0};
	struct load_totals totals = {0};
	struct load_target *t;
	struct error err = {0};

	if (ops->connect(&t, click_server_address(database), &opt, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < count; i++) {
		if (load_trace(t, paths[i], &loop, &totals, &err) < 0)
			fail_msg("%s: %s", paths[i], err.message);
	}
	load_target_free(t);
}

const char *click_server_ask(const char *database, const char *sql)
{
	static struct buf answer;
	struct clickhouse c = {0};
	struct error err = {0};

	buf_clear(&answer);
	if (clickhouse_connect(&c, click_server_address(database), &err) < 0 ||
	    clickhouse_do(&c, sql, &answer, &err) < 0)
		fail_msg("%s: %s", sql, err.message);
	clickhouse_close(&c);
	return buf_str(&answer);
}
