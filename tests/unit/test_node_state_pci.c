/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI devices of a node state's text. */
#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "common/text.h"
#include "tests/lib/claims.h"
#include "tests/lib/node_states.h"
#include "tests/lib/observations.h"

static void register_pci_device(
	struct observation *o, const char *resource, const char *id, const char *near, const char *address)
{
	struct allocations *a = &o->node.allocations;
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = NULL;
	struct pci_address parsed;

	assert_int_equal(cpuset_parse(near, &nodes, NULL), 0);
	a->registered_known = true;
	device_blocks_add(&a->registered, &a->n_registered, &a->registered_size, resource, nodes, false, id);
	if (!address)
		return;
	assert_non_null(pci_address_parse(address, &parsed));
	device_addresses_add(&o->node.device_addresses, resource, id, &parsed);
	device_addresses_sort(&o->node.device_addresses);
}

static void observe_gpus(struct observation *o)
{
	static const struct holding holding = {.uid = "u",
		.namespace = "ml",
		.pod = "train",
		.container = "c",
		.cpus = "1-2",
		.resource = "nvidia.com/gpu",
		.ids = {"GPU-b"},
		.near = "0"};
	struct claim *c;

	observation_of_kubelet("gpus", "0", &holding, 1, o);
	register_pci_device(o, "intel.com/vf", "0000:99:00.2", "1", "0000:99:00.2");
	register_pci_device(o, "intel.com/vf", "0000:99:00.3", "1", "0000:99:00.3");
	register_pci_device(o, "nvidia.com/gpu", "GPU-a", "0", "0000:17:00.0");
	register_pci_device(o, "nvidia.com/gpu", "GPU-b", "0", "0000:31:00.0");
	register_pci_device(o, "nvidia.com/gpu", "GPU-c", "1", NULL);
	c = test_add_claim(&o->node.claims, "dra.net", "a", "", NULL, 0, 0);
	strv_push(&c->devices, "n/pci-0000-18-00-0");
	claim_add_address(c, &o->node.machine.pci.items[1].address);
	node_state_complete(&o->node);
}

static void assert_same_pci(const struct node_state *a, const struct node_state *b)
{
	assert_int_equal(a->machine.pci_known, b->machine.pci_known);
	for (size_t i = 0; i < b->machine.pci.n_items; i++) {
		const struct pci_device *y = &b->machine.pci.items[i];
		const struct pci_device *x = pci_devices_find(&a->machine.pci, &y->address);

		assert_non_null(x);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->numa, y->numa);
		assert_int_equal(x->virtual_function, y->virtual_function);
		assert_int_equal(pci_root_compare(&x->root, &y->root), 0);
		test_assert_text("names", text_or_empty(x->names), text_or_empty(y->names));
	}
}

/* What no plugin and no claim has of the virtual functions is omitted. */
static void pci_devices_come_back(void **state)
{
	static const char want[] = ";?pci=pci0000:16@0,g0000:17:00.0,n0000:18:00.0=ens1np0=mlx5_0"
				   "|pci0000:30@0,g0000:31:00.0,d0000:32:00.0=nvme0"
				   "|pci0000:97@1,g0000:98:00.0,n0000:99:00.0=ens2f0,N0000:99:00.2*2"
				   "|pci0000:b0@1,a0000:b1:00.0,d10000:01:00.0=nvme1"
				   "|pci0000:fe@-,n0000:fe:00.0=ens9"
				   "|A0=0000:99:00.2*2|B0=0000:17:00.0,1=0000:31:00.0|#0=0000:18:00.0";
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL, *again = NULL;
	struct node_state parsed;
	char address[PCI_ADDRESS_SIZE];
	const char *at;

	(void)state;
	observe_gpus(&o);
	text = node_state_print_text(&o.node);
	at = strstr(text, ";?pci=");
	assert_non_null(at);
	test_assert_text("section", at, want);
	node_state_parse_text(text, &parsed);
	again = node_state_print_text(&parsed);
	test_assert_text("again", again, text);
	node_state_assert_same("gpus", &o.node, &parsed);
	assert_same_pci(&o.node, &parsed);
	assert_int_equal(parsed.machine.pci.n_items, 11); /* all but 0000:99:00.4 */
	assert_int_equal(parsed.device_addresses.n_items, 4);
	pci_address_print(
		device_addresses_find(&parsed.device_addresses, "nvidia.com/gpu", "000001"), address);
	test_assert_text("held", address, "0000:31:00.0");
	assert_int_equal(parsed.claims.items[0].n_addresses, 1);
	node_state_release(&parsed);
}

/* A reader that does not know the section gives the same verdicts. */
static void pci_devices_may_be_skipped(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	struct node_state parsed;

	(void)state;
	observe_gpus(&o);
	text = node_state_print_text(&o.node);
	memcpy(strstr(text, ";?pci="), ";?xyz=", strlen(";?xyz="));
	node_state_parse_text(text, &parsed);
	assert_false(parsed.machine.pci_known);
	assert_int_equal(parsed.machine.pci.n_items, 0);
	node_state_assert_same("skipped", &o.node, &parsed);
	node_state_release(&parsed);
}

/* The section never costs the rest of the text. */
static void too_many_pci_devices_are_omitted(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;
	struct pci_devices *all;

	(void)state;
	observe_gpus(&o);
	all = &o.node.machine.pci;
	for (unsigned i = 0; i < 2000; i++) {
		struct pci_device *d = vec_push(&all->items, &all->n_items, &all->items_size, sizeof(*d));

		*d = (struct pci_device){.address = {1 + i, 0, 0}, .kind = PCI_NIC, .numa = MACHINE_NONE};
	}
	text = node_state_print_text(&o.node);
	assert_null(strstr(text, "?pci"));
	assert_non_null(strstr(text, ";claims="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pci_devices_come_back),
		cmocka_unit_test(pci_devices_may_be_skipped),
		cmocka_unit_test(too_many_pci_devices_are_omitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
