/* SPDX-License-Identifier: Apache-2.0 */
/* PCI devices: addresses, the kernel's files, hwloc's XML of the same machines, and the devices of plugins and claims. */
#include "tests/lib/test.h"

#include <dirent.h>
#include <unistd.h>

#include "agent/observe/discover.h"
#include "agent/observe/pci_addresses.h"
#include "common/cleanup.h"
#include "common/pci.h"

/* ---- addresses */

static void addresses_have_one_text(void **state)
{
	static const struct {
		const char *text, *printed; /* NULL: no address */
		const char *rest;
	} cases[] = {
		{"0000:17:00.0", "0000:17:00.0", ""},
		{"0000:ff:1f.7", "0000:ff:1f.7", ""},
		{"10000:01:00.0", "10000:01:00.0", ""},
		{"FFFFffff:0A:0b.1", "ffffffff:0a:0b.1", ""},
		{"0000-17-00-1", "0000:17:00.1", ""},
		{"0000:17:00.0-card", "0000:17:00.0", "-card"},
		{"0000:17:00.8", NULL, NULL},
		{"0000:17:20.0", NULL, NULL},
		{"0000:17:00", NULL, NULL},
		{"0000:7:00.0", NULL, NULL},
		{"0000-17:00.0", NULL, NULL},
		{"0000:17-00-0", NULL, NULL},
		{"17:00.0", NULL, NULL},
		{"000000017:17:00.0", NULL, NULL},
		{"GPU-3f2a9c51", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pci_address address = {.domain = 77};
		const char *rest = pci_address_parse(cases[i].text, &address);
		char text[PCI_ADDRESS_SIZE];

		pci_address_print(&address, text);
		if (!rest != !cases[i].printed)
			fail_msg("'%s' is%s an address", cases[i].text, rest ? "" : " not");
		test_assert_text(cases[i].text, rest ? text : "004d:00:00.0",
			cases[i].printed ? cases[i].printed : "004d:00:00.0");
		if (rest)
			test_assert_text(cases[i].text, rest, cases[i].rest);
	}
}

static void kinds_are_those_of_the_classes(void **state)
{
	static const struct {
		unsigned class, vendor;
		int kind; /* -1 = none */
	} cases[] = {
		{0x0302, 0x10de, PCI_GPU},
		{0x0300, 0x10de, PCI_GPU},
		{0x0380, 0x1002, PCI_GPU},
		{0x0300, 0x1a03, -1},
		{0x0300, 0x102b, -1},
		{0x1200, 0x1002, PCI_ACCELERATOR},
		{0x0b40, 0x8086, PCI_ACCELERATOR},
		{0x0b00, 0x8086, -1},
		{0x0c06, 0x1077, PCI_NIC},
		{0x0c03, 0x8086, -1},
		{0x0200, 0x15b3, PCI_NIC},
		{0x0207, 0x15b3, PCI_NIC},
		{0x0108, 0x144d, PCI_NVME},
		{0x0106, 0x8086, -1},
		{0x0604, 0x8086, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum pci_kind kind = PCI_KIND_COUNT;
		bool found = pci_kind_of(cases[i].class, cases[i].vendor, &kind);

		if ((found ? (int)kind : -1) != cases[i].kind)
			fail_msg("class %04x of vendor %04x", cases[i].class, cases[i].vendor);
	}
}

/* ---- machines */

/* A line per device: "pci0000:16 0 GPU 0000:17:00.0", names, "vf". */
static char *describe(const struct machine *m)
{
	struct strbuf out = STRBUF_INIT(1u << 20);

	if (!m->pci_known)
		strbuf_addstr(&out, "unknown\n");
	for (size_t i = 0; i < m->pci.n_items; i++) {
		const struct pci_device *d = &m->pci.items[i];
		char address[PCI_ADDRESS_SIZE], root[PCI_ROOT_SIZE];

		pci_address_print(&d->address, address);
		pci_root_print(&d->root, root);
		strbuf_addf(&out, "%s %d %s %s", d->root_known ? root : "-", d->numa, pci_kind_names[d->kind],
			address);
		strbuf_addf(&out, "%s%s%s\n", d->names ? " " : "", d->names ? d->names : "",
			d->virtual_function ? " vf" : "");
	}
	return strbuf_detach(&out);
}

static void discover(const char *root, const char *xml, struct machine *m)
{
	const struct machine_source source = {.root = root, .xml = xml};
	struct err err = {""};

	machine_init(m);
	if (machine_discover(&source, m, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_devices(const char *what, const struct machine *m, const char *want)
{
	CLEANUP(freep) char *got = describe(m);

	test_assert_text(what, got, want);
}

#define GPUS                                             \
	"pci0000:16 0 GPU 0000:17:00.0\n"                \
	"pci0000:16 0 NIC 0000:18:00.0 ens1np0 mlx5_0\n" \
	"pci0000:30 0 GPU 0000:31:00.0\n"                \
	"pci0000:30 0 NVMe 0000:32:00.0 nvme0\n"         \
	"pci0000:97 1 GPU 0000:98:00.0\n"                \
	"pci0000:97 1 NIC 0000:99:00.0 ens2f0\n"         \
	"pci0000:97 1 NIC 0000:99:00.2 vf\n"             \
	"pci0000:97 1 NIC 0000:99:00.3 vf\n"             \
	"pci0000:97 1 NIC 0000:99:00.4 vf\n"             \
	"pci0000:b0 1 accelerator 0000:b1:00.0\n"        \
	"pci0000:fe -1 NIC 0000:fe:00.0 ens9\n"          \
	"pci0000:b0 1 NVMe 10000:01:00.0 nvme1\n"

static void a_server_with_gpus(void **state)
{
	CLEANUP(machine_release) struct machine m;
	CLEANUP(machine_release) struct machine copy;

	(void)state;
	discover(test_machine_tree("gpus"), NULL, &m);
	assert_devices("gpus", &m, GPUS);
	machine_init(&copy);
	machine_copy(&m, &copy);
	assert_devices("copy", &copy, GPUS);
	machine_release(&copy);
	discover(test_machine_tree("one-node"), NULL, &copy);
	assert_devices("without PCI", &copy, "unknown\n");
}

/* What cannot be read is unknown, and no error. */
static void damaged_files_are_unknown(void **state)
{
	static const char device[] = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0";
	static const struct {
		const char *file, *text, *want; /* the first line */
	} cases[] = {
		{"numa_node", "7\n", "pci0000:16 -1 GPU 0000:17:00.0\n"},
		{"numa_node", "near\n", "pci0000:16 -1 GPU 0000:17:00.0\n"},
		{"numa_node", "", "pci0000:16 -1 GPU 0000:17:00.0\n"},
		{"numa_node", "1", "pci0000:16 1 GPU 0000:17:00.0\n"},
		{"class", "GPU", "pci0000:16 0 NIC 0000:18:00.0 ens1np0 mlx5_0\n"},
		{"class", "0x020000\n", "pci0000:16 0 NIC 0000:17:00.0\n"},
		{"vendor", "0x1a03\n", "pci0000:16 0 NIC 0000:18:00.0 ens1np0 mlx5_0\n"},
		{"net/a\tb/dev_id", "0", "pci0000:16 0 GPU 0000:17:00.0\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = test_tmpdir();
		CLEANUP(machine_release) struct machine m;
		CLEANUP(freep) char *got = NULL;
		char command[1024], file[256];

		snprintf(command, sizeof(command), "cp -r '%s/.' '%s'", test_machine_tree("gpus"), dir);
		assert_int_equal(system(command), 0);
		snprintf(file, sizeof(file), "%s/%s", device, cases[i].file);
		test_write_file(dir, file, cases[i].text);
		discover(dir, NULL, &m);
		got = describe(&m);
		if (strncmp(got, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("%s '%s': %s", cases[i].file, cases[i].text, got);
	}
}

/* ---- machines that others recorded */

static void unpack(const char *archive, const char *dir, char *root, size_t size)
{
	char command[1024];
	DIR *opened;
	const struct dirent *entry;

	snprintf(command, sizeof(command), "tar -xjf '%s' -C '%s'", archive, dir);
	if (system(command) != 0)
		fail_msg("cannot unpack '%s' (tar, bzip2)", archive);
	opened = opendir(dir);
	assert_non_null(opened);
	while ((entry = readdir(opened)))
		if (*entry->d_name != '.')
			snprintf(root, size, "%s/%s", dir, entry->d_name);
	closedir(opened);
}

/* hwloc finds the same devices, roots, names and NUMA nodes by its own reading of the tree. */
static void compare_with_hwloc(const char *name, const char *root, const char *dir, const char *want)
{
	CLEANUP(machine_release) struct machine m;
	char command[2048], file[512];

	snprintf(file, sizeof(file), "%s/machine.xml", dir);
	snprintf(command, sizeof(command),
		"HWLOC_FSROOT='%s' HWLOC_COMPONENTS=linux,linuxio,stop HWLOC_HIDE_ERRORS=2 lstopo-no-graphics "
		"--of xml '%s'",
		root, file);
	assert_int_equal(system(command), 0);
	discover(NULL, file, &m);
	assert_devices(name, &m, want);
}

static void recorded_machines(void **state)
{
	static const struct {
		const char *archive, *devices;
		bool hwloc_differs;
	} cases[] = {
		/* The disk has no numa_node, and hwloc uses its local_cpus. */
		{"32em64t-2n8c+dax+nvme+mic+dimms",
			"pci0000:00 -1 NVMe 0000:00:02.0\n"
			"pci0000:00 0 NIC 0000:02:00.0 eth0\n"
			"pci0000:00 0 NIC 0000:02:00.3 eth1\n"
			"pci0000:80 1 NIC 0000:82:00.0 ib0 mlx4_0\n"
			"pci0000:80 1 accelerator 0000:83:00.0\n",
			true},
		{"32intel64-2p8co2t+8ve",
			"pci0000:17 0 NIC 0000:1a:00.0\n"
			"pci0000:17 0 accelerator 0000:1b:00.0\n"
			"pci0000:17 0 accelerator 0000:1c:00.0\n"
			"pci0000:17 0 accelerator 0000:1d:00.0\n"
			"pci0000:17 0 accelerator 0000:1e:00.0\n"
			"pci0000:3a 0 accelerator 0000:3d:00.0\n"
			"pci0000:3a 0 NIC 0000:3e:00.0\n"
			"pci0000:3a 0 accelerator 0000:3f:00.0\n"
			"pci0000:3a 0 accelerator 0000:40:00.0\n"
			"pci0000:3a 0 accelerator 0000:41:00.0\n"
			"pci0000:5d 0 NIC 0000:60:00.0 enp96s0f0\n"
			"pci0000:5d 0 NIC 0000:60:00.1 enp96s0f1\n",
			false},
		{"fakepcilocalities",
			"pci0000:00 0 NIC 0000:02:00.0 eth0\n"
			"pci0000:00 0 NIC 0000:02:00.1 eth1\n"
			"pci0000:00 0 NIC 0000:03:00.0 eth2\n"
			"pci0000:00 0 NIC 0000:03:00.1 eth3\n"
			"pci0000:40 1 NIC 0000:43:00.0 ib0 qib0\n",
			false},
		/* A machine of one NUMA node, for which the kernel reports none. */
		{"2pa-pcidomain32bits",
			"pci0000:00 -1 GPU 0000:00:02.0\npci0000:00 -1 NIC 0000:00:03.0 ens3\n", true},
		{"40intel64-4n10c+pci-conflicts", "", false},
		{"nvidia-dgx-gb10", "unknown\n", false},
	};
	bool has_lstopo = system("command -v lstopo-no-graphics >/dev/null") == 0;
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(test_rmtree) char *dir = NULL;
		CLEANUP(machine_release) struct machine m;
		char name[128], root[512] = "";
		const char *archive;

		machine_init(&m);
		snprintf(name, sizeof(name), "machines/%s.tar.bz2", cases[i].archive);
		archive = test_shared(name);
		if (!archive)
			continue;
		dir = test_tmpdir();
		unpack(archive, dir, root, sizeof(root));
		discover(root, NULL, &m);
		assert_devices(cases[i].archive, &m, cases[i].devices);
		if (has_lstopo && !cases[i].hwloc_differs)
			compare_with_hwloc(cases[i].archive, root, dir, cases[i].devices);
		seen++;
	}
	if (seen == 0)
		test_skip("no recorded machines in ../shared/machines");
}

/* ---- devices of plugins and claims */

static void register_device(struct node_state *node, const char *resource, const char *id)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
	struct allocations *a = &node->allocations;

	a->registered_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, nodes, false, id);
}

static void only_ids_that_are_addresses_or_listed_uuids_have_one(void **state)
{
	static const struct {
		const char *resource, *id, *address; /* NULL = unknown */
	} cases[] = {
		{"amd.com/gpu", "0000:b1:00.0", "0000:b1:00.0"},
		{"intel.com/sriov", "0000:99:00.2", "0000:99:00.2"},
		{"intel.com/sriov", "0000:99:00.3", "0000:99:00.3"},
		{"intel.com/sriov", "0000:aa:00.3", NULL},       /* no device of this machine */
		{"intel.com/sriov", "0000:99:00.4-vhost", NULL}, /* more than an address */
		{"kubevirt.io/nic", "17", NULL},                 /* an IOMMU group */
		{"nvidia.com/gpu", "GPU-3f2a9c51-0000-1111-2222-333344445555", "0000:17:00.0"},
		{"nvidia.com/gpu", "GPU-4a2a9c51-0000-1111-2222-333344445555::3", "0000:31:00.0"},
		{"nvidia.com/gpu", "GPU-4a2a9c51-0000-1111-2222-333344445555:3", NULL},
		{"nvidia.com/gpu", "GPU-4a2a9c51", NULL}, /* the beginning of a UUID */
		{"nvidia.com/gpu",
			"GPU-????????"
			"-????"
			"-????"
			"-????"
			"-????????????",
			NULL},
		{"nvidia.com/mig", "MIG-3f2a9c51-0000-1111-2222-333344445555", NULL},
		{"vendor.com/nic", "ens9", NULL}, /* a name is not an address */
	};
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine m;
	const struct pci_address_sources sources = {.sysroot = test_machine_tree("gpus")};
	size_t known = 0;

	(void)state;
	node_state_init(&node);
	discover(sources.sysroot, NULL, &m);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		register_device(&node, cases[i].resource, cases[i].id);
	assert_int_equal(pci_addresses_find(&sources, &m, &node, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pci_address *found =
			device_addresses_find(&node.device_addresses, cases[i].resource, cases[i].id);
		char text[PCI_ADDRESS_SIZE] = "";

		if (found)
			pci_address_print(found, text);
		test_assert_text(cases[i].id, text, cases[i].address ? cases[i].address : "");
		known += cases[i].address != NULL;
	}
	assert_int_equal(node.device_addresses.n_items, known);
}

#define NODES(nodes)                                                                                    \
	"{\"cdiVersion\": \"0.6.0\", \"kind\": \"k8s.gpu.nvidia.com/claim\", \"devices\": [{\"name\": " \
	"\"u-gpu-0\", \"containerEdits\": {\"deviceNodes\": [" nodes "]}}]}"
#define NODE(path) "{\"path\": \"" path "\"}"
#define CDI        "k8s.gpu.nvidia.com/claim=u-gpu-0"

static void link_class(const char *dir, const char *class, const char *name, const char *device)
{
	char path[256], command[1024];

	snprintf(path, sizeof(path), "sys/class/%s/x", class);
	test_write_file(dir, path, "");
	snprintf(command, sizeof(command), "ln -s '../../devices/%s/%s/%s' '%s/sys/class/%s/%s'", device,
		class, name, dir, class, name);
	assert_int_equal(system(command), 0);
}

/* A copy of the machine with device nodes. */
static char *make_root(void)
{
	char *dir = test_tmpdir(), command[1024];

	snprintf(command, sizeof(command), "cp -r '%s/.' '%s'", test_machine_tree("gpus"), dir);
	assert_int_equal(system(command), 0);
	link_class(dir, "drm", "card1", "pci0000:b0/0000:b0:01.0/0000:b1:00.0");
	link_class(dir, "drm", "card0", "pci0000:00/0000:00:1c.0/0000:02:00.0"); /* no GPU */
	link_class(dir, "infiniband_verbs", "uverbs0", "pci0000:16/0000:16:03.0/0000:18:00.0");
	test_write_file(dir, "sys/kernel/iommu_groups/9/devices/0000:99:00.3", "");
	test_write_file(dir, "sys/kernel/iommu_groups/17/devices/0000:99:00.4", "");
	test_write_file(dir, "sys/kernel/iommu_groups/18/devices/0000:99:00.2", "");
	test_write_file(dir, "sys/kernel/iommu_groups/18/devices/0000:99:00.3", "");
	return dir;
}

static void the_devices_of_claims(void **state)
{
	static const struct {
		const char *device, *cdi, *spec, *addresses;
	} cases[] = {
		{"node-a/pci-0000-18-00-0", "", "", "0000:18:00.0"},
		{"pools/node-a/0000-99-00-2", "", "", "0000:99:00.2"},
		{"node-a/0000-99-00-3/3f2a9c51-0000-1111-2222-333344445555", "", "", "0000:99:00.3"},
		{"node-a/gpu-0", "nvidia.com/gpu=GPU-3f2a9c51-0000-1111-2222-333344445555", "",
			"0000:17:00.0"},
		{"node-a/pci-0000-18-00-0", "v.com/nic=0000:18:00.0", "", "0000:18:00.0"},
		{"node-a/gpu-0", "gpu.nvidia.com/claim=17-gpu-0", "", ""},
		{"0000-18-00-0/gpu-0", "", "", ""}, /* the pool's name */
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia1") ", " NODE("/dev/nvidiactl")), "0000:31:00.0"},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia2")), "0000:98:00.0"},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia0")), "0000:17:00.0"},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia9")), ""},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia+1")), ""},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia1x")), ""},
		{"n/gpu-0", CDI, NODES(NODE("/dev/nvidia")), ""},
		{"n/gpu-0", CDI, NODES(NODE("/dev/vfio-1")), ""},
		{"n/gpu-0", "k8s.gpu.nvidia.com/claim=other", NODES(NODE("/dev/nvidia1")), ""},
		{"n/gpu-0", CDI, NODES(NODE("/dev/dri/card1") ", " NODE("/dev/dri/card0")), "0000:b1:00.0"},
		{"n/gpu-0", CDI, NODES(NODE("/dev/dri/../drm/card1")), ""},
		{"n/nic-0", CDI, NODES(NODE("/dev/infiniband/uverbs0")), "0000:18:00.0"},
		{"n/vf-0", CDI, NODES(NODE("/dev/vfio/17") ", " NODE("/dev/vfio/vfio")), "0000:99:00.4"},
		{"n/vf-0", CDI, NODES(NODE("/dev/vfio/9")), "0000:99:00.3"},
		{"n/vf-0", CDI, NODES(NODE("/dev/vfio/ 9")), ""},
		{"n/vf-0", CDI, NODES(NODE("/dev/vfio/:9")), ""},
		{"n/vf-0", CDI, NODES(NODE("/dev/vfio/18")), ""}, /* of two devices */
		{"n/gpu-0", CDI, "{\"deviceNodes\": ", ""},
		{"n/gpu-0", CDI,
			"{\"kind\": \"k8s.gpu.nvidia.com/claim\", \"devices\": [{\"name\": \"u-gpu-0\"}, 3, "
			"{\"containerEdits\": {\"deviceNodes\": [{}]}}]}",
			""},
	};
	CLEANUP(test_rmtree) char *dir = make_root();
	const struct pci_address_sources sources = {.sysroot = dir, .cdi_dir = "/var/run/cdi"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(machine_release) struct machine m;
		CLEANUP(node_state_release) struct node_state node;
		CLEANUP(claim_release) struct claim c;
		CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(1024);
		const struct claim *claim;

		discover(dir, NULL, &m);
		node_state_init(&node);
		claim_init(&c, "gpu.nvidia.com", "u", "ns", "c");
		strv_push(&c.devices, cases[i].device);
		if (*cases[i].cdi)
			strv_push(&c.cdi, cases[i].cdi);
		claims_append(&node.claims, &c);
		test_write_file(dir, "var/run/cdi/k8s.gpu.nvidia.com-claim_u.json", cases[i].spec);
		assert_int_equal(pci_addresses_find(&sources, &m, &node, NULL), 0);
		claim = &node.claims.items[0];
		for (size_t k = 0; k < claim->n_addresses; k++) {
			char text[PCI_ADDRESS_SIZE];

			pci_address_print(&claim->addresses[k], text);
			strbuf_addf(&got, "%s%s", k > 0 ? " " : "", text);
		}
		if (strcmp(got.text, cases[i].addresses) != 0)
			fail_msg("%s %s %s: '%s', not '%s'", cases[i].device, cases[i].cdi, cases[i].spec,
				got.text, cases[i].addresses);
	}
}

