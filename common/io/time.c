/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- timestamps */

int timestamp_parse(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	struct tm offset = {0};
	const char *offset_end;
	int64_t at;

	if (!end)
		return -EINVAL;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	at = (int64_t)timegm(&tm);
	offset_end = *end == '+' || *end == '-' ? strptime(end + 1, "%H:%M", &offset) : NULL;
	/* strptime() also takes fewer digits than "+HH:MM" has. */
	if (offset_end && offset_end == end + 6 && *offset_end == '\0')
		at -= (*end == '-' ? -1 : 1) * (offset.tm_hour * 3600 + offset.tm_min * 60);
	else if (strcmp(end, "Z") != 0)
		return -EINVAL;
	*ret = at;
	return 0;
}

void timestamp_print_age(int64_t s, char ret[AGE_TEXT_MAX])
{
	if (s < 0)
		snprintf(ret, AGE_TEXT_MAX, "-");
	else if (s < 120)
		snprintf(ret, AGE_TEXT_MAX, "%" PRId64 "s", s);
	else if (s < 120 * 60)
		snprintf(ret, AGE_TEXT_MAX, "%" PRId64 "m", s / 60);
	else if (s < (int64_t)48 * 3600)
		snprintf(ret, AGE_TEXT_MAX, "%" PRId64 "h", s / 3600);
	else
		snprintf(ret, AGE_TEXT_MAX, "%" PRId64 "d", s / 86400);
}

void timestamp_print_micro(int64_t us, char ret[TIMESTAMP_MICRO_MAX])
{
	int64_t fraction = (us % 1000000 + 1000000) % 1000000; /* not negative, also before 1970 */
	time_t seconds = (time_t)((us - fraction) / 1000000);
	struct tm tm = {0};
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(ret, TIMESTAMP_MICRO_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + len, TIMESTAMP_MICRO_MAX - len, ".%06" PRId64 "Z", fraction);
}

/* ---- durations */

#define DURATION_MAX_MS (UINT64_C(366) * 24 * 3600 * 1000)

static const struct {
	const char *name;
	uint64_t ms;
} units[] = {{"ms", 1}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};

static uint64_t read_duration_unit(const char **p)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(*p, units[i].name, len) != 0)
			continue;
		*p += len;
		return units[i].ms;
	}
	return 0;
}

int duration_parse(const char *text, uint64_t *ret_ms, struct err *err)
{
	const char *p = text;
	uint64_t sum = 0;

	if (!strcmp(text, "0")) {
		*ret_ms = 0;
		return 0;
	}
	do {
		uint64_t n = 0, unit;
		const char *digits = p;

		for (; *p >= '0' && *p <= '9' && n <= DURATION_MAX_MS; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		unit = p > digits ? read_duration_unit(&p) : 0;
		if (unit == 0 || n > DURATION_MAX_MS / unit)
			return err_set(
				err, -EINVAL, "'%.60s' is not a duration like 50ms, 10s or 1m30s", text);
		sum += n * unit;
	} while (*p);
	if (sum > DURATION_MAX_MS)
		return err_set(err, -EINVAL, "'%.60s' is more than a year", text);
	*ret_ms = sum;
	return 0;
}

/* ---- rate limits */

uint64_t budget_at(const struct budget *b)
{
	/* An action is allowed while the time of a whole burst is no further ahead than this: another action of the burst is left. */
	uint64_t ahead = (b->burst - 1) * b->interval_ms;

	return b->full_at_ms > ahead ? b->full_at_ms - ahead : 0;
}

void budget_take(struct budget *b, uint64_t now_ms)
{
	b->full_at_ms = (b->full_at_ms > now_ms ? b->full_at_ms : now_ms) + b->interval_ms;
}

/* ---- CPU time */

uint64_t work_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool work_limit_has_time(struct work_limit *w)
{
	bool has_time = w->until_ns == 0 || (!w->cached_only && work_now_ns() < w->until_ns);

	w->reached = w->reached || !has_time;
	return has_time;
}

struct work_limit work_limit_part(const struct work_limit *w, uint64_t ns)
{
	struct work_limit part = *w;
	uint64_t until_ns = work_now_ns() + ns;

	if (part.until_ns > until_ns)
		part.until_ns = until_ns;
	return part;
}

void work_limit_end_part(struct work_limit *w, const struct work_limit *part)
{
	w->advanced = part->advanced;
	w->reached = w->reached || (part->reached && (part->cached_only || part->until_ns == w->until_ns));
}

bool work_limit_goes_on(struct work_limit *w)
{
	return (!w->advanced && !w->cached_only) || work_limit_has_time(w);
}
