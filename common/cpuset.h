/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * cpuset: sets of CPU ids and of NUMA node ids, which are hwloc bitmaps: a scope guard, strict parsers, and
 * wrappers of the hwloc functions that allocate. The wrappers end the process when memory runs out, as
 * common/xalloc.h does.
 */
#include <hwloc/bitmap.h>
#include <stddef.h>

#include "common/err.h"
#include "common/xalloc.h"

/* The parsers reject larger ids. The kernel's limit is NR_CPUS, 8192 on x86. */
#define CPUSET_MAX_ID 65535u

static inline void cpuset_freep(hwloc_bitmap_t *set)
{
	hwloc_bitmap_free(*set);
	*set = NULL;
}

static inline hwloc_bitmap_t cpuset_new(void)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!set)
		xalloc_failed();
	return set;
}

static inline hwloc_bitmap_t cpuset_dup(hwloc_const_bitmap_t from)
{
	hwloc_bitmap_t set = hwloc_bitmap_dup(from);

	if (!set)
		xalloc_failed();
	return set;
}

/* cpuset_OPERATION() wraps hwloc_bitmap_OPERATION(), which fails only when memory runs out. */
#define CPUSET_OPERATION(operation, parameters, arguments)  \
	static inline void cpuset_##operation parameters    \
	{                                                   \
		if (hwloc_bitmap_##operation arguments < 0) \
			xalloc_failed();                    \
	}
CPUSET_OPERATION(copy, (hwloc_bitmap_t to, hwloc_const_bitmap_t from), (to, from))
CPUSET_OPERATION(or, (hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b), (to, a, b))
CPUSET_OPERATION(and, (hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b), (to, a, b))
CPUSET_OPERATION(andnot, (hwloc_bitmap_t to, hwloc_const_bitmap_t a, hwloc_const_bitmap_t b), (to, a, b))
CPUSET_OPERATION(set, (hwloc_bitmap_t set, unsigned id), (set, id))
CPUSET_OPERATION(set_range, (hwloc_bitmap_t set, unsigned first, unsigned last), (set, first, (int)last))
CPUSET_OPERATION(clr, (hwloc_bitmap_t set, unsigned id), (set, id))
CPUSET_OPERATION(only, (hwloc_bitmap_t set, unsigned id), (set, id))
#undef CPUSET_OPERATION

/*
 * Parse a list as the kubelet and the kernel write it: decimal ids and ranges, "0-3,8", "" = empty set. White
 * space, strides, open ranges and descending ranges are errors. *ret_set is a new bitmap that the caller
 * owns. 0; -EINVAL (not a list); -ERANGE (an id above CPUSET_MAX_ID). *ret_set is untouched on failure.
 */
int cpuset_parse(const char *list, hwloc_bitmap_t *ret_set, struct err *err);

/*
 * Parse a mask as in the kernel's cpumap files: hexadecimal words of 32 bits, the highest first, separated by
 * commas, "00000000,0000ffff"; "" = empty set. Every word except the first has exactly eight digits. Returns
 * and ownership as cpuset_parse().
 */
int cpuset_parse_mask(const char *mask, hwloc_bitmap_t *ret_set, struct err *err);

/* Print the set as a list, "0-3,8", "" for the empty set; cpuset_parse() reads it back. A malloc'd string
 * that the caller owns. */
char *cpuset_print(hwloc_const_bitmap_t set);

/* As cpuset_print(), but four or more ids at equal distances are a range with a stride as in taskset(1): "0-36:4". */
char *cpuset_print_short(hwloc_const_bitmap_t set);

/* Number of ids in the set (0 for NULL). */
size_t cpuset_size(hwloc_const_bitmap_t set);

/* Number of ids that are in both sets. */
size_t cpuset_count_common(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b);
