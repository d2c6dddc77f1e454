/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/pci_addresses.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/observe/dra_claims.h"
#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/yaml.h"
#include "common/text.h"
#include "common/xalloc.h"

#define UUID_START "GPU-"
#define DRA_START  "pci-"

struct finder {
	const struct pci_address_sources *sources;
	struct pci_devices *devices;
	bool gpus_read;
	struct fs_reads reads;
};

/* Read what NVIDIA's driver lists, once. Returns whether it was read now. */
static bool read_gpus(struct finder *f)
{
	const char *proc = f->sources->proc;

	if (f->gpus_read)
		return false;
	f->gpus_read = true;
	return fs_reads_add(&f->reads, kernel_read_gpus(proc ? "" : f->sources->sysroot,
					       proc ? proc : "/proc", f->devices, &f->reads.last));
}

static const struct pci_address *find_by_uuid(struct finder *f, const char *id)
{
	size_t len = strcspn(id, ":");

	if (id[len] && strncmp(id + len, "::", 2) != 0)
		return NULL;
	/* Once more if read_gpus() has just added the UUIDs. */
	do
		for (size_t i = 0; i < f->devices->n_items; i++) {
			const char *uuid = f->devices->items[i].uuid;

			if (uuid && strlen(uuid) == len && !strncmp(uuid, id, len))
				return &f->devices->items[i].address;
		}
	while (read_gpus(f));
	return NULL;
}

/* The address that a device's id or name is, or NULL. */
static const struct pci_address *find_address(struct finder *f, const char *id)
{
	const struct pci_device *d;
	struct pci_address address;
	const char *end;

	if (!strncmp(id, UUID_START, strlen(UUID_START)))
		return find_by_uuid(f, id);
	end = pci_address_parse(
		!strncmp(id, DRA_START, strlen(DRA_START)) ? id + strlen(DRA_START) : id, &address);
	d = end && !*end ? pci_devices_find(f->devices, &address) : NULL;
	return d ? &d->address : NULL;
}

static void add_addresses(struct finder *f, const struct device_index *index, struct device_addresses *ret)
{
	for (size_t i = 0; i < index->n_items; i++) {
		const struct device_ref *d = &index->items[i];
		const struct pci_address *address = find_address(f, d->id);

		if (address)
			device_addresses_add(ret, d->block->resource, d->id, address);
	}
}

/* Registered devices, and those that are held but no longer registered. */
static void add_plugin_addresses(struct finder *f, struct node_state *node)
{
	CLEANUP(device_index_release) struct device_index registered = {0};
	CLEANUP(device_index_release) struct device_index held = {0};
	size_t kept = 0;

	device_index_registered(&node->allocations, &registered);
	device_index_held(&node->allocations, &held);
	for (size_t i = 0; i < held.n_items; i++)
		if (!device_index_find(&registered, held.items[i].block->resource, held.items[i].id))
			held.items[kept++] = held.items[i];
	held.n_items = kept;
	add_addresses(f, &registered, &node->device_addresses);
	add_addresses(f, &held, &node->device_addresses);
	device_addresses_sort(&node->device_addresses);
}

#define SHARE_LENGTH 36 /* of a UUID */

/* The device of "pool/device" or "pool/device/share"; a pool may have slashes too. A new string. */
static char *device_name(const char *text)
{
	const char *last = strrchr(text, '/'), *device;

	if (!last || strlen(last + 1) != SHARE_LENGTH)
		return xstrdup(last ? last + 1 : text);
	for (device = last; device > text && device[-1] != '/';)
		device--;
	return xstrndup(device, (size_t)(last - device));
}

/* The addresses of a claim's devices, which DRA drivers name as the machine or NVIDIA's driver does, if at all. */
static void add_claim_addresses(struct finder *f, struct claim *c)
{
	for (size_t i = 0; i < c->devices.n_items; i++) {
		CLEANUP(freep) char *name = device_name(c->devices.items[i]);
		const struct pci_address *address = find_address(f, name);

		if (address)
			claim_add_address(c, address);
	}
	for (size_t i = 0; i < c->cdi.n_items; i++) {
		const char *name = strchr(c->cdi.items[i], '='); /* "vendor/class=name" */
		const struct pci_address *address = name ? find_address(f, name + 1) : NULL;

		if (address)
			claim_add_address(c, address);
	}
}

/* ---- the device nodes of CDI spec files */

/* The number after `prefix`, with nothing behind it; -1 = none. */
static long number_after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);
	char *end;
	long number;

	if (strncmp(text, prefix, len) != 0 || text[len] < '0' || text[len] > '9')
		return -1;
	number = strtol(text + len, &end, 10);
	return *end ? -1 : number;
}

static const struct pci_address *find_by_minor(struct finder *f, long minor)
{
	/* Once more if read_gpus() has just added the minor numbers. */
	do
		for (size_t i = 0; i < f->devices->n_items; i++)
			if (f->devices->items[i].minor == minor)
				return &f->devices->items[i].address;
	while (read_gpus(f));
	return NULL;
}

