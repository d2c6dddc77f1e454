/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the notes of the observation, with the level and the remedy of each kind. */
#include <string.h>

#include "agent/check/check.h"
#include "common/cleanup.h"

struct note_kind {
	const char *part; /* of the note's text */
	enum check_level level;
	const char *remedy;
};

/* The first row with a part of the text counts. */
static const struct note_kind note_kinds[] = {
	{"but those that claims hold", CHECK_NOTE, NULL}, /* the policy that dra-driver-cpu requires */
	{"no CPU is handed out exclusively", CHECK_NOTE,
		"set cpuManagerPolicy static, and reserve CPUs, if containers are to have CPUs of their own"},
	{"fingerprint is omitted", CHECK_NOTE,
		"let nrtd read the pod-resources API: in a container mount the kubelet's pod-resources directory, and name the socket by --pod-resources"},
	{"CPU manager policy is not known", CHECK_WARN,
		"share the host's PID namespace so that the kubelet's command line can be read, or name its configuration by --kubelet-config"},
	{"the reserved CPUs are not known", CHECK_WARN,
		"name them by --reserved-cpus, or let the pod-resources API be read"},
	{"no source reports which", CHECK_WARN,
		"make the state files or the pod-resources socket readable; one of them is enough"},
	{"no source reports the pods' namespaces", CHECK_WARN,
		"let nrtd read the pod-resources API, or remove --namespace"},
	{"changed after the kubelet", CHECK_WARN,
		"mend any items \"kubelet start\" above, then restart the kubelet"},
	{"is not running: its last settings are used", CHECK_WARN,
		"start the kubelet; its log tells why it ended"},
	{"kubelets run here", CHECK_WARN,
		"stop the kubelet that is not this node's, or name the configuration of this node's kubelet by --kubelet-config"},
	{"is not this node's kubelet", CHECK_WARN,
		"if it is, run it as root, outside pods and in the host's PID namespace, or name its configuration by --kubelet-config"},
	{"settings that no file mentions are not known", CHECK_WARN,
		"mend what the line names, or name the kubelet's configuration by --kubelet-config"},
	{"and no source that nrtd has found sets", CHECK_WARN,
		"let nrtd see the kubelet's process, or name its configuration by --kubelet-config"},
	{"the kubelet was not started with the settings", CHECK_WARN,
		"let nrtd see the kubelet's process, or name its configuration by --kubelet-config"},
	{"was written under", CHECK_WARN,
		"if the settings are right, drain the node, stop the kubelet, remove this file and start the kubelet; else correct the settings"},
	{"--hostname-override", CHECK_WARN, "name the node by --node-name or NODE_NAME, or start nrtd again"},
	{"both allocate", CHECK_WARN,
		"let one of them allocate: set the kubelet's manager to policy none, or remove the DRA driver"},
	{"belong to several claims", CHECK_WARN,
		"restart one of the pods, and update the driver: dra-driver-cpu 0.2.0 can give a CPU to two claims"},
	{"feature gate MemoryManager is off", CHECK_WARN,
		"enable the feature gate, or set memoryManagerPolicy None"},
	{"featureGates: no kubelet that nrtd knows has", CHECK_WARN,
		"correct the name: a kubelet of Kubernetes does not start with a feature gate that it does not know; kubelets of some distributions have more"},
	{"does not have the feature gate", CHECK_WARN,
		"remove it from featureGates: a kubelet of Kubernetes does not start with it"},
	{"does not have the configuration field", CHECK_WARN,
		"remove the field: this kubelet ignores or refuses it"},
	{"' is not known", CHECK_WARN, "correct the name, or update nrtd if the kubelet is newer"},
	{"was compared with", CHECK_WARN, "update nrtd when a release supports this kubelet"},
	{"the newest that nrtd", CHECK_WARN, "update nrtd when a release supports this kubelet"},
	{"are not available: ", CHECK_WARN,
		"drain the node, stop the kubelet, remove the state files of its static policies, and start it"},
	{"is available: ", CHECK_WARN,
		"drain the node, stop the kubelet, remove the state files of its static policies, and start it"},
	{"are offline", CHECK_WARN,
		"bring the CPUs online again; or drain the node, stop the kubelet, remove the state files of its static policies, and start it"},
	{"do not exist on this machine", CHECK_WARN,
		"bring them back; or drain the node, stop the kubelet, remove the state files of its static policies, and start it"},
	{"the state files alone are used", CHECK_WARN,
		"make the pod-resources socket readable: in a container mount its directory; run as root"},
	{"the pod-resources API alone is used", CHECK_WARN,
		"make the state files readable: in a container mount the kubelet's root directory; run as root; a damaged file is removed while the kubelet is stopped, on the drained node"},
	{"the API's last answer is still used", CHECK_WARN,
		"find out why the kubelet does not answer: its log, its load"},
	{"disagree", CHECK_WARN,
		"if it stays, restart the kubelet; if it stays then, remove the state files on the drained node"},
	{"is omitted", CHECK_WARN,
		"the schedulers that read it have no data for this node until what the line names is changed"},
	{"are omitted", CHECK_WARN,
		"the schedulers that read them have no data for this node until what the line names is changed"},
	{"omit", CHECK_WARN,
		"let nrtd read the pod-resources API, which has the devices and their NUMA nodes"},
	{"fingerprint method", CHECK_WARN,
		"set memoryManagerPolicy Static, or choose another fingerprint method"},
};

/* What other notes name is left out, or counts as held. */
#define NOTE_REMEDY_OTHER \
	"correct the source that the line names, or restart the kubelet, which writes its files again; until then what is in doubt counts as held"

void check_note(const char *note, struct check_report *report)
{
	const struct note_kind *kind = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(note_kinds) && !kind; i++)
		if (strstr(note, note_kinds[i].part))
			kind = &note_kinds[i];
	check_report_line(report, kind ? kind->level : CHECK_WARN, "note", NULL, note,
		kind ? kind->remedy : NOTE_REMEDY_OTHER);
}
