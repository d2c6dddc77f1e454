/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts_check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/show.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/time.h"
#include "common/settings.h"
#include "common/xalloc.h"

int option_check_cpu_list(const char *value, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	return cpuset_parse(value, &set, err);
}

static int check_range(const char *value, long min, long max, struct err *err)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < min || n > max)
		return err_set(
			err, -EINVAL, "'%.100s' is not a whole number from %ld to %ld", value, min, max);
	return 0;
}

int option_check_weight(const char *value, struct err *err)
{
	return check_range(value, 1, 1000000, err);
}

int option_check_burst(const char *value, struct err *err)
{
	return check_range(value, 1, 1000, err);
}

int option_check_seconds(const char *value, struct err *err)
{
	return check_range(value, 1, 86400, err);
}

int option_check_priority(const char *value, struct err *err)
{
	return check_range(value, INT32_MIN, INT32_MAX, err);
}

int option_check_not_empty(const char *value, struct err *err)
{
	return *value ? 0 : err_set(err, -EINVAL, "'' is not a name");
}

int option_check_pod_resources(const char *value, struct err *err)
{
	if (!strcmp(value, "auto") || !strcmp(value, "none") || strchr(value, '/'))
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is neither a path nor auto or none", value);
}

int option_check_folder(const char *value, struct err *err)
{
	if (!strcmp(value, "none") || *value == '/')
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is neither an absolute path nor none", value);
}

int option_check_duration(const char *value, struct err *err)
{
	uint64_t ms;

	return duration_parse(value, &ms, err);
}

/* As kubectl: a whole number of seconds, or a duration. */
static int parse_timeout(const char *value, uint64_t *ret_ms, struct err *err)
{
	CLEANUP(freep) char *seconds = NULL;

	if (*value && value[strspn(value, "0123456789")] == '\0')
		seconds = xasprintf("%ss", value);
	return duration_parse(seconds ? seconds : value, ret_ms, err);
}

int option_check_timeout(const char *value, struct err *err)
{
	uint64_t ms;

	return parse_timeout(value, &ms, err);
}

uint64_t option_timeout_ms(const struct options *options, enum option_id id)
{
	uint64_t ms = 0;

	parse_timeout(options->value[id], &ms, NULL); /* option_check_timeout() has accepted the value */
	return ms;
}

int option_check_release(const char *value, struct err *err)
{
	struct kubelet_release release;

	return kubelet_release_parse(value, &release, err);
}

/* The API server accepts annotations of at max 256 KiB per object. */
int option_check_bytes(const char *value, struct err *err)
{
	return check_range(value, 1024, 262144, err);
}

int option_check_lease(const char *value, struct err *err)
{
	const char *slash = strchr(value, '/');

	if (!strcmp(value, "none") || (slash && slash > value && slash[1] && !strchr(slash + 1, '/')))
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is not NAMESPACE/NAME or none", value);
}

int option_check_columns(const char *value, struct err *err)
{
	return check_range(value, TERMINAL_MIN_WIDTH, TERMINAL_MAX_WIDTH, err);
}

bool option_is(const struct options *options, enum option_id id, const char *value)
{
	return options->value[id] && !strcmp(options->value[id], value);
}

uint64_t option_ms(const struct options *options, enum option_id id)
{
	uint64_t ms = 0;

	if (options->value[id])
		duration_parse(
			options->value[id], &ms, NULL); /* option_check_duration() has accepted the value */
	return ms;
}