/* The driver may load after the machine was read. */
static void uuids_that_appear_later_are_found(void **state)
{
	static const char id[] = "GPU-3f2a9c51-0000-1111-2222-333344445555";
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(node_state_release) struct node_state node;
	CLEANUP(machine_release) struct machine m;
	char proc[256];
	const struct pci_address_sources sources = {.sysroot = "/nonexistent", .proc = proc};

	(void)state;
	snprintf(proc, sizeof(proc), "%s/host/proc", dir);
	node_state_init(&node);
	discover(test_machine_tree("gpus"), NULL, &m);
	register_device(&node, "nvidia.com/gpu", id);
	assert_int_equal(pci_addresses_find(&sources, &m, &node, NULL), 0);
	assert_int_equal(node.device_addresses.n_items, 0);
	test_write_file(dir, "host/proc/driver/nvidia/gpus/0000:17:00.0/information",
		"GPU UUID: \t GPU-3f2a9c51-0000-1111-2222-333344445555\n");
	assert_int_equal(pci_addresses_find(&sources, &m, &node, NULL), 0);
	assert_int_equal(node.device_addresses.n_items, 1);
	device_addresses_release(&node.device_addresses);
	test_rmtree(&dir); /* the machine keeps the UUID */
	assert_int_equal(pci_addresses_find(&sources, &m, &node, NULL), 0);
	assert_non_null(device_addresses_find(&node.device_addresses, "nvidia.com/gpu", id));
}

static void virtual_functions_change_the_signature(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	char command[1024];
	uint64_t before, after;

	(void)state;
	snprintf(command, sizeof(command), "cp -r '%s/.' '%s'", test_machine_tree("gpus"), dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(hardware_signature(dir, &before, NULL), 0);
	snprintf(command, sizeof(command), "rm '%s/sys/bus/pci/devices/0000:99:00.4'", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(hardware_signature(dir, &after, NULL), 0);
	assert_true(after != before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_one_text),
		cmocka_unit_test(kinds_are_those_of_the_classes),
		cmocka_unit_test(a_server_with_gpus),
		cmocka_unit_test(damaged_files_are_unknown),
		cmocka_unit_test(recorded_machines),
		cmocka_unit_test(only_ids_that_are_addresses_or_listed_uuids_have_one),
		cmocka_unit_test(the_devices_of_claims),
		cmocka_unit_test(uuids_that_appear_later_are_found),
		cmocka_unit_test(virtual_functions_change_the_signature),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
