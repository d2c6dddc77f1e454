/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Times as Kubernetes writes them: RFC 3339.
 */
#include <stdint.h>

/* "2026-11-21T08:00:00Z", also with a fraction (passed over) or an offset, in seconds since the epoch. 0 or -EINVAL,
 * *ret then untouched. */
int timestamp_parse(const char *text, int64_t *ret);
