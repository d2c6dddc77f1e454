/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"

/* Parse the decimal id at *p and advance *p past the id. A plus sign is allowed, as in Go's strconv.Atoi. */
static int parse_cpu_id(const char **p, unsigned long *ret_id)
{
	unsigned long id = 0;

	*p += **p == '+';
	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); (*p)++) {
		id = id * 10 + (unsigned long)(**p - '0');
		if (id > CPUSET_MAX_ID)
			return -ERANGE;
	}
	*ret_id = id;
	return 0;
}

/* Replaces hwloc_bitmap_list_sscanf(), which reads "08" as octal and returns all CPUs from 0 on. */
static int parse_cpu_list(const char *list, hwloc_bitmap_t set)
{
	const char *p = list;

	while (*p) {
		unsigned long first, last;
		int r = parse_cpu_id(&p, &first);

		if (r < 0)
			return r;
		last = first;
		if (*p == '-') {
			p++;
			r = parse_cpu_id(&p, &last);
			if (r < 0)
				return r;
			if (last < first)
				return -EINVAL;
		}
		cpuset_set_range(set, (unsigned)first, (unsigned)last);
		if (*p == '\0')
			return 0;
		if (*p != ',' || p[1] == '\0')
			return -EINVAL;
		p++;
	}
	return 0;
}

int cpuset_parse(const char *list, hwloc_bitmap_t *ret_set, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	int r = parse_cpu_list(list, set);

	if (r == -ERANGE)
		return err_set(err, r, "CPU id above %u in list '%.100s'", CPUSET_MAX_ID, list);
	if (r < 0)
		return err_set(err, r, "not a CPU list: '%.100s'", list);
	*ret_set = TAKE(set);
	return 0;
}

/* The value of `len` hexadecimal digits (1 to 8), or -1. */
static int64_t parse_mask_word(const char *digits, size_t len)
{
	static const char hex[] = "0123456789abcdefABCDEF"; /* from position 16 on: 10 to 15 again */
	int64_t value = 0;

	if (len < 1 || len > 8)
		return -1;
	for (size_t i = 0; i < len; i++) {
		const char *digit = memchr(hex, digits[i], sizeof(hex) - 1);

		if (!digit)
			return -1;
		value = value * 16 + (digit - hex < 16 ? digit - hex : digit - hex - 6);
	}
	return value;
}

int cpuset_parse_mask(const char *mask, hwloc_bitmap_t *ret_set, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = cpuset_new();
	size_t base = 0; /* id of the lowest bit of the word */

	for (const char *end = mask + strlen(mask); end > mask;
		base += 32) { /* from the last word to the first */
		const char *comma = memrchr(mask, ',', (size_t)(end - mask));
		const char *start = comma ? comma + 1 : mask;
		int64_t word = parse_mask_word(start, (size_t)(end - start));

		/* Only the first word, which no comma precedes, may be short. */
		if (word < 0 || (comma && (end - start != 8 || comma == mask)))
			return err_set(err, -EINVAL, "not a CPU mask: '%.100s'", mask);
		for (unsigned bit = 0; bit < 32; bit++) {
			if (!(word >> bit & 1))
				continue;
			if (base + bit > CPUSET_MAX_ID)
				return err_set(err, -ERANGE, "CPU id above %u in mask '%.100s'",
					CPUSET_MAX_ID, mask);
			cpuset_set(set, (unsigned)base + bit);
		}
		end = comma ? comma : mask;
	}
	*ret_set = TAKE(set);
	return 0;
}

char *cpuset_print(hwloc_const_bitmap_t set)
{
	char *text = NULL;

	if (hwloc_bitmap_list_asprintf(&text, set) < 0)
		xalloc_failed();
	return text;
}

char *cpuset_print_short(hwloc_const_bitmap_t set)
{
	int first = hwloc_bitmap_first(set), last = hwloc_bitmap_last(set);
	int stride = hwloc_bitmap_next(set, first) - first;

	if (cpuset_size(set) < 4 || stride < 2)
		return cpuset_print(set);
	for (int id = first; id != last; id += stride)
		if (hwloc_bitmap_next(set, id) != id + stride)
			return cpuset_print(set);
	return xasprintf("%d-%d:%d", first, last, stride);
}

size_t cpuset_size(hwloc_const_bitmap_t set)
{
	int n = set ? hwloc_bitmap_weight(set) : 0;

	return n < 0 ? 0 : (size_t)n;
}

size_t cpuset_count_common(hwloc_const_bitmap_t a, hwloc_const_bitmap_t b)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t common = cpuset_new();

	cpuset_and(common, a, b);
	return cpuset_size(common);
}
