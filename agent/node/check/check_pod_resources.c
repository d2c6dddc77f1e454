/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/check/check_pod_resources.h"

#include <errno.h>

#include "agent/node/check/check_files.h"
#include "common/cleanup.h"
#include "common/clock.h"

static const char source[] = "pod-resources";

static const char *remedy_of(int r)
{
	switch (r) {
	case -ENOENT:
	case -ENOTDIR:
		return "in a container mount the kubelet's pod-resources directory (the directory, not the socket) and name the socket by --pod-resources";
	case -EACCES:
	case -EPERM:
		return "only root may use it: run as root, and allow it in SELinux or AppArmor";
	case -ECONNREFUSED:
		return "nobody listens: is the kubelet running? Mount the directory, not the socket, so that a restarted kubelet is found";
	default:
		return "is it the kubelet's pod-resources socket?";
	}
}

static void report_failure(struct check_report *report, const char *socket, int r, const struct err *err)
{
	bool absent = r == -ENOENT || r == -ENOTDIR;
	struct check_item *item = check_report_add(report, CHECK_WARN, source, "%s", absent ? "" : err->text);

	if (!item)
		return;
	item->state = absent || r == -EACCES || r == -EPERM ? check_state_of(r) : "fails";
	check_report_set(&item->path, "%s", socket);
	check_report_set(&item->remedy, "%s", remedy_of(r));
}

static void report_answer(
	struct check_report *report, const char *socket, const struct pod_resources *answer, double ms)
{
	struct check_item *item = check_report_add(report, CHECK_OK, source,
		"%zu pods, %zu containers hold something, answered in %.1f ms", answer->n_pods,
		answer->held.n_items, ms);

	if (!item)
		return;
	item->state = "read";
	check_report_set(&item->path, "%s", socket);
	check_report_set(&item->format, "v1");
	if (answer->allocatable_known)
		return;
	item = check_report_add(report, CHECK_WARN, source, "GetAllocatableResources is not offered");
	if (item)
		check_report_set(&item->remedy,
			"before Kubernetes 1.23 the kubelet needs the feature gate KubeletPodResourcesGetAllocatable; state files and configuration are used instead");
}

bool check_pod_resources(const struct observe_config *config, const char *kubelet_root,
	const struct machine *machine, struct check_report *report)
{
	CLEANUP(freep) char *socket = NULL;
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *client = NULL;
	CLEANUP(pod_resources_release) struct pod_resources answer;
	CLEANUP(notes_release) struct notes notes = {0};
	struct err err = {""};
	double begin = clock_s(CLOCK_MONOTONIC);
	int r;

	observe_socket(config, kubelet_root, &socket);
	pod_resources_init(&answer);
	if (!socket) {
		check_report_add(report, CHECK_OK, source, "not asked");
		return false;
	}
	r = pod_resources_client_new(socket, NULL, &client);
	if (r < 0) {
		report->error = r;
		return false;
	}
	r = pod_resources_read(client, machine, &answer, &notes, &err);
	if (r < 0)
		report_failure(report, socket, r, &err);
	else
		report_answer(report, socket, &answer, (clock_s(CLOCK_MONOTONIC) - begin) * 1e3);
	return r == 0;
}
