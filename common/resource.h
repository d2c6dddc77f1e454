/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * resource: Kubernetes resources: what their names mean, and exact quantities (resource.Quantity).
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* ---- names */

/* "hugepages-2Mi" */
bool resource_name_is_hugepages(const char *name);

/* No domain ("cpu", "gpu") or one of kubernetes.io. */
bool resource_name_is_native(const char *name);

/* cpu, memory or hugepages: must lie on NUMA nodes. */
bool resource_name_is_numa_affine(const char *name);

/* May exist without belonging to any NUMA node: storage, ephemeral-storage, every name that is not native. */
bool resource_name_is_host_level(const char *name);

/* The scheduler keeps it as a node's scalar resource: extended, hugepages, of kubernetes.io, volume counts.
 * Names that are neither this nor cpu, memory, pods or ephemeral-storage ("storage", "gpu") exist on no node
 * for it. */
bool resource_name_is_scalar(const char *name);

/* "hugepages-2Mi" for a page size in bytes. */
#define RESOURCE_NAME_HUGEPAGES_SIZE 96
void resource_name_of_hugepages(uint64_t page_bytes, char name[RESOURCE_NAME_HUGEPAGES_SIZE]);

/* ---- quantities */

__extension__ typedef __int128 qty_t; /* nano-units: 1 CPU = 10^9, 1 byte = 10^9 */

#define QTY_UNIT ((qty_t)1000000000)
/* Largest magnitude, about 1.7e29 units; a sum beyond it stays there. */
#define QTY_MAX ((((qty_t)1 << 126) - 1) * 2 + 1)

enum quantity_format {
	QUANTITY_DECIMAL_SI,       /* 500m, 12k, 3 */
	QUANTITY_BINARY_SI,        /* 64Mi */
	QUANTITY_DECIMAL_EXPONENT, /* 12e3 */
	QUANTITY_FORMAT_COUNT
};

struct quantity {
	qty_t nano;
	enum quantity_format format; /* how it is written, not what it means */
};

/* Longest text quantity_print() writes, with the closing NUL. */
#define QUANTITY_TEXT_MAX 64

/*
 * Parse "[+-]DIGITS[.DIGITS][suffix]", suffix one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, e<int>, E<int>, or
 * none; "5." and ".5" are quantities too. Finer than a nano-unit is rounded away from zero; a binary quantity
 * above 2^63-1 is capped there, as the API does. 0; -EINVAL (not a quantity); -ERANGE (beyond QTY_MAX). *ret
 * is untouched on failure.
 */
int quantity_parse(const char *text, struct quantity *ret, struct err *err);

/*
 * The canonical text: no fraction, the largest suffix that leaves an integer, at most QUANTITY_TEXT_MAX
 * bytes. A binary quantity below 1024 units, or of no whole number of units, is written in decimal form.
 * Parsing the text gives the same value, except that a binary one above 2^63-1 is capped.
 */
void quantity_print(struct quantity q, char text[QUANTITY_TEXT_MAX]);

/* A whole number of units written in decimal form (as a Go agent's resource.NewQuantity(v, DecimalSI)). */
static inline struct quantity quantity_from_units(int64_t units)
{
	return (struct quantity){.nano = (qty_t)units * QTY_UNIT, .format = QUANTITY_DECIMAL_SI};
}

/* <0, 0, >0. Exact; the format plays no part. */
static inline int quantity_cmp(struct quantity a, struct quantity b)
{
	return (a.nano > b.nano) - (a.nano < b.nano);
}

/* The sum, exact within +-QTY_MAX and held there beyond. */
qty_t qty_add(qty_t a, qty_t b);

/* Sum; the result has a's format, or b's when a is zero, as Quantity.Add does. */
struct quantity quantity_add(struct quantity a, struct quantity b);
/* Quantity.Value() and MilliValue(): units and thousandths, rounded up (away from zero), saturated to int64.
 */
int64_t qty_value(qty_t nano);
int64_t qty_milli_value(qty_t nano);
