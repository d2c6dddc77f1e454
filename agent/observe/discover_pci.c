/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI devices that the kernel lists under sys/bus/pci. */
#include "agent/observe/discover.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define BUS_DIR     "/sys/bus/pci/devices"
#define DEVICES_DIR "/sys/devices"
#define LINK_START  "../../../devices/" /* of each link in BUS_DIR */
#define FILE_MAX    4096u

struct reader {
	const char *root;
	struct fs_directory devices; /* DEVICES_DIR */
	struct strbuf text;
	struct fs_reads reads;
};

static void pci_reader_release(struct reader *rd)
{
	closep(&rd->devices.fd);
	strbuf_release(&rd->text);
}

/* The number at the beginning of a file of the device; false without one. `path` is below DEVICES_DIR. */
static bool read_number(struct reader *rd, const char *path, const char *file, int base, long *ret)
{
	char name[PATH_MAX], *end;
	long number;

	strbuf_reset(&rd->text);
	snprintf(name, sizeof(name), "%.2000s/%s", path, file);
	if (!fs_reads_add(&rd->reads, fs_read_in(&rd->devices, name, &rd->text, &rd->reads.last)))
		return false;
	number = strtol(rd->text.text, &end, base);
	if (end == rd->text.text || (*end && !isspace((unsigned char)*end)))
		return false;
	*ret = number;
	return true;
}

/*
 * Append the first name in a directory of the device. The port of a NIC in switchdev mode also has the names of its
 * representors, which follow the port's own name.
 */
static void add_directory_name(struct reader *rd, const char *path, const char *directory, struct strbuf *out)
{
	CLEANUP(strv_release) struct strv names = {0};
	char full[PATH_MAX];

	snprintf(full, sizeof(full), DEVICES_DIR "/%.2000s/%s", path, directory);
	if (!fs_reads_add(&rd->reads, fs_list(rd->root, full, &names, &rd->reads.last)) ||
		names.n_items == 0 || !pci_is_name(names.items[0]))
		return;
	strbuf_addf(out, "%s%s", out->len > 0 ? " " : "", names.items[0]);
}

/* The interface of a virtio NIC is in a directory "virtio3" of the device. */
static void add_virtio_name(struct reader *rd, const char *path, struct strbuf *out)
{
	CLEANUP(strv_release) struct strv names = {0};
	char full[PATH_MAX];

	snprintf(full, sizeof(full), DEVICES_DIR "/%.2000s", path);
	fs_reads_add(&rd->reads, fs_list(rd->root, full, &names, &rd->reads.last));
	for (size_t i = 0; i < names.n_items && out->len == 0; i++)
		if (!strncmp(names.items[i], "virtio", strlen("virtio"))) {
			snprintf(full, sizeof(full), "%.100s/net", names.items[i]);
			add_directory_name(rd, path, full, out);
		}
}

/* Virtual functions keep no names: their interfaces move in and out of pods. */
static char *read_device_names(struct reader *rd, const char *path, const struct pci_device *d)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PCI_NAMES_MAX);

	if (d->kind == PCI_NIC && !d->virtual_function) {
		add_directory_name(rd, path, "net", &out);
		if (out.len == 0)
			add_virtio_name(rd, path, &out);
		add_directory_name(rd, path, "infiniband", &out);
	} else if (d->kind == PCI_NVME) {
		add_directory_name(rd, path, "nvme", &out);
	}
	return out.len > 0 ? strbuf_detach(&out) : NULL;
}

/* The root complex is the outermost "pci0000:16" on the way to the device. */
static bool find_root_complex(const char *path, struct pci_root *ret)
{
	for (; path; path = strchr(path, '/')) {
		const char *end;

		path += *path == '/';
		end = pci_root_parse(path, ret);
		if (end && *end == '/')
			return true;
	}
	return false;
}

static void read_device(
	struct reader *rd, const char *path, const struct pci_address *address, struct machine *m)
{
	struct pci_device d = {.address = *address, .numa = MACHINE_NONE, .minor = -1}, *added;
	char link[PATH_MAX];
	long class, vendor = 0, numa;
	int physical;

	if (!read_number(rd, path, "class", 16, &class))
		return;
	read_number(rd, path, "vendor", 16, &vendor);
	/* The lowest byte of the file's number is the programming interface. */
	if (!pci_kind_of((unsigned)(class >> 8) & 0xffff, (unsigned)vendor, &d.kind))
		return;
	if (read_number(rd, path, "numa_node", 10, &numa) && numa >= 0 && numa < MACHINE_MAX_NODES &&
		machine_node_index(m, (unsigned)numa) >= 0)
		d.numa = (int)numa;
	/* Only a virtual function has this link, to its physical function. */
	snprintf(link, sizeof(link), DEVICES_DIR "/%.2000s/physfn", path);
	physical = fs_lookup(rd->root, link, &rd->reads.last);
	d.virtual_function = fs_reads_add(&rd->reads, physical) && physical > 0;
	d.root_known = find_root_complex(path, &d.root);
	d.names = read_device_names(rd, path, &d);
	added = vec_push(&m->pci.items, &m->pci.n_items, &m->pci.items_size, sizeof(*added));
	*added = d;
}

