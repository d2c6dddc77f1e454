/* SPDX-License-Identifier: Apache-2.0 */
/* Node states from hostile objects: damaged texts are rejected, and no text costs much. */
#include <errno.h>
#include <string.h>

#include "tests/lib/test.h"

#include "common/cleanup.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"

#define HEAD    "1;cpu=static;memory=None;topology=none,?,8;ram=4k;nodes=0:4k"
#define CPUS    ";cores=0-1=0;sockets=0-1=0;numa=0-1=0;uncore=0-1=0"
#define PCI     HEAD CPUS ";?pci="
#define DEVICES HEAD CPUS ";devices=v:0*2;?pci="
#define CLAIMS  HEAD CPUS ";types=memory;claims="

static void assert_one_line(const char *text, const struct err *err)
{
	if (!*err->text || strpbrk(err->text, "\n\r\t"))
		fail_msg("'%s' for %s", err->text, text);
}

static void hostile_texts_are_refused_with_a_word(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", "start: a number is missing"},
		{"0;cpu=static", "start: no version"},
		{"x", "start: a number is missing"},
		{"99999999999999999999999", "start: a number is too large"},
		{"1", "cpu: the section is missing"},
		{"1;kubelet=38;?prerelease=gamma.1;cpu=static", "?prerelease: not a pre-release"},
		{"1;kubelet=38;?prerelease=rc.1x;cpu=static", "?prerelease: text after the value"},
		{"1;kubelet=38;?prerelease=rc.1000;cpu=static", "?prerelease: not a pre-release"},
		{"1;?prerelease=rc.1;cpu=static", "?prerelease: not a pre-release"},
		{"1;cpu=fast", "cpu: an unknown policy"},
		{"1;cpu=static,x,y", "cpu: a second unknown option"},
		{"1;cpu=none,x", "cpu: an option of a policy without options"},
		{"1;cpu=static;memory=None;topology=none,?,8;reserved=3-1",
			"reserved: a set is not in ascending order"},
		{"1;cpu=static;memory=None;topology=none,?,8;reserved=0-9999", "reserved: 9999 is too large"},
		{"1;cpu=static;memory=None;topology=none,?,8;reserved-cpu=lots",
			"reserved-cpu: a quantity is missing"},
		{"1;cpu=static;memory=None;topology=none,?,8;ram=17179869184g",
			"ram: an amount is too large"},
		{"1;cpu=static;memory=None;topology=restricted,container,4294967295",
			"topology: 4294967295 is too large, at most 1024 is valid"},
		{"1;cpu=static;memory=None;topology=none,?,8;reserved-memory=-1Gi",
			"reserved-memory: a quantity is missing, negative or too large"},
		{HEAD CPUS ";types=memory;memory-nodes=0*4294967295:",
			"memory-nodes: 4294967295 is too large, at most 2147483647 is valid"},
		{HEAD "|0:4k" CPUS, "nodes: NUMA nodes are not in ascending order"},
		{HEAD ";distances=10*9999" CPUS, "distances: more distances than pairs"},
		{HEAD ";cores=0-8191=0,0-8191=0", "cores: more than 8192 CPUs"},
		{HEAD ";cores=0,1=0", "cores: '=' is missing"},
		{HEAD ";cores=0-1=0,1=0", "cores: CPU 1 comes twice"},
		{HEAD ";cores=0-1=7", "cores: the core of CPU 0 is not an online CPU"},
		{HEAD ";cores=0-1/1=0+2147483647", "cores: the core of CPU 1 is not an online CPU"},
		{HEAD ";cores=0-2/1=0+2147483647", "cores: a number is too large"},
		{HEAD ";cores=0-1:0=0", "cores: an invalid range of CPUs"},
		{HEAD ";cores=0-1=0;sockets=0=0;numa=0-1=3", "numa: there is no NUMA node 3"},
		{HEAD ";cores=0-1=0;sockets=0-2=0", "sockets: CPU 2 is not among the cores"},
		{HEAD CPUS ";types=b,a", "types: types are not in ascending order"},
		{HEAD CPUS ";types=a%00", "types: a name has a NUL"},
		{HEAD CPUS ";types=a;numa-reserved=b0:1", "numa-reserved: a letter is out of range"},
		{HEAD CPUS ";devices=v:0*99999", "devices: 99999 is too large"},
		{HEAD CPUS ";devices=v:0*9/1*65530", "devices: no device, or more than 65536"},
		{HEAD CPUS ";devices=v:0;pods=??:0/A1", "pods: 1 is too large"},
		{HEAD CPUS ";pods=??:0/a1@0", "pods: a letter is missing"},
		{HEAD CPUS ";pods=?short:0", "pods: a hash of 6 characters is missing"},
		{HEAD CPUS ";pods=?aaaaab:0|?aaaaaa:1", "pods: pods are not in ascending order"},
		{HEAD CPUS ";pods=??:0;More=1", "end: an unknown section"},
		{HEAD CPUS ";?More=1", "optional: the name is missing"},
		{HEAD CPUS ";ram=1", "end: an unknown section"},
		{CLAIMS "", "claims: "},
		{CLAIMS "d", "claims: ':' is missing"},
		{CLAIMS "d:", "claims: ':' is missing"},
		{CLAIMS "d:short:", "claims: a hash of 6 characters is missing"},
		{CLAIMS "d:abc", "claims: a hash of 6 characters is missing"},
		{CLAIMS "d:abcdef:0-9999", "claims: 9999 is too large"},
		{CLAIMS "d::/b1@0", "claims: a letter"},
		{CLAIMS "d::/a1", "claims: '@' is missing"},
		{CLAIMS "d::/a1@99999", "claims: 99999 is too large"},
		{CLAIMS "d::*0", "claims: no device"},
		{CLAIMS "d::*99999", "claims: 99999 is too large"},
		{CLAIMS "d::*65536|d::*65536|d::*1", "claims: no device, or more than 131072 are held"},
		{CLAIMS "d::0|", "claims: "},
		{CLAIMS "d::0;pods=??:0", "end: an unknown section"},
		{PCI "-@-;claims=d::0", "end: an unknown section"},
		{PCI "x", "?pci: no PCIe root"},
		{PCI "-", "?pci: '@' is missing"},
		{PCI "pci0000:1@0", "?pci: no PCIe root"},
		{PCI "pci0000:16@3", "?pci: there is no NUMA node 3"},
		{PCI "pci0000:16@0,", "?pci: an unknown kind of PCI device"},
		{PCI "pci0000:16@0,x0000:17:00.0", "?pci: an unknown kind of PCI device"},
		{PCI "pci0000:16@0,g0000:17:00", "?pci: no PCI address"},
		{PCI "pci0000:16@0,g0000-17-00-0", "?pci: no PCI address"},
		{PCI "pci0000:16@0,g00000:17:00.0", "?pci: no PCI address"},
		{PCI "pci0000:16@0,g0000:17:00.0*0", "?pci: an invalid number of addresses"},
		{PCI "pci0000:16@0,g0000:ff:1f.7*2", "?pci: an invalid number of addresses"},
		{PCI "pci0000:16@0,N0000:00:00.0*99999", "?pci: 99999 is too large"},
		{PCI "-@-,N0000:00:00.0*16384,n0001:00:00.0", "?pci: an invalid number of addresses"},
		{PCI "pci0000:16@0,n0000:17:00.0*2=eth0", "?pci: several PCI devices with one name"},
		{PCI "pci0000:16@0,n0000:17:00.0=", "?pci: "},
		{PCI "pci0000:16@0,n0000:17:00.0=a%20b", "?pci: not a device's name"},
		{PCI "pci0000:16@0,g0000:17:00.0|-@-,n0000:17:00.0", "?pci: a PCI address comes twice"},
		{PCI "A0=0000:17:00.0", "?pci: a letter is missing"},
		{PCI "#0=0000:17:00.0", "?pci: there is no claim 0"},
		{PCI "pci0000:16@0 ", "?pci: text after the value"},
		{DEVICES "A2=0000:17:00.0", "?pci: 2 is too large, at most 1 is valid"},
		{DEVICES "A0=0000:17:00.0*3", "?pci: 3 is too large, at most 2 is valid"},
		{DEVICES "A0=0000:17:00.0,0=0000:17:00.1", "?pci: a device has two PCI addresses"},
		{DEVICES "A0:0000:17:00.0", "?pci: '=' is missing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node_state parsed;
		struct err err = {""};

		if (node_state_parse(cases[i].text, &parsed, &err) != -EINVAL)
			fail_msg("%s is accepted, or of a newer version", cases[i].text);
		if (!strstr(err.text, cases[i].want))
			fail_msg("%s: '%s', not '%s'", cases[i].text, err.text, cases[i].want);
		assert_one_line(cases[i].text, &err);
	}
	{
		struct node_state parsed;
		struct err err = {""};

		assert_int_equal(node_state_parse(HEAD CPUS, &parsed, &err), 0);
		node_state_release(&parsed);
	}
}

