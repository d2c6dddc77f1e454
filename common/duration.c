/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define DURATION_MAX_MS (UINT64_C(366) * 24 * 3600 * 1000)

static const struct {
	const char *name;
	uint64_t ms;
} units[] = {{"ms", 1}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};

static uint64_t read_unit(const char **p)
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
		unit = p > digits ? read_unit(&p) : 0;
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
