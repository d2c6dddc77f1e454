/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the kubelet's command line and configuration where no kubelet runs that nrtd can see: in the systemd service that starts the
 * kubelet, and at the usual paths of distributions. doc/kubelet-settings.md has the table of these places.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/observe/kubelet_args.h"
#include "common/err.h"
#include "common/vec.h"

/* What one place says. Zeroed is empty. */
struct kubelet_files {
	struct kubelet_args args; /* paths are absolute; config and config_dir exist or are NULL */
	char *source;             /* for messages: "kubelet.service", "/var/lib/kubelet/config.yaml" */
	/*
	 * One line: what of the kubelet's command line nrtd could not read; NULL = it was read whole. A setting that no source states has
	 * the kubelet's default only in the second case.
	 */
	char *gap;
};

void kubelet_files_release(struct kubelet_files *f);

/*
 * Find the kubelet of the system below sysroot. `ret` starts zeroed. 1; 0 if there is no kubelet at any place; -errno with the file's
 * name.
 *
 * If the system has several of these places, such as what another distribution left behind, then a service that runs counts before one
 * that is enabled, before any other service, before files alone; among equals the order is that of the table. A service counts
 * only if it starts a kubelet whose configuration file exists.
 */
int kubelet_places_read(const char *sysroot, struct kubelet_files *ret, struct err *err);

/* Append the name, then the services and absolute paths of the table's row `i`. False if there is no such row. */
bool kubelet_places_list(size_t i, struct strv *ret);
