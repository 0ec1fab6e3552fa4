/* SPDX-License-Identifier: Apache-2.0 */
#include "base/when.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"

#define TEXT_MAX 64
#define YEAR_MIN 1970
#define YEAR_MAX 2262 /* 64 bits of ns reach no further */
#define DAYS_MAX 400  /* days of a frame that are tried */

const char when_months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
				 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* The parsed fields of a text. */
struct reading {
	struct tm tm;
	int64_t ns; /* within the second */
	bool zoned;
	long east; /* seconds east of UTC */
};

/* ---- words ---- */

/* Parses one or two digits followed by `after` (0: anything). */
static bool when_number(const char **p, int *ret, unsigned int least, char after)
{
	const char *s = *p;
	unsigned int digits = 0;

	for (*ret = 0; digits < 2 && isdigit((unsigned char)s[digits]); digits++)
		*ret = *ret * 10 + (s[digits] - '0');
	if (digits < least || (after && s[digits] != after))
		return false;
	*p = s + digits + (after != 0);
	return true;
}

static bool two(const char **p, int *ret, char after)
{
	return when_number(p, ret, 2, after);
}

/* ".5", in ns. */
static int64_t fraction(const char **p)
{
	int64_t ns = 0, place = NSEC_PER_SEC;

	if (**p != '.')
		return 0;
	while (isdigit((unsigned char)*++*p)) {
		place /= 10;
		ns += (**p - '0') * place;
	}
	return ns;
}

/* "Z", "+01:00", "-0500": seconds east of UTC. False: not a zone. */
static bool zone(const char *p, long *ret_east)
{
	int hours, minutes = 0;
	char sign = *p;

	*ret_east = 0;
	if (!strcmp(p, "Z") || !strcmp(p, "z") || !strcasecmp(p, "UTC"))
		return true;
	p++;
	if ((sign != '+' && sign != '-') || !two(&p, &hours, 0))
		return false;
	if (*p == ':')
		p++;
	if (*p && !two(&p, &minutes, 0))
		return false;
	if (*p || hours > 23 || minutes > 59)
		return false;
	*ret_east = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
	return true;
}

static bool clock_time(const char **p, struct reading *r)
{
	if (!when_number(p, &r->tm.tm_hour, 1, ':') || !two(p, &r->tm.tm_min, 0))
		return false;
	if (**p == ':') {
		++*p;
		if (!two(p, &r->tm.tm_sec, 0))
			return false;
		r->ns = fraction(p);
	}
	return r->tm.tm_hour < 24 && r->tm.tm_min < 60 && r->tm.tm_sec < 61;
}

/* "2026-11-21" */
static bool date(const char **p, struct tm *tm)
{
	int century, year;

	if (!two(p, &century, 0) || !two(p, &year, '-') || !two(p, &tm->tm_mon, '-') ||
	    !two(p, &tm->tm_mday, 0))
		return false;
	year += century * 100;
	tm->tm_year = year - 1900;
	tm->tm_mon--;
	return year >= YEAR_MIN && year < YEAR_MAX && tm->tm_mon >= 0 && tm->tm_mon < 12 &&
	       tm->tm_mday >= 1 && tm->tm_mday <= 31;
}

/* "22 Nov" */
static bool day_and_month(const char **p, struct tm *tm)
{
	if (!when_number(p, &tm->tm_mday, 1, ' '))
		return false;
	for (tm->tm_mon = 0; tm->tm_mon < 12; tm->tm_mon++) {
		if (strncasecmp(*p, when_months[tm->tm_mon], 3) == 0) {
			*p += 3;
			return tm->tm_mday >= 1 && tm->tm_mday <= 31;
		}
	}
	return false;
}

/* ---- from words to times ---- */

/* The calendar day on which the frame's clock shows `at`. */
static struct tm day_of(int64_t at, const struct reading *r, const struct when_frame *frame)
{
	time_t seconds = (time_t)(at / NSEC_PER_SEC) + (r->zoned ? r->east : 0);
	struct tm tm = {0};

	(r->zoned || frame->utc ? gmtime_r : localtime_r)(&seconds, &tm);
	return tm;
}

/* False: June 31. */
static bool exists(const struct tm *day)
{
	struct tm tm = {.tm_year = day->tm_year, .tm_mon = day->tm_mon, .tm_mday = day->tm_mday};

	timegm(&tm);
	return tm.tm_mday == day->tm_mday;
}

/* The possible times of a text: the best so far. */
struct when_choice {
	const struct when_frame *frame; /* NULL: take the first */
	int64_t away; /* distance of the best from the frame; INT64_MAX: none yet */
	int64_t at;
	bool twice; /* another one also lies within the frame */
};

