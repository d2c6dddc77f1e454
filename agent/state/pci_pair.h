/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds out whether a node has a GPU and a NIC free below one PCIe root.
 *
 * Data between a GPU and a NIC below one root does not cross the processor. The kubelet does not know roots: the pod may still get
 * devices below different roots, so this is a reason to prefer a node and no promise.
 */
#include "common/node_state.h"
#include "common/request.h"

enum pci_pair {
	PCI_PAIR_NOT_WANTED, /* the pod does not request devices of both kinds, as far as their PCI addresses are known */
	PCI_PAIR_NONE,
	PCI_PAIR_FREE
};

/*
 * For a pod that requests GPUs (or accelerators) and NICs of device plugins: whether a root has a free device of both.
 * Devices whose PCI addresses are unknown do not count.
 */
enum pci_pair pci_pair_find(const struct node_state *state, const struct resource_list *wanted);
