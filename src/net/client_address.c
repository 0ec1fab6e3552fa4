// SPDX-License-Identifier: Apache-2.0
/* client_address.c: parses a store's address, and reads the login. */
#include "net/client_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/option.h"

#define LOGIN_MAX 4096

void net_address_free(struct net_address *a)
{
	for (size_t i = 0; i < a->node_count; i++)
		free(a->nodes[i]);
	free(a->database);
	free(a->ca);
	free(a->user);
	if (a->password)
		explicit_bzero(a->password, strlen(a->password));
	free(a->password);
	*a = (struct net_address){0};
}

static bool is_host_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
}

static int add_node(struct net_address *a, const char *text, size_t len,
		    const struct net_defaults *d, struct error *err)
{
	const char *bracket = memchr(text, ']', len);
	const char *colon = memchr(bracket ? bracket : text, ':',
				   len - (size_t)((bracket ? bracket : text) - text));
	unsigned int port = a->tls ? d->tls_port : d->port;
	char *end;

	for (size_t i = 0; i < len; i++) {
		if (!is_host_char(text[i]))
			return error_set(
				err, -EINVAL,
				"'%.*s' is not a host: %s://HOST[:PORT][,HOST...]/DATABASE",
				(int)MIN(len, (size_t)100), text, d->scheme);
	}
	if (!len || colon == text)
		return error_set(
			err, -EINVAL,
			"a host is missing: %s://HOST[:PORT]/DATABASE, an IPv6 address in brackets",
			d->scheme);
	if (colon) {
		port = (unsigned int)strtoul(colon + 1, &end, 10);
		if (end != text + len || port == 0 || port > 65535)
			return error_set(err, -EINVAL,
					 "'%.*s' is not a port (1 to 65535): "
					 "%s://HOST[:PORT]/DATABASE, an IPv6 "
					 "address in brackets",
					 (int)MIN((size_t)(text + len - colon - 1), (size_t)20),
					 colon + 1, d->scheme);
		len = (size_t)(colon - text);
	}
	if (a->node_count == NET_NODES_MAX)
		return error_set(err, -E2BIG, "at most %d hosts are allowed", NET_NODES_MAX);
	if (asprintf(&a->nodes[a->node_count], "%.*s:%u", (int)len, text, port) < 0)
		return -ENOMEM;
	a->node_count++;
	return 0;
}

static int put_login(struct net_address *a, char *line, const char *path, struct error *err)
{
	char **to = !strncmp(line, "user=", 5)	     ? &a->user
		    : !strncmp(line, "password=", 9) ? &a->password
						     : NULL;

	if (!*line || *line == '#')
		return 0;
	if (!to)
		return error_set(
			err, -EINVAL,
			"%.300s: each line must be user=NAME or password=TEXT, and one is neither",
			path);
	free(*to);
	*to = strdup(strchr(line, '=') + 1);
	return *to ? 0 : -ENOMEM;
}

static int read_login(struct net_address *a, const char *path, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char text[LOGIN_MAX + 1], *at = text, *line, *end;
	struct stat st;
	ssize_t n;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, -errno, "login=%.300s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "login=%.300s is not a file", path);
	if (st.st_mode & 077)
		return error_set(
			err, -EACCES,
			"%.300s contains a password but is readable by others: chmod 600 it", path);
	n = read(fd, text, LOGIN_MAX);
	if (n < 0)
		return error_errno(err, -errno, "login=%.300s", path);
	text[n] = 0;
	while (r >= 0 && (line = strsep(&at, "\n"))) {
		end = line + strlen(line);
		if (end > line && end[-1] == '\r') /* of a file written on Windows */
			end[-1] = 0;
		r = put_login(a, line, path, err);
	}
	explicit_bzero(text, sizeof(text));
	if (r >= 0 && !a->user)
		return error_set(err, -EINVAL, "%.300s has no line user=NAME", path);
	return r;
}

static int read_environment(struct net_address *a, struct error *err)
{
	const char *user = secure_getenv("WEIR_USER"), *password = secure_getenv("WEIR_PASSWORD");

	if (password && !user)
		return error_set(err, -EINVAL,
				 "WEIR_PASSWORD is set without WEIR_USER: set both, or login=FILE "
				 "in the address");
	a->user = user ? strdup(user) : NULL;
	a->password = password ? strdup(password) : NULL;
	return (user && !a->user) || (password && !a->password) ? -ENOMEM : 0;
}

/* "name=value"; sets *login if that is the name. */
static int put_option(struct net_address *a, char *option, char **login, struct error *err)
{
	char *value = strchr(option, '=');

	if (value)
		*value++ = 0;
	if (value && !strcmp(option, "tls") && (!strcmp(value, "1") || !strcmp(value, "0")))
		a->tls = *value == '1';
	else if (value && *value && !strcmp(option, "login"))
		*login = value;
	else if (value && *value && !strcmp(option, "ca") && !a->ca)
		return (a->ca = strdup(value)) ? 0 : -ENOMEM;
	else if (value && !strcmp(option, "timeout"))
		return parse_duration(value, &a->timeout_ns, err);
	else if (!strcmp(option, "user") || !strcmp(option, "password"))
		return error_set(err, -EINVAL,
				 "user and password are not part of an address, which others can "
				 "see: set $WEIR_USER and $WEIR_PASSWORD, or login=FILE");
	else
		return error_set(
			err, -EINVAL,
			"'%.50s' is not an option of an address: the options are tls=1, ca=FILE, "
			"login=FILE and timeout=TIME",
			option);
	return 0;
}

static int put_nodes(struct net_address *a, const char *text, const struct net_defaults *d,
		     struct error *err)
{
	int r = 0;

	if (strchr(text, '@'))
		return error_set(err, -EINVAL,
				 "user and password are not part of an address, which others can "
				 "see: set $WEIR_USER and $WEIR_PASSWORD, or login=FILE");
	while (r >= 0) {
		size_t len = strcspn(text, ",");

		r = add_node(a, text, len, d, err);
		if (r < 0 || !text[len])
			return r;
		text += len + 1;
	}
	return r;
}

static int put_database(struct net_address *a, const char *name, const struct net_defaults *d,
			struct error *err)
{
	if (!name || !*name)
		name = d->database;
	for (const char *c = name; *c; c++) {
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= '0' && *c <= '9') && *c != '_' && *c != '-')
			return error_set(
				err, -EINVAL,
				"'%.100s' is not a database name: use letters, digits, - and _",
				name);
	}
	a->database = strdup(name);
	return a->database ? 0 : -ENOMEM;
}

int net_address_parse(struct net_address *a, const char *text, const struct net_defaults *d,
		      struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *nodes, *database, *options, *option, *login = NULL;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	nodes = strstr(copy, "://");
	if (!nodes)
		return error_set(err, -EINVAL, "it is not an address: %s://HOST/DATABASE",
				 d->scheme);
	nodes += 3;
	options = strchr(nodes, '?');
	if (options)
		*options++ = 0;
	database = strchr(nodes, '/');
	if (database)
		*database++ = 0;
	while (r >= 0 && options && *options && (option = strsep(&options, "&")))
		r = put_option(a, option, &login, err);
	if (r < 0)
		return r;
	r = put_nodes(a, nodes, d, err);
	if (r < 0)
		return r;
	r = put_database(a, database, d, err);
	if (r < 0)
		return r;
	return login ? read_login(a, login, err) : read_environment(a, err);
}
