/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * node_free: what pods can still ask of the node as a whole, for the kubelet's last check (OutOfcpu and the
 * like).
 */
#include "common/node_state.h"
#include "common/request.h"

/*
 * cpu and memory: the node's allocatable amounts (capacity less kubeReserved, systemReserved and evictionHard, as
 * the kubelet's GetNodeAllocatableReservation() and its node status have them) less what is held exclusively. An
 * upper bound: pods of the shared pool take of it too, which no file shows, and a reservation that is not known is
 * not subtracted. They are set in *ret.
 *
 * ret_unsure: so much of them is held by containers that may be init containers, or may have been resized. The kubelet
 * counts the most that a pod needs at one time, and no file shows which of its containers have been init containers; of one
 * that was resized it counts what it asks for now, and its managers keep what it had.
 */
void node_free_amounts(
	const struct node_state *node, struct resource_list *ret, struct resource_list *ret_unsure);

/* The same for the hugepages of this name ("hugepages-1Gi"); 0 where the node has none. They are the machine's, whatever
 * the zones leave out; the zones' where nothing else is known of the machine. */
void node_free_pages(const struct node_state *node, const char *name, struct resource_list *ret,
	struct resource_list *ret_unsure);

/* What evictionHard keeps free of memory.available, in nano-units of a byte: an amount, or a share of the machine's
 * memory. 0 when it is not known. */
qty_t node_free_eviction_threshold(const struct node_state *node);
