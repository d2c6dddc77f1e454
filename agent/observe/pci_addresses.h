/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the PCI addresses of the devices that device plugins and DRA drivers report.
 *
 * Device ids are free texts. An address is taken only from an id, or the name of a CDI device, that is
 * - a PCI address of this machine, such as the ids of the plugins for SR-IOV networks and AMD GPUs, or "pci-0000-17-00-0" and
 *   "0000-17-00-1", as DRA drivers name network devices;
 * - the UUID of an NVIDIA GPU that the driver lists in /proc/driver/nvidia/gpus, also with the "::N" of a shared GPU.
 * For a claim that has more devices than known addresses, the CDI spec files tell which device nodes its containers get:
 * /dev/nvidiaN, /dev/dri/..., /dev/infiniband/uverbsN and /dev/vfio/N lead to a PCI device by NVIDIA's driver and by sysfs.
 * All other devices have an unknown address.
 */
#include "common/node_state.h"

struct pci_address_sources {
	const char *sysroot;
	const char *proc;    /* where the host's /proc is; NULL = below the sysroot */
	const char *cdi_dir; /* the directory of CDI spec files, below the sysroot; NULL = do not read them */
};

/*
 * Fill node->device_addresses and the addresses of node->claims. What NVIDIA's driver lists is read when a device needs it, and
 * is kept in `machine`, the caller's copy of node->machine. 0; -errno with one line if a file cannot be read for a transient
 * reason: then addresses may be missing.
 */
int pci_addresses_find(const struct pci_address_sources *sources, struct machine *machine,
	struct node_state *node, struct err *err);
