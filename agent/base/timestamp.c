/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/timestamp.h"

#include <errno.h>
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
