/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * resource: Kubernetes resources: what their names mean, and exact quantities. Depends on common/ only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* ---- names, by the rules of k8s.io/kubernetes pkg/apis/core/v1/helper/helpers.go and the scheduler plugin's
 * numaresources.go */

/* "hugepages-2Mi" */
bool resource_name_is_hugepages(const char *name);

/* Whether a name has no domain ("cpu", "gpu") or a domain of kubernetes.io. */
bool resource_name_is_native(const char *name);

/* cpu, memory or hugepages: always belong to NUMA nodes. */
bool resource_name_is_numa_affine(const char *name);

/* Resources that may exist without a NUMA node: storage, ephemeral-storage, all names that are not native. */
bool resource_name_is_host_level(const char *name);

/* Whether the scheduler stores the resource as a node's scalar resource: extended resources, hugepages,
 * resources of kubernetes.io and volume counts. Besides scalar resources the scheduler counts only cpu,
 * memory, pods and ephemeral-storage. For the scheduler no node has any other resource ("storage", "gpu"). */
bool resource_name_is_scalar(const char *name);

/* Print the name for a page size in bytes: "hugepages-2Mi". */
#define RESOURCE_NAME_HUGEPAGES_SIZE 96
void resource_name_of_hugepages(uint64_t page_bytes, char name[RESOURCE_NAME_HUGEPAGES_SIZE]);

/*
 * ---- quantities: resource.Quantity, exact. A value is a whole number of nano-units (10^-9) in 128 bits.
 * This represents every Kubernetes quantity exactly, because the API rounds finer values up to a nano-unit
 * when it parses them. By the rules of k8s.io/apimachinery/pkg/api/resource/quantity.go.
 */

__extension__ typedef __int128 qty_t; /* nano-units: 1 CPU = 10^9, 1 byte = 10^9 */

#define QTY_UNIT ((qty_t)1000000000)
/* Largest magnitude, about 1.7e29 units; larger sums are capped. */
#define QTY_MAX ((((qty_t)1 << 126) - 1) * 2 + 1)

enum quantity_format {
	QUANTITY_DECIMAL_SI,       /* 500m, 12k, 3 */
	QUANTITY_BINARY_SI,        /* 64Mi */
	QUANTITY_DECIMAL_EXPONENT, /* 12e3 */
	QUANTITY_FORMAT_COUNT
};

struct quantity {
	qty_t nano;
	enum quantity_format format; /* of the text; does not change the value */
};

/* Maximum size of a quantity's text with the NUL. */
#define QUANTITY_TEXT_MAX 64

/*
 * Parse "[+-]DIGITS[.DIGITS][suffix]", suffix one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, e<int>, E<int>, or
 * none; "5." and ".5" are quantities too. Values finer than a nano-unit are rounded away from zero; a binary
 * quantity above 2^63-1 is capped, as the API does. 0; -EINVAL (not a quantity); -ERANGE (beyond QTY_MAX).
 * *ret is untouched on failure.
 */
int quantity_parse(const char *text, struct quantity *ret, struct err *err);

/*
 * Print the canonical text: no fraction, with the largest suffix that leaves an integer. A binary quantity
 * that is below 1024 units, or not a whole number of units, is printed in decimal form. Parsing the text
 * gives the same value, except that a binary quantity above 2^63-1 is capped.
 */
void quantity_print(struct quantity q, char text[QUANTITY_TEXT_MAX]);

/* A quantity of whole units in decimal form, as Go's resource.NewQuantity(units, resource.DecimalSI). */
static inline struct quantity quantity_from_units(int64_t units)
{
	return (struct quantity){.nano = (qty_t)units * QTY_UNIT, .format = QUANTITY_DECIMAL_SI};
}

/* Compare the values: <0, 0 or >0. The format is ignored. */
static inline int quantity_cmp(struct quantity a, struct quantity b)
{
	return (a.nano > b.nano) - (a.nano < b.nano);
}

/* The sum, capped at +-QTY_MAX. */
qty_t qty_add(qty_t a, qty_t b);

/* n times the amount, capped at +-QTY_MAX. */
qty_t qty_multiply(qty_t amount, uint64_t n);

/* The sum; the result has a's format, or b's when a is zero, as Quantity.Add does. */
struct quantity quantity_add(struct quantity a, struct quantity b);

/* Quantity.Value() and Quantity.MilliValue(): units and thousandths, rounded away from zero, capped to
 * int64. */
int64_t qty_value(qty_t nano);
int64_t qty_milli_value(qty_t nano);

/* The whole units, rounded down, from 0 to UINT32_MAX. */
static inline unsigned qty_whole_units(qty_t nano)
{
	return nano <= 0 ? 0 : nano / QTY_UNIT > UINT32_MAX ? UINT32_MAX : (unsigned)(nano / QTY_UNIT);
}