/* Short texts for large states are rejected before they cost much. */
static void short_texts_cost_little(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * NODE_STATE_TEXT_MAX);
	struct node_state parsed;
	struct err err = {""};

	(void)state;
	strbuf_addstr(&text, HEAD CPUS ";devices=v:0*65536;pods=??:");
	while (text.len < NODE_STATE_TEXT_MAX - 20)
		strbuf_addstr(&text, "/A0-65535+");
	assert_int_equal(node_state_parse(text.text, &parsed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "devices are held"));
	strbuf_reset(&text);
	strbuf_addstr(&text, HEAD CPUS ";pods=??:");
	while (text.len < NODE_STATE_TEXT_MAX - 20)
		strbuf_addstr(&text, "0-8191/1+");
	assert_int_equal(node_state_parse(text.text, &parsed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "CPUs are held"));
	while (text.len <= NODE_STATE_TEXT_MAX)
		strbuf_addstr(&text, "+/A0");
	assert_int_equal(node_state_parse(text.text, &parsed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than"));
	strbuf_reset(&text);
	strbuf_addstr(&text, "1;cpu=static;memory=None;topology=none,?,8;ram=4k;nodes=0:0");
	for (unsigned i = 1; i < 1024; i++)
		strbuf_addf(&text, "|%u:0", i);
	strbuf_addstr(&text, CPUS ";devices=v:0*4097");
	assert_int_equal(node_state_parse(text.text, &parsed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many devices on too many NUMA nodes"));
	text.len = (size_t)(strstr(text.text, ";devices") - text.text);
	strbuf_addstr(&text, ";claims=");
	for (unsigned i = 0; i < 2050; i++)
		strbuf_addstr(&text, i ? "|v::" : "v::");
	assert_int_equal(node_state_parse(text.text, &parsed, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many claims on too many NUMA nodes"));
}

/*
 * 32 000 runs of devices; the NUMA nodes of every second run are unknown. Comparing each run with all others
 * took 10^9 comparisons.
 */
static void many_runs_of_devices_cost_little(void **state)
{
	static const struct derive_config config = {0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	struct node_state parsed;
	struct err err = {""};

	(void)state;
	strbuf_addstr(&text, HEAD CPUS ";devices=v:0");
	while (text.len < NODE_STATE_TEXT_MAX - 4)
		strbuf_addstr(&text, "/?/0");
	if (node_state_parse(text.text, &parsed, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(node_derive(&config, &parsed, NULL, &err), 0);
	assert_true(parsed.allocations.n_registered > 32000);
	node_state_release(&parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_texts_are_refused_with_a_word),
		cmocka_unit_test(short_texts_cost_little),
		cmocka_unit_test(many_runs_of_devices_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
