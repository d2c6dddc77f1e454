/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the benchmarks share. */
#include <stdlib.h>

#include "common/io/time.h"

static inline double bench_ms(void)
{
	return clock_s(CLOCK_MONOTONIC) * 1e3;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median; the numbers are sorted. */
static inline double bench_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), bench_compare);
	return values[n / 2];
}
