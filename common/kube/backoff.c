/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/backoff.h"

#include <sys/random.h>

/* The longest delay after this many failures. */
static uint64_t limit_ms(unsigned failures)
{
	uint64_t limit = BACKOFF_BASE_MS;

	while (failures-- > 1 && limit < BACKOFF_MAX_MS)
		limit *= 2;
	return limit < BACKOFF_MAX_MS ? limit : BACKOFF_MAX_MS;
}

uint64_t backoff_after_ms(unsigned failures, int retry_after_s, uint64_t random)
{
	uint64_t asked = retry_after_s > 0 ? (uint64_t)retry_after_s * 1000 : 0, limit = limit_ms(failures);

	return asked + 1 + random % (asked / 2 > limit ? asked / 2 : limit);
}

uint64_t backoff_ms(unsigned failures, uint64_t random)
{
	return backoff_after_ms(failures, 0, random);
}

uint64_t backoff_spread_ms(uint64_t period_ms, unsigned percent, uint64_t random)
{
	uint64_t part = period_ms / 100 * percent;

	return period_ms - part + random % (2 * part + 1);
}

uint64_t backoff_random(void)
{
	uint64_t bits = 0;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
		bits = 0;
	return bits;
}
