/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/state/reserved_memory.h"

#include <errno.h>
#include <string.h>

#include "agent/state/node_derive.h"
#include "common/machine.h"
#include "common/resource.h"

#define NO_START "the kubelet would not start: reservedMemory "

static bool is_reserved_before(const struct settings *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (s->memory_reservations[k].node == s->memory_reservations[i].node &&
			!strcmp(s->memory_reservations[k].type, s->memory_reservations[i].type))
			return true;
	return false;
}

static void print_bytes(qty_t bytes, char text[QUANTITY_TEXT_MAX])
{
	quantity_print((struct quantity){.nano = bytes, .format = QUANTITY_BINARY_SI}, text);
}

/* One reservation by itself. */
static int check_reservation(const struct node_state *node, size_t i, struct err *err)
{
	const struct memory_reservation *m = &node->settings.memory_reservations[i];
	char text[QUANTITY_TEXT_MAX];

	if (m->bytes == 0)
		return err_set(
			err, -EINVAL, NO_START "reserves 0 of %.60s on NUMA node %u", m->type, m->node);
	if (is_reserved_before(&node->settings, i))
		return err_set(
			err, -EINVAL, NO_START "reserves %.60s on NUMA node %u twice", m->type, m->node);
	if (machine_node_index(&node->machine, m->node) < 0)
		return err_set(err, -EINVAL, NO_START "names NUMA node %u, which the machine does not have",
			m->node);
	print_bytes(m->bytes, text);
	if (strcmp(m->type, "memory") != 0)
		return err_set(err, -EINVAL,
			NO_START "reserves %s of %.60s, which kubeReserved and systemReserved cannot reserve",
			text, m->type);
	return 0;
}

qty_t reserved_memory_sum(const struct settings *s)
{
	qty_t sum = 0;

	for (size_t i = 0; i < s->n_memory_reservations; i++)
		if (!strcmp(s->memory_reservations[i].type, "memory"))
			sum = qty_add(sum, s->memory_reservations[i].bytes);
	return sum;
}

int reserved_memory_check(const struct node_state *node, struct err *err)
{
	const struct settings *s = &node->settings;
	qty_t sum = reserved_memory_sum(s), reserved;
	char texts[2][QUANTITY_TEXT_MAX];

	if (s->memory_manager != MEMORY_MANAGER_STATIC)
		return 0;
	for (size_t i = 0; i < s->n_memory_reservations; i++) {
		int r = check_reservation(node, i, err);

		if (r < 0)
			return r;
	}
	if (!s->eviction_hard_memory)
		return err_set(err, -ENODATA,
			"whether the kubelet would start with the Static memory manager is not known: evictionHard is not");
	reserved = s->kube_reserved_memory + s->system_reserved_memory + node_derive_eviction_threshold(node);
	if (sum == reserved && sum > 0)
		return 0;
	print_bytes(sum, texts[0]);
	print_bytes(reserved, texts[1]);
	return err_set(err, -EINVAL,
		NO_START "reserves %s of memory, and kubeReserved, systemReserved and evictionHard %s",
		texts[0], texts[1]);
}
