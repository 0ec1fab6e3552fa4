// SPDX-License-Identifier: Apache-2.0
/* login.c: authentication: the token of the link as a bearer, or the cookie that it was exchanged for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "server/internal.h"

#define COOKIE_NAME 16 /* "weir_65535" and some spare */

static int random_hex(char *to, size_t bytes, struct error *err)
{
	unsigned char raw[TOKEN_BYTES];

	assert(bytes <= sizeof(raw));
	if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
		return error_errno(err, -EIO, "cannot create a token");
	for (size_t i = 0; i < bytes; i++)
		snprintf(to + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

int session_init(struct server *s, struct error *err)
{
	int r = random_hex(s->token, TOKEN_BYTES, err);

	return r < 0 ? r : random_hex(s->etag_salt, sizeof(s->etag_salt) / 2, err);
}

/* Takes the same time for any text of the token's length. */
static bool is_secret(const char *secret, const char *text)
{
	unsigned char differs = 0;

	if (!text || strlen(text) != TOKEN_TEXT)
		return false;
	for (size_t i = 0; i < TOKEN_TEXT; i++)
		differs |= (unsigned char)(text[i] ^ secret[i]);
	return differs == 0;
}

static bool has_bearer(const struct server *s, const struct http_request *r)
{
	static const char scheme[] = "Bearer ";
	const char *given = http_header(r, "Authorization");

	return given && strncmp(given, scheme, strlen(scheme)) == 0 &&
	       is_secret(s->token, given + strlen(scheme));
}

/* ---- cookies ---- */

/* A browser sends a cookie to every port of the host, so the cookie's name contains the server's port. */
static void cookie_name(const struct server *s, char name[static COOKIE_NAME])
{
	snprintf(name, COOKIE_NAME, "weir_%u", s->port);
}

/* With the lock held: the cookie of that user; NULL: none. */
static struct cookie *find_cookie(struct server *s, uid_t user)
{
	for (size_t i = 0; i < s->cookie_count; i++) {
		if (s->cookies[i].user == user)
			return &s->cookies[i];
	}
	return NULL;
}

/* True if the connection's user was given that cookie: servers on other ports receive it too. */
static bool has_cookie(struct server *s, const struct http_request *r)
{
	const struct cookie *c;
	char name[COOKIE_NAME];
	bool has;

	cookie_name(s, name);
	pthread_mutex_lock(&s->cookies_lock);
	c = find_cookie(s, http_peer(r));
	has = c && is_secret(c->value, http_cookie(r, name));
	pthread_mutex_unlock(&s->cookies_lock);
	return has;
}

/* One per user, valid while the server runs. 0 or negative. */
static int give_cookie(struct server *s, uid_t user, char value[static TOKEN_TEXT + 1])
{
	struct cookie *c;
	int r = 0;

	pthread_mutex_lock(&s->cookies_lock);
	c = find_cookie(s, user);
	if (!c) {
		r = s->cookie_count < COOKIES_MAX ? 0 : -EMFILE;
		c = &s->cookies[MIN(s->cookie_count, (size_t)COOKIES_MAX - 1)];
		if (r >= 0)
			r = random_hex(c->value, TOKEN_BYTES, NULL);
		if (r >= 0)
			c->user = user;
		s->cookie_count += r >= 0;
	}
	if (r >= 0)
		memcpy(value, c->value, TOKEN_TEXT + 1);
	pthread_mutex_unlock(&s->cookies_lock);
	return r;
}

/* ---- checks ---- */

/*
 * Rejects other host names: a name that first resolved elsewhere and then to us (DNS rebinding) would let in pages of
 * that origin.
 */
static bool is_our_host(const struct server *s, const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char wanted[32];

	for (size_t i = 0; host && i < ARRAY_SIZE(names); i++) {
		snprintf(wanted, sizeof(wanted), "%s:%u", names[i], s->port);
		if (strcmp(host, wanted) == 0 || (s->port == 80 && strcmp(host, names[i]) == 0))
			return true;
	}
	return false;
}

/* Accepts our own pages, or requests from no page: a browser sends the origin of the page. */
static bool is_our_origin(const struct server *s, const char *origin)
{
	static const char scheme[] = "http://";

	return !origin || (strncmp(origin, scheme, strlen(scheme)) == 0 &&
			   is_our_host(s, origin + strlen(scheme)));
}

bool session_admit(void *arg, struct http_request *r, const struct http_route *route)
{
	struct server *s = arg;

	if (!is_our_host(s, http_header(r, "Host"))) {
		http_reply_text(r, 421, "text/plain; charset=utf-8", "wrong host name\n");
		return false;
	}
	if (strncmp(http_path(r), "/api", 4) != 0 && strncmp(http_path(r), "/v1/", 4) != 0)
		return true;
	if (is_our_origin(s, http_header(r, "Origin")) && (has_bearer(s, r) || has_cookie(s, r))) {
		http_trust(r);
		return params_admit(r, route);
	}
	http_reply_text(r, 401, "text/plain; charset=utf-8", "");
	return false;
}

/* The cookie is for requests that cannot carry a header; only the bearer can obtain it. */
void session_post(void *arg, struct http_request *r)
{
	struct server *s = arg;
	char name[COOKIE_NAME], value[TOKEN_TEXT + 1], cookie[COOKIE_NAME + TOKEN_TEXT + 64];

	if (!has_bearer(s, r)) {
		http_reply_text(r, 401, "text/plain; charset=utf-8", "");
		return;
	}
	if (give_cookie(s, http_peer(r), value) < 0) {
		http_reply_text(
			r, 503, "text/plain; charset=utf-8",
			"the limit of users with a cookie is reached: restart weir serve\n");
		return;
	}
	cookie_name(s, name);
	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/api/; HttpOnly; SameSite=Strict", name,
		 value);
	if (http_add_header(r, "Set-Cookie", cookie) < 0)
		return;
	http_reply_text(r, 204, NULL, "");
}