/* The machine's last PCI device on the way of a link in /sys/class, "../../devices/pci0000:16/.../drm/card0". */
static const struct pci_address *find_by_class(struct finder *f, const char *class, const char *name)
{
	const struct pci_device *found = NULL;
	char folder[64], link[PATH_MAX];
	CLEANUP(closep) int fd = -1;
	ssize_t len;

	snprintf(folder, sizeof(folder), "/sys/class/%.40s", class);
	fd = fs_open(f->sources->sysroot, folder, O_PATH | O_DIRECTORY);
	if (fd < 0)
		fs_reads_add(&f->reads,
			err_set(&f->reads.last, fd, "cannot open '%s': %s", folder, strerror(-fd)));
	len = fd < 0 || strchr(name, '/') ? -1 : readlinkat(fd, name, link, sizeof(link) - 1);
	if (len < 0)
		return NULL;
	link[len] = '\0';
	for (const char *at = link; at; at = strchr(at, '/')) {
		struct pci_address address;
		const char *end;

		at += *at == '/';
		end = pci_address_parse(at, &address);
		if (end && *end == '/')
			found = pci_devices_find(f->devices, &address);
	}
	return found ? &found->address : NULL;
}

/* The device of an IOMMU group; NULL if the group has several, because nothing tells which of them the container uses. */
static const struct pci_address *find_by_group(struct finder *f, long group)
{
	CLEANUP(strv_release) struct strv names = {0};
	char folder[80];

	snprintf(folder, sizeof(folder), "/sys/kernel/iommu_groups/%ld/devices", group);
	if (!fs_reads_add(&f->reads, fs_list(f->sources->sysroot, folder, &names, &f->reads.last)) ||
		names.n_items != 1)
		return NULL;
	return find_address(f, names.items[0]);
}

static const struct pci_address *find_by_device_node(struct finder *f, const char *path)
{
	static const char dri[] = "/dev/dri/", verbs[] = "/dev/infiniband/";
	long minor = number_after(path, "/dev/nvidia"), group = number_after(path, "/dev/vfio/");

	if (minor >= 0)
		return find_by_minor(f, minor);
	if (group >= 0)
		return find_by_group(f, group);
	if (!strncmp(path, dri, strlen(dri)))
		return find_by_class(f, "drm", path + strlen(dri));
	if (!strncmp(path, verbs, strlen(verbs)))
		return find_by_class(f, "infiniband_verbs", path + strlen(verbs));
	return NULL;
}

/* Whether some device's address is unknown, and the claim's CDI devices may show it. */
static bool lacks_addresses(const struct claim *c)
{
	return c->n_addresses < c->devices.n_items && c->cdi.n_items > 0;
}

static void add_device_nodes(struct finder *f, const struct doc *device, struct claim *c)
{
	const struct doc *nodes = doc_get(doc_get(device, "containerEdits"), "deviceNodes");

	DOC_FOREACH_ITEM (node, nodes) {
		const char *path = doc_string(doc_get(node, "path"));
		const struct pci_address *address = path ? find_by_device_node(f, path) : NULL;

		if (address)
			claim_add_address(c, address);
	}
}

static void read_spec_addresses(struct finder *f, const struct doc *spec, struct claims *claims)
{
	const struct doc *devices = doc_get(spec, "devices");
	const char *kind = doc_string(doc_get(spec, "kind"));

	DOC_FOREACH_ITEM (device, devices) {
		const char *name = doc_string(doc_get(device, "name"));
		CLEANUP(freep) char *qualified = kind && name ? xasprintf("%s=%s", kind, name) : NULL;

		for (size_t i = 0; qualified && i < claims->n_items; i++)
			if (strv_contains(&claims->items[i].cdi, qualified))
				add_device_nodes(f, device, &claims->items[i]);
	}
}

/* A file that is missing, may not be read or cannot be parsed tells nothing. */
static void read_spec_file(struct finder *f, const char *name, struct claims *claims)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CDI_SPEC_MAX);
	CLEANUP(doc_release) struct doc spec = DOC_INIT;
	bool yaml = text_ends_with(name, ".yaml");
	char path[PATH_MAX];

	if (!yaml && !text_ends_with(name, ".json"))
		return;
	snprintf(path, sizeof(path), "%.3500s/%.300s", f->sources->cdi_dir, name);
	if (!fs_reads_add(&f->reads, fs_read(f->sources->sysroot, path, &text, &f->reads.last)) ||
		!strstr(text.text, "deviceNodes"))
		return;
	if ((yaml ? yaml_parse_unique(text.text, text.len, &spec, NULL)
		  : json_parse_unique(text.text, text.len, &spec, NULL)) == 0)
		read_spec_addresses(f, &spec, claims);
}

static void add_spec_addresses(struct finder *f, struct claims *claims)
{
	CLEANUP(strv_release) struct strv files = {0};
	bool any_lacks = false;

	for (size_t i = 0; i < claims->n_items; i++)
		any_lacks = any_lacks || lacks_addresses(&claims->items[i]);
	if (!any_lacks || !f->sources->cdi_dir)
		return;
	fs_reads_add(&f->reads, fs_list(f->sources->sysroot, f->sources->cdi_dir, &files, &f->reads.last));
	for (size_t i = 0; i < files.n_items; i++)
		read_spec_file(f, files.items[i], claims);
}

int pci_addresses_find(const struct pci_address_sources *sources, struct machine *machine,
	struct node_state *node, struct err *err)
{
	struct finder f = {.sources = sources, .devices = &machine->pci};

	if (machine->pci.n_items == 0)
		return 0;
	add_plugin_addresses(&f, node);
	for (size_t i = 0; i < node->claims.n_items; i++)
		add_claim_addresses(&f, &node->claims.items[i]);
	add_spec_addresses(&f, &node->claims);
	return fs_reads_result(&f.reads, err);
}
