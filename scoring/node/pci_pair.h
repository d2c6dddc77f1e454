/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds pairs of a GPU and a NIC below one PCIe root: those that are free, and those that a pod holds.
 *
 * Data between a GPU and a NIC below one root does not cross the processor. The kubelet does not know roots: the pod may still get
 * devices below different roots, so a free pair is a reason to prefer a node and no promise. Accelerators count as GPUs. Devices
 * whose PCI addresses are unknown do not count.
 */
#include "common/node_state.h"
#include "common/request.h"

enum pci_pair {
	PCI_PAIR_NOT_WANTED, /* the pod does not request devices of both kinds, as far as their PCI addresses are known */
	PCI_PAIR_NONE,
	PCI_PAIR_FREE
};

/* For a pod that requests GPUs and NICs of device plugins: whether a root has a free device of both. */
enum pci_pair pci_pair_find(const struct node_state *state, const struct resource_list *wanted);

/*
 * Whether the GPUs and NICs of these items, each of which is part of the state, are in fewer pairs than the machine's devices of the same
 * resources allow. *ret: the roots of a GPU and a NIC without a pair, and whether more pairs are free now. False if the address
 * of a device of these resources is unknown.
 */
bool pci_pair_is_apart(
	const struct node_state *state, const struct allocation *items, size_t n_items, struct err *ret);
