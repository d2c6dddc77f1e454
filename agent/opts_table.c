/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of opts.h: every command and every flag. */
#include "agent/opts.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/http.h"
#include "agent/node_name.h"
#include "agent/show_text.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/duration.h"
#include "common/settings.h"

#define ON(command) (1u << COMMAND_##command)
#define ALL         ((1u << COMMAND_COUNT) - 1)
/* Commands that look at one machine, and those that publish it or would. */
#define LOCAL   (ON(DUMP) | ON(CHECK) | ON(FIT) | ON(SHOW) | ON(RUN) | ON(DIFF))
#define PUBLISH (ON(RUN) | ON(DIFF))

const struct command_def command_defs[COMMAND_COUNT] = {
	[COMMAND_DUMP] = {"dump", "print this machine's NodeResourceTopology"},
	[COMMAND_RUN] = {"run", "keep this node's NodeResourceTopology and fit hints true on the API server"},
	[COMMAND_DIFF] = {"diff", "compare what the API server holds with what run would write"},
	[COMMAND_CHECK] = {"check",
		"say what would stop nrtd on this host, in order, and what to do about it"},
	[COMMAND_FIT] = {"fit", "say whether a pod fits this machine, where it would land, and if not why"},
	[COMMAND_SHOW] = {"show", "draw the machine and who holds what of it"},
	[COMMAND_COMPLETION] = {"completion", "print a completion script for a shell"},
	[COMMAND_SCORE] = {"score", "rank nodes for a pod by their NodeResourceTopology objects"},
};

static int check_cpu_list(const char *value, struct err *err)
{
	CLEANUP(cpuset_freep) hwloc_bitmap_t set = NULL;

	return cpuset_parse(value, &set, err);
}

static int check_range(const char *value, long least, long most, struct err *err)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < least || n > most)
		return err_set(
			err, -EINVAL, "'%.100s' is no whole number from %ld to %ld", value, least, most);
	return 0;
}

static int check_weight(const char *value, struct err *err)
{
	return check_range(value, 1, 1000000, err);
}

static int check_seconds(const char *value, struct err *err)
{
	return check_range(value, 1, 86400, err);
}

static int check_not_empty(const char *value, struct err *err)
{
	return *value ? 0 : err_set(err, -EINVAL, "'' names nothing");
}

static int check_pod_resources(const char *value, struct err *err)
{
	if (!strcmp(value, "auto") || !strcmp(value, "none") || strchr(value, '/'))
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is neither a path nor auto or none", value);
}

static int check_duration(const char *value, struct err *err)
{
	uint64_t ms;

	return duration_parse(value, &ms, err);
}

static int check_release(const char *value, struct err *err)
{
	unsigned minor;

	return settings_parse_release(value, &minor, err);
}

/* An annotation of a megabyte is more than an object can have. */
static int check_bytes(const char *value, struct err *err)
{
	return check_range(value, 1024, 262144, err);
}

static int check_columns(const char *value, struct err *err)
{
	return check_range(value, SHOW_TEXT_MIN_WIDTH, SHOW_TEXT_MAX_WIDTH, err);
}

