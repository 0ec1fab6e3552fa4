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
#define YEAR_MAX 2262 /* what fits into 64 bits of ns */
#define DAYS_MAX 400  /* of a frame that are looked at */

const char when_months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
				 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* What a text said, before it is a time. */
struct reading {
	struct tm tm;
	int64_t ns; /* of the second */
	bool zoned;
	long east; /* of UTC, in seconds */
};

/* ---- words ---- */

/* One or two digits, then `after` (0: anything). */
static bool number(const char **p, int *ret, unsigned int least, char after)
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
	return number(p, ret, 2, after);
}

/* ".5": the ns. */
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

/* "Z", "+01:00", "-0500": seconds east of UTC. False: something else. */
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
	if (!number(p, &r->tm.tm_hour, 1, ':') || !two(p, &r->tm.tm_min, 0))
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
	if (!number(p, &tm->tm_mday, 1, ' '))
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

/* False: the 31st of June. */
static bool exists(const struct tm *day)
{
	struct tm tm = {.tm_year = day->tm_year, .tm_mon = day->tm_mon, .tm_mday = day->tm_mday};

	timegm(&tm);
	return tm.tm_mday == day->tm_mday;
}

static int to_ns(const struct reading *r, bool utc, int64_t *ret)
{
	struct tm tm = r->tm;
	int64_t seconds;

	tm.tm_isdst = -1;
	if (r->zoned || utc)
		seconds = timegm(&tm) - (r->zoned ? r->east : 0);
	else
		seconds = mktime(&tm);
	if (seconds < 0 || seconds > INT64_MAX / NSEC_PER_SEC - 1)
		return -EINVAL;
	*ret = seconds * NSEC_PER_SEC + r->ns;
	return 0;
}

/* The day that is meant where only the clock was read. */
static int nearest_day(struct reading *r, const struct when_frame *frame, int64_t *ret)
{
	struct tm day = day_of(frame->first, r, frame);
	int64_t best = INT64_MAX;

	for (int i = 0; i < DAYS_MAX; i++) {
		int64_t at, away;

		r->tm.tm_year = day.tm_year;
		r->tm.tm_mon = day.tm_mon;
		r->tm.tm_mday = day.tm_mday + i;
		if (to_ns(r, frame->utc, &at) < 0)
			return -EINVAL;
		away = at < frame->first  ? clock_between(at, frame->first)
		       : at > frame->last ? clock_between(frame->last, at)
					  : 0;
		if (!away && !best)
			return -ERANGE;
		if (away < best) {
			best = away;
			*ret = at;
		}
		if (at > frame->last)
			break;
	}
	return 0;
}

/* The day that the text begins with, if any; "22 Nov" is of the frame's year. */
static bool day(const char **p, struct reading *r, const struct when_frame *frame)
{
	const char *text = *p;

	if (date(p, &r->tm))
		return true;
	*p = text;
	if (frame && day_and_month(p, &r->tm)) {
		r->tm.tm_year = day_of(frame->first, r, frame).tm_year;
		return true;
	}
	*p = text;
	return false;
}

/* Behind a day. */
static bool clock_follows(const char **p)
{
	bool follows = **p == ' ' || **p == 'T';

	*p += follows;
	return follows;
}

int when_parse(const char *text, size_t len, const struct when_frame *frame, int64_t *ret_ns)
{
	struct reading r = {0};
	char copy[TEXT_MAX];
	const char *p = copy;
	bool dated;

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	dated = day(&p, &r, frame);
	if (!dated && !frame)
		return -EINVAL;
	if ((!dated || clock_follows(&p)) && !clock_time(&p, &r))
		return -EINVAL;
	while (*p == ' ')
		p++;
	r.zoned = *p != '\0';
	if (r.zoned && !zone(p, &r.east))
		return -EINVAL;
	if (!dated)
		return nearest_day(&r, frame, ret_ns);
	if (!exists(&r.tm))
		return -EINVAL;
	return to_ns(&r, frame && frame->utc, ret_ns);
}
