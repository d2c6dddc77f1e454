/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/timestamp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int timestamp_parse(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	struct tm offset = {0};
	const char *rest;
	int64_t at;

	if (!end)
		return -EINVAL;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	at = (int64_t)timegm(&tm);
	rest = *end == '+' || *end == '-' ? strptime(end + 1, "%H:%M", &offset) : NULL;
	if (rest && rest == end + 6 && *rest == '\0')
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
	int64_t fraction = (us % 1000000 + 1000000) % 1000000;
	time_t seconds = (time_t)((us - fraction) / 1000000);
	struct tm tm = {0};
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(ret, TIMESTAMP_MICRO_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + len, TIMESTAMP_MICRO_MAX - len, ".%06" PRId64 "Z", fraction);
}