const struct option_def option_defs[OPT_COUNT] = {
	[OPT_SYSROOT] = {.flag = "--sysroot",
		.commands = LOCAL,
		.env = "NRTD_SYSROOT",
		.arg = "DIR",
		.fallback = "",
		.help = "read the machine, /proc and the kubelet's files below DIR instead of /"},
	[OPT_MACHINE] = {.flag = "--machine",
		.commands = LOCAL,
		.env = "NRTD_MACHINE",
		.arg = "FILE",
		.help = "take the machine from an hwloc XML file (lstopo --of xml)"},
	[OPT_PROC] = {.flag = "--proc",
		.commands = LOCAL,
		.env = "NRTD_PROC",
		.arg = "DIR",
		.help = "where the host's /proc is, to find the running kubelet from a container"},
	[OPT_KUBELET_ROOT] = {.flag = "--kubelet-root",
		.commands = LOCAL,
		.env = "NRTD_KUBELET_ROOT",
		.arg = "DIR",
		.help = "the kubelet's --root-dir (default: as the running kubelet says, else "
			"/var/lib/kubelet)"},
	[OPT_KUBELET_CONFIG] = {.flag = "--kubelet-config",
		.commands = LOCAL,
		.env = "NRTD_KUBELET_CONFIG",
		.arg = "FILE",
		.help = "the kubelet's configuration file, instead of looking for it"},
	[OPT_KUBELET_VERSION] = {.flag = "--kubelet-version",
		.commands = LOCAL,
		.env = "NRTD_KUBELET_VERSION",
		.arg = "RELEASE",
		.check = check_release,
		.help = "the kubelet's release, \"v1.35.4\"; releases differ in a few decisions (default: "
			"the Node's for run and diff, else 1.36)"},
	[OPT_NODE_NAME] = {.flag = "--node-name",
		.commands = LOCAL,
		.env = "NRTD_NODE_NAME",
		.arg = "NAME",
		.check = node_name_check,
		.help = "name of the Node (default: NODE_NAME, then the host name)"},
	[OPT_CPU_MANAGER_POLICY] = {.flag = "--cpu-manager-policy",
		.commands = LOCAL,
		.env = "NRTD_CPU_MANAGER_POLICY",
		.arg = "POLICY",
		.values = "none|static",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_CPU_MANAGER_POLICY_OPTIONS] = {.flag = "--cpu-manager-policy-options",
		.commands = LOCAL,
		.env = "NRTD_CPU_MANAGER_POLICY_OPTIONS",
		.arg = "K=V,...",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_MEMORY_MANAGER_POLICY] = {.flag = "--memory-manager-policy",
		.commands = LOCAL,
		.env = "NRTD_MEMORY_MANAGER_POLICY",
		.arg = "POLICY",
		.values = "None|Static",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_TOPOLOGY_MANAGER_POLICY] = {.flag = "--topology-manager-policy",
		.commands = LOCAL,
		.env = "NRTD_TOPOLOGY_MANAGER_POLICY",
		.arg = "POLICY",
		.values = "none|best-effort|restricted|single-numa-node",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_TOPOLOGY_MANAGER_SCOPE] = {.flag = "--topology-manager-scope",
		.commands = LOCAL,
		.env = "NRTD_TOPOLOGY_MANAGER_SCOPE",
		.arg = "SCOPE",
		.values = "container|pod",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_TOPOLOGY_MANAGER_POLICY_OPTIONS] = {.flag = "--topology-manager-policy-options",
		.commands = LOCAL,
		.env = "NRTD_TOPOLOGY_MANAGER_POLICY_OPTIONS",
		.arg = "K=V,...",
		.help = "overrides what the kubelet's configuration says"},
	[OPT_RESERVED_CPUS] = {.flag = "--reserved-cpus",
		.commands = LOCAL,
		.env = "NRTD_RESERVED_CPUS",
		.arg = "LIST",
		.check = check_cpu_list,
		.help = "CPUs reserved for the system, \"0-1,16-17\"; overrides the kubelet's configuration"},
	[OPT_POD_RESOURCES] = {.flag = "--pod-resources",
		.commands = LOCAL,
		.env = "NRTD_POD_RESOURCES",
		.arg = "SOCKET|none|auto",
		.fallback = "auto",
		.check = check_pod_resources,
		.help = "the kubelet's pod-resources socket; auto: pod-resources/kubelet.sock below the "
			"kubelet's --root-dir, none with --sysroot or --machine"},
	[OPT_STATE_FILES] = {.flag = "--state-files",
		.commands = LOCAL,
		.env = "NRTD_STATE_FILES",
		.arg = "WHICH",
		.values = "auto|none",
		.fallback = "auto",
		.help = "read the kubelet's state files below its --root-dir, or do not"},
	[OPT_EXCLUDE_RESOURCES] = {.flag = "--exclude-resources",
		.repeats = true,
		.commands = LOCAL,
		.env = "NRTD_EXCLUDE_RESOURCES",
		.arg = "NAME",
		.check = check_not_empty,
		.help = "leave a resource out of the zones; \"vendor.com/*\" for several; repeats"},
	[OPT_NAMESPACE] = {.flag = "--namespace",
		.repeats = true,
		.commands = LOCAL,
		.env = "NRTD_NAMESPACE",
		.arg = "NAMESPACE",
		.check = check_not_empty,
		.help = "only what pods of this namespace hold counts as taken in the zones; repeats"},
	[OPT_OUTPUT] = {.flag = "--output",
		.letter = 'o',
		.commands = ON(DUMP),
		.env = "NRTD_OUTPUT",
		.arg = "FORMAT",
		.values = "yaml|json",
		.fallback = "yaml",
		.help = "how to print"},
	[OPT_WHAT] = {.flag = "--what",
		.commands = ON(DUMP),
		.env = "NRTD_WHAT",
		.arg = "STAGE",
		.values = "nrt|machine|inventory|hints",
		.fallback = "nrt",
		.help = "what to print: the object, or a stage before it"},
	[OPT_FINGERPRINT] = {.flag = "--fingerprint",
		.commands = ON(DUMP) | PUBLISH,
		.env = "NRTD_FINGERPRINT",
		.arg = "METHOD",
		.values = "all|with-exclusive-resources|none",
		.fallback = "all",
		.help = "which pods the object's fingerprint covers"},
	[OPT_KUBECONFIG] = {.flag = "--kubeconfig",
		.commands = PUBLISH | ON(CHECK),
		.env = "NRTD_KUBECONFIG",
		.arg = "FILE",
		.help = "who nrtd is to the API server (default: $KUBECONFIG, then the pod's service "
			"account)"},
	[OPT_CONTEXT] = {.flag = "--context",
		.commands = PUBLISH | ON(CHECK),
		.env = "NRTD_CONTEXT",
		.arg = "NAME",
		.help = "the kubeconfig's context to use instead of its current one"},
	[OPT_API_SERVER] = {.flag = "--api-server",
		.commands = PUBLISH | ON(CHECK),
		.env = "NRTD_API_SERVER",
		.arg = "URL",
		.help = "the API server's URL instead of the one the credentials name"},
	[OPT_DRY_RUN] = {.flag = "--dry-run",
		.commands = ON(RUN),
		.env = "NRTD_DRY_RUN",
		.help = "print each change instead of writing it to the API server"},
	[OPT_CLEANUP] = {.flag = "--cleanup",
		.commands = ON(RUN),
		.help = "take away what nrtd has put on the API server for this node, and end"},
	[OPT_LOCK] = {.flag = "--lock",
		.commands = ON(RUN),
		.env = "NRTD_LOCK",
		.arg = "FILE",
		.help = "held by the one nrtd of this node that publishes (default: /run/nrtd/NODE.lock), or "
			"none"},
	[OPT_HTTP] = {.flag = "--http",
		.commands = ON(RUN),
		.env = "NRTD_HTTP",
		.arg = "ADDRESS:PORT",
		.check = http_listen_check,
		.fallback = HTTP_LISTEN_DEFAULT,
		.help = "where /healthz, /readyz and /metrics are served, or off"},
	[OPT_COALESCE] = {.flag = "--coalesce",
		.commands = ON(RUN),
		.env = "NRTD_COALESCE",
		.arg = "DURATION",
		.check = check_duration,
		.fallback = "50ms",
		.help = "changes this close together are published as one"},
	[OPT_POLL] = {.flag = "--poll",
		.commands = ON(RUN),
		.env = "NRTD_POLL",
		.arg = "DURATION",
		.check = check_duration,
		.fallback = "10s",
		.help = "look this often for what no file shows"},
	[OPT_REFRESH] = {.flag = "--refresh",
		.commands = ON(RUN),
		.env = "NRTD_REFRESH",
		.arg = "DURATION",
		.check = check_duration,
		.fallback = "10m",
		.help = "repair this often what somebody else changed on the API server"},
	[OPT_NODE_WRITE_INTERVAL] = {.flag = "--node-write-interval",
		.commands = ON(RUN),
		.env = "NRTD_NODE_WRITE_INTERVAL",
		.arg = "DURATION",
		.check = check_duration,
		.fallback = "5s",
		.help = "least time between two writes of the Node's annotations"},
	[OPT_SHAPE] = {.flag = "--shape",
		.repeats = true,
		.commands = ON(DUMP) | PUBLISH,
		.env = "NRTD_SHAPE",
		.arg = "NAME=RESOURCE=QUANTITY,...",
		.help = "a request whose score is published as nrtd.dev/fit-score.NAME"},
	[OPT_SHAPE_STRATEGY] = {.flag = "--shape-strategy",
		.commands = ON(DUMP) | PUBLISH,
		.env = "NRTD_SHAPE_STRATEGY",
		.arg = "STRATEGY",
		.values = "LeastNUMANodes|MostAllocated|LeastAllocated|BalancedAllocation",
		.fallback = "LeastNUMANodes",
		.help = "the score that is"},
	[OPT_FIT_HINTS_MAX] = {.flag = "--fit-hints-max",
		.commands = ON(DUMP) | PUBLISH,
		.env = "NRTD_FIT_HINTS_MAX",
		.arg = "BYTES",
		.check = check_bytes,
		.fallback = "16384",
		.help = "the most that the annotation nrtd.dev/fit-hints has"},
	[OPT_LABELS] = {.flag = "--labels",
		.commands = ON(DUMP) | PUBLISH,
		.env = "NRTD_LABELS",
		.help = "label the Node with nrtd.dev/max-exclusive-cpus.N-numa"},
	[OPT_FILENAME] = {.flag = "--filename",
		.letter = 'f',
		.commands = ON(FIT) | ON(SCORE),
		.env = "NRTD_FILENAME",
		.arg = "FILE",
		.help = "the pod: a Pod or anything with a pod template, YAML or JSON; '-' is standard "
			"input"},
	[OPT_POD] = {.flag = "--pod",
		.commands = ON(FIT) | ON(SCORE),
		.env = "NRTD_POD",
		.arg = "NAME",
		.help = "which of the file's pod templates (default: the first)"},
	[OPT_CPUS] = {.flag = "--cpus",
		.commands = ON(FIT),
		.env = "NRTD_CPUS",
		.arg = "N",
		.help = "ask for N CPUs"},
	[OPT_MEMORY] = {.flag = "--memory",
		.commands = ON(FIT),
		.env = "NRTD_MEMORY",
		.arg = "QUANTITY",
		.help = "ask for memory, \"32Gi\""},
	[OPT_HUGEPAGES_1GI] = {.flag = "--hugepages-1Gi",
		.commands = ON(FIT),
		.env = "NRTD_HUGEPAGES_1GI",
		.arg = "N",
		.help = "ask for N pages of 1 GiB, or with a suffix that much memory in them"},
	[OPT_HUGEPAGES_2MI] = {.flag = "--hugepages-2Mi",
		.commands = ON(FIT),
		.env = "NRTD_HUGEPAGES_2MI",
		.arg = "N",
		.help = "ask for N pages of 2 MiB, or with a suffix that much memory in them"},
	[OPT_DEVICE] = {.flag = "--device",
		.repeats = true,
		.commands = ON(FIT),
		.env = "NRTD_DEVICE",
		.arg = "NAME=N",
		.help = "ask for N devices of a resource, \"vendor.com/nic=2\"; repeats"},
	[OPT_RESOURCE] = {.flag = "--resource",
		.repeats = true,
		.commands = ON(FIT),
		.env = "NRTD_RESOURCE",
		.arg = "NAME=QUANTITY",
		.help = "ask for any other resource; repeats"},
	[OPT_POLICY] = {.flag = "--policy",
		.commands = ON(FIT),
		.env = "NRTD_POLICY",
		.arg = "POLICY",
		.values = "none|best-effort|restricted|single-numa-node",
		.help = "ask what if the Topology Manager's policy were this"},
	[OPT_SCOPE] = {.flag = "--scope",
		.commands = ON(FIT),
		.env = "NRTD_SCOPE",
		.arg = "SCOPE",
		.values = "container|pod",
		.help = "ask what if the Topology Manager's scope were this"},
	[OPT_OPTION] = {.flag = "--option",
		.repeats = true,
		.commands = ON(FIT),
		.env = "NRTD_OPTION",
		.arg = "K=V",
		.help = "ask what if a policy option of the CPU or Topology Manager were this, "
			"\"full-pcpus-only=true\"; repeats"},
	[OPT_FIT_OUTPUT] = {.flag = "--output",
		.letter = 'o',
		.commands = ON(FIT),
		.env = "NRTD_FIT_OUTPUT",
		.arg = "FORMAT",
		.values = "text|json",
		.fallback = "text",
		.help = "how to print"},
	[OPT_NRT] = {.flag = "--nrt",
		.commands = ON(SCORE) | ON(SHOW),
		.env = "NRTD_NRT",
		.arg = "FILE",
		.help = "NodeResourceTopology objects: a file, a directory of them, '-' for standard input"},
	[OPT_STRATEGY] = {.flag = "--strategy",
		.commands = ON(SCORE),
		.env = "NRTD_STRATEGY",
		.arg = "NAME",
		.values = "LeastNUMANodes|MostAllocated|LeastAllocated|BalancedAllocation|Volcano",
		.fallback = "LeastNUMANodes",
		.help = "rank by this score"},
	[OPT_WEIGHT] = {.flag = "--weight",
		.repeats = true,
		.commands = ON(SCORE),
		.env = "NRTD_WEIGHT",
		.arg = "NAME=N",
		.help = "weight of a resource in MostAllocated and LeastAllocated (default 1); repeats"},
	[OPT_VOLCANO_WEIGHT] = {.flag = "--volcano-weight",
		.commands = ON(SCORE),
		.env = "NRTD_VOLCANO_WEIGHT",
		.arg = "N",
		.fallback = "1",
		.check = check_weight,
		.help = "weight of Volcano's numa-aware plugin"},
	[OPT_SCORE_OUTPUT] = {.flag = "--output",
		.letter = 'o',
		.commands = ON(SCORE),
		.env = "NRTD_SCORE_OUTPUT",
		.arg = "FORMAT",
		.values = "table|json",
		.fallback = "table",
		.help = "how to print"},
	[OPT_SHOW_OUTPUT] = {.flag = "--output",
		.letter = 'o',
		.commands = ON(SHOW),
		.env = "NRTD_SHOW_OUTPUT",
		.arg = "FORMAT",
		.values = "text|svg",
		.fallback = "text",
		.help = "for a terminal, or as a picture"},
	[OPT_CHECK_OUTPUT] = {.flag = "--output",
		.letter = 'o',
		.commands = ON(CHECK),
		.env = "NRTD_CHECK_OUTPUT",
		.arg = "FORMAT",
		.values = "text|json",
		.fallback = "text",
		.help = "how to print"},
	[OPT_WATCH] = {.flag = "--watch",
		.commands = ON(SHOW),
		.env = "NRTD_WATCH",
		.arg = "SECONDS",
		.implied = "2",
		.check = check_seconds,
		.help = "draw again and again, until interrupted"},
	[OPT_COLOR] = {.flag = "--color",
		.commands = ON(SHOW),
		.env = "NRTD_COLOR",
		.arg = "WHEN",
		.values = "auto|always|never",
		.fallback = "auto",
		.help = "use colours; auto: on a terminal, unless NO_COLOR is set"},
	[OPT_WIDTH] = {.flag = "--width",
		.commands = ON(SHOW),
		.env = "NRTD_WIDTH",
		.arg = "COLUMNS",
		.check = check_columns,
		.help = "columns of the picture (default: the terminal's; as SVG 120, 8 pixels each)"},
	[OPT_SHELL] = {.flag = "--shell",
		.commands = ON(COMPLETION),
		.env = "NRTD_SHELL",
		.arg = "SHELL",
		.values = "bash|zsh",
		.fallback = "bash",
		.help = "the shell the script is for"},
	[OPT_VERBOSE] = {.flag = "--verbose",
		.letter = 'v',
		.commands = ALL,
		.env = "NRTD_VERBOSE",
		.help = "say on stderr where each setting was found"},
	[OPT_HELP] = {.flag = "--help", .letter = 'h', .commands = ALL, .help = "print this"},
	[OPT_VERSION] = {.flag = "--version", .commands = ALL, .help = "print the version"},
};
