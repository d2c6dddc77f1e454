/* SPDX-License-Identifier: Apache-2.0 */
#include "common/resource_name.h"

#include <stdio.h>
#include <string.h>

#include "common/quantity.h"

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool is_prefixed_native(const char *name)
{
	return strstr(name, "kubernetes.io/") != NULL;
}

bool resource_name_is_hugepages(const char *name)
{
	return has_prefix(name, "hugepages-");
}

bool resource_name_is_native(const char *name)
{
	return !strchr(name, '/') || is_prefixed_native(name);
}

bool resource_name_is_numa_affine(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "memory") || resource_name_is_hugepages(name);
}

bool resource_name_is_host_level(const char *name)
{
	return !strcmp(name, "ephemeral-storage") || !strcmp(name, "storage") ||
	       !resource_name_is_native(name);
}

bool resource_name_is_scalar(const char *name)
{
	bool extended = !resource_name_is_native(name) && !has_prefix(name, "requests.");

	return extended || resource_name_is_hugepages(name) || is_prefixed_native(name) ||
	       has_prefix(name, "attachable-volumes-");
}

void resource_name_of_hugepages(uint64_t page_bytes, char name[RESOURCE_NAME_HUGEPAGES_SIZE])
{
	struct quantity q = {.nano = (qty_t)page_bytes * QTY_UNIT, .format = QUANTITY_BINARY_SI};
	char size[QUANTITY_TEXT_MAX];

	quantity_print(q, size);
	snprintf(name, RESOURCE_NAME_HUGEPAGES_SIZE, "hugepages-%s", size);
}
