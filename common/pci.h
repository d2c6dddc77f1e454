/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * pci: the GPUs, accelerators, NICs and NVMe disks of a machine, and their PCIe root complexes. Also the PCI addresses of
 * plugins' devices. Decides nothing about admission. Depends on common/ only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- addresses */

struct pci_address {
	uint32_t domain;
	uint8_t bus;
	uint8_t function; /* device number << 3 | function number, as in the kernel's devfn */
};

#define PCI_ADDRESS_SIZE 20 /* "ffffffff:17:00.0" with the NUL */

/* Print as the kernel does: "0000:17:00.0". */
void pci_address_print(const struct pci_address *a, char text[PCI_ADDRESS_SIZE]);

/*
 * Parse the beginning of `text`: four to eight hexadecimal digits, two, two and a digit up to 7, separated as in
 * "0000:17:00.0" or, as in names of DRA devices, "0000-17-00-0". Returns the text after the address; NULL if there is no
 * address (*ret is then untouched).
 */
const char *pci_address_parse(const char *text, struct pci_address *ret);

int pci_address_compare(const struct pci_address *a, const struct pci_address *b);

/* ---- roots: a root complex is named by its first bus, as in sysfs and in the attribute resource.kubernetes.io/pcieRoot of
 * DRA devices: "pci0000:16" */

struct pci_root {
	uint32_t domain; /* may differ from the domain of its devices (Intel VMD) */
	uint8_t bus;
};

#define PCI_ROOT_SIZE 15 /* "pciffffffff:16" with the NUL */

void pci_root_print(const struct pci_root *root, char text[PCI_ROOT_SIZE]);

/* Parse the beginning of `text`, "pci0000:16". Returns the text after the name; NULL if there is none. */
const char *pci_root_parse(const char *text, struct pci_root *ret);

int pci_root_compare(const struct pci_root *a, const struct pci_root *b);

/* ---- devices */

enum pci_kind { PCI_GPU, PCI_ACCELERATOR, PCI_NIC, PCI_NVME, PCI_KIND_COUNT };

extern const char *const pci_kind_names[PCI_KIND_COUNT]; /* "GPU", "accelerator", "NIC", "NVMe" */

/*
 * The kind of a device by its PCI class (base class << 8 | subclass) and vendor. Returns false for all other devices, and
 * for the graphics of server management controllers (ASPEED, Matrox).
 */
bool pci_kind_of(unsigned class, unsigned vendor, enum pci_kind *ret);

struct pci_device {
	struct pci_address address;
	struct pci_root root;
	bool root_known;
	bool virtual_function; /* of SR-IOV */
	enum pci_kind kind;
	int numa; /* NUMA node id as the kernel reports it, or MACHINE_NONE */
	char *names; /* of the system, each as pci_is_name(), separated by spaces: "eth0 mlx5_0", "nvme0"; NULL = none */
	char *uuid; /* of NVIDIA's driver: "GPU-..."; NULL = unknown */
	int minor;  /* of NVIDIA's driver: the N of /dev/nvidiaN; -1 = unknown */
};

#define PCI_NAMES_MAX 192u /* bytes of `names` */

/* Whether a name has 1 to 63 letters, digits, '.', '_' and '-'. */
bool pci_is_name(const char *name);

/* Devices beyond this number are omitted without a note, because no machine has them: ten NICs have 2560 virtual functions at most. */
#define PCI_DEVICES_MAX 16384u

/* Zeroed is empty. */
struct pci_devices {
	struct pci_device *items; /* by address */
	size_t n_items;
	size_t items_size;
};

void pci_devices_release(struct pci_devices *d);
void pci_devices_copy(const struct pci_devices *from, struct pci_devices *ret); /* `ret` is empty */

/* Sort the devices; of several devices with one address the first remains. */
void pci_devices_sort(struct pci_devices *d);

/* The device with this address, or NULL. */
const struct pci_device *pci_devices_find(const struct pci_devices *d, const struct pci_address *address);

/* ---- the PCI addresses of the devices of plugins */

struct device_address {
	char *resource, *id; /* as in the allocations */
	struct pci_address address;
};

/* Zeroed is empty. A device that is not listed has an unknown address. */
struct device_addresses {
	struct device_address *items; /* by resource, then id */
	size_t n_items;
	size_t items_size;
};

void device_addresses_release(struct device_addresses *a);
void device_addresses_add(
	struct device_addresses *a, const char *resource, const char *id, const struct pci_address *address);
void device_addresses_sort(struct device_addresses *a);

/* The device's address, or NULL. */
const struct pci_address *device_addresses_find(
	const struct device_addresses *a, const char *resource, const char *id);