/* Open a folder that may be missing: a file descriptor, or -1. */
static int open_folder(struct reader *rd, const char *path)
{
	int fd = fs_open(rd->root, path, O_PATH | O_DIRECTORY);

	if (fd < 0)
		err_set(&rd->reads.last, fd, "cannot open '%s%s': %s", rd->root, path, strerror(-fd));
	return fs_reads_add(&rd->reads, fd) ? fd : -1;
}

int kernel_read_pci(const char *root, struct machine *m, struct err *err)
{
	CLEANUP(pci_reader_release)
	struct reader rd = {.root = root, .devices = {root, DEVICES_DIR, -1}, .text = STRBUF_INIT(FILE_MAX)};
	CLEANUP(closep) int bus = open_folder(&rd, BUS_DIR);
	CLEANUP(strv_release) struct strv names = {0};

	rd.devices.fd = open_folder(&rd, DEVICES_DIR);
	if (bus < 0 || !fs_reads_add(&rd.reads, fs_list(root, BUS_DIR, &names, &rd.reads.last)))
		return fs_reads_result(&rd.reads, err);
	for (size_t i = 0; i < names.n_items && m->pci.n_items < PCI_DEVICES_MAX && rd.reads.r == 0; i++) {
		struct pci_address address;
		const char *end = pci_address_parse(names.items[i], &address);
		char path[PATH_MAX];
		ssize_t len = readlinkat(bus, names.items[i], path, sizeof(path) - 1);

		if (!end || *end || len < 0)
			continue;
		path[len] = '\0';
		if (!strncmp(path, LINK_START, strlen(LINK_START)))
			read_device(&rd, path + strlen(LINK_START), &address, m);
	}
	m->pci_known = true;
	pci_devices_sort(&m->pci);
	return fs_reads_result(&rd.reads, err);
}

/* ---- what NVIDIA's driver calls its GPUs */

#define MINOR_LINE "Device Minor:"
#define UUID_LINE  "GPU UUID:"
#define UUID_START "GPU-"

/* The UUID in the driver's text, "GPU UUID: \t GPU-3f2a..."; NULL if the driver does not know it ("GPU-????????-..."). */
static char *find_uuid(const char *text)
{
	const char *at = strstr(text, UUID_LINE);
	size_t len;

	if (!at)
		return NULL;
	at += strlen(UUID_LINE);
	at += strspn(at, " \t");
	if (strncmp(at, UUID_START, strlen(UUID_START)) != 0)
		return NULL;
	len = strlen(UUID_START);
	len += strspn(at + len, "0123456789abcdefABCDEF-");
	return len > strlen(UUID_START) && (!at[len] || isspace((unsigned char)at[len])) ? xstrndup(at, len)
											 : NULL;
}

/* "Device Minor: \t 0"; -1 if the driver does not know it. */
static int find_minor(const char *text)
{
	const char *at = strstr(text, MINOR_LINE);
	char *end;
	long minor;

	if (!at)
		return -1;
	at += strlen(MINOR_LINE);
	at += strspn(at, " \t");
	if (!isdigit((unsigned char)*at))
		return -1;
	minor = strtol(at, &end, 10);
	return minor < 65536 && isspace((unsigned char)*end) ? (int)minor : -1;
}

int kernel_read_gpus(const char *root, const char *proc, struct pci_devices *devices, struct err *err)
{
	CLEANUP(strv_release) struct strv names = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FILE_MAX);
	struct fs_reads reads = {.r = 0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.2000s/driver/nvidia/gpus", proc);
	fs_reads_add(&reads, fs_list(root, path, &names, &reads.last));
	for (size_t i = 0; i < names.n_items; i++) {
		struct pci_address address;
		const char *end = pci_address_parse(names.items[i], &address);
		const struct pci_device *found = end && !*end ? pci_devices_find(devices, &address) : NULL;
		struct pci_device *d;

		if (!found)
			continue;
		d = &devices->items[found - devices->items]; /* `found` without its const */
		if (d->uuid)
			continue;
		strbuf_reset(&text);
		snprintf(path, sizeof(path), "%.2000s/driver/nvidia/gpus/%.40s/information", proc,
			names.items[i]);
		if (!fs_reads_add(&reads, fs_read(root, path, &text, &reads.last)))
			continue;
		d->uuid = find_uuid(text.text);
		d->minor = find_minor(text.text);
	}
	return fs_reads_result(&reads, err);
}
