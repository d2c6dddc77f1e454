/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/backoff.h"

#include <sys/random.h>

uint64_t backoff_ms(unsigned failures, uint64_t random)
{
	uint64_t most = BACKOFF_BASE_MS;

	while (failures-- > 1 && most < BACKOFF_MAX_MS)
		most *= 2;
	if (most > BACKOFF_MAX_MS)
		most = BACKOFF_MAX_MS;
	return 1 + random % most;
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