static void when_offer(struct when_choice *c, int64_t at)
{
	const struct when_frame *f = c->frame;
	int64_t away = !f || (at >= f->first && at <= f->last) ? 0
		       : at < f->first			       ? clock_between(at, f->first)
							       : clock_between(f->last, at);

	c->twice |= f && !away && !c->away && at != c->at;
	if (away < c->away) {
		c->away = away;
		c->at = at;
	}
}

/* A local time, in summer time or not. False: clocks never show this time. */
static bool local_seconds(const struct tm *given, int summer, int64_t *ret)
{
	struct tm tm = *given;

	tm.tm_sec = 0;
	tm.tm_isdst = summer;
	*ret = mktime(&tm) + given->tm_sec;
	return tm.tm_isdst == summer && tm.tm_hour == given->tm_hour && tm.tm_min == given->tm_min;
}

static void offer_seconds(const struct reading *r, struct when_choice *c, int64_t seconds)
{
	if (seconds >= 0 && seconds <= INT64_MAX / NSEC_PER_SEC - 1)
		when_offer(c, seconds * NSEC_PER_SEC + r->ns);
}

/* Offers the times that the reading may mean: none if clocks skip it, two if they show it twice. */
static void offer_reading(const struct reading *r, struct when_choice *c)
{
	struct tm tm = r->tm;
	int64_t seconds;

	if (r->zoned || (c->frame && c->frame->utc)) {
		offer_seconds(r, c, timegm(&tm) - (r->zoned ? r->east : 0));
		return;
	}
	for (int summer = 1; summer >= 0; summer--) {
		if (local_seconds(&r->tm, summer, &seconds))
			offer_seconds(r, c, seconds);
	}
}

/* Only a time of day was given: offers that of each day of the frame. */
static void offer_days(struct reading *r, struct when_choice *c)
{
	struct tm first = day_of(c->frame->first, r, c->frame),
		  last = day_of(c->frame->last, r, c->frame);

	r->tm.tm_year = first.tm_year;
	r->tm.tm_mon = first.tm_mon;
	for (int i = 0; i < DAYS_MAX; i++) {
		struct tm day = first;

		r->tm.tm_mday = day.tm_mday += i;
		timegm(&day);
		offer_reading(r, c);
		if (day.tm_year == last.tm_year && day.tm_yday == last.tm_yday)
			break;
	}
}

/* Day and month were given: offers those in each year of the frame. */
static void offer_years(struct reading *r, struct when_choice *c)
{
	int last = day_of(c->frame->last, r, c->frame).tm_year;

	for (r->tm.tm_year = day_of(c->frame->first, r, c->frame).tm_year; r->tm.tm_year <= last;
	     r->tm.tm_year++) {
		if (exists(&r->tm))
			offer_reading(r, c);
	}
}

/* How much of the date a text contains. */
enum dated { DATED_NOT, DATED_MONTH, DATED_YEAR };

static enum dated day(const char **p, struct reading *r, bool framed)
{
	const char *text = *p;

	if (date(p, &r->tm))
		return DATED_YEAR;
	*p = text;
	if (framed && day_and_month(p, &r->tm))
		return DATED_MONTH;
	*p = text;
	return DATED_NOT;
}

/* Parses what follows a day. */
static bool clock_follows(const char **p)
{
	bool follows = **p == ' ' || **p == 'T';

	*p += follows;
	return follows;
}

int when_parse(const char *text, size_t len, const struct when_frame *frame, int64_t *ret_ns)
{
	struct when_choice c = {.frame = frame, .away = INT64_MAX};
	struct reading r = {0};
	char copy[TEXT_MAX];
	const char *p = copy;
	enum dated dated;

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	dated = day(&p, &r, frame != NULL);
	if (dated == DATED_NOT && !frame)
		return -EINVAL;
	if ((dated == DATED_NOT || clock_follows(&p)) && !clock_time(&p, &r))
		return -EINVAL;
	while (*p == ' ')
		p++;
	r.zoned = *p != '\0';
	if (r.zoned && !zone(p, &r.east))
		return -EINVAL;
	if (dated == DATED_NOT)
		offer_days(&r, &c);
	else if (dated == DATED_MONTH)
		offer_years(&r, &c);
	else if (exists(&r.tm))
		offer_reading(&r, &c);
	if (c.away == INT64_MAX)
		return -EINVAL;
	*ret_ns = c.at;
	return c.twice ? -ERANGE : 0;
}
