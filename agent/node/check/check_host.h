/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What would stop nrtd on this host, for `nrtd check`: the machine, the kubelet's files, socket and settings.
 */
#include "agent/kube/credentials.h"
#include "agent/node/check/check_report.h"
#include "agent/node/observe/observe.h"
#include "agent/node/render/render.h"
#include "agent/state/node_derive.h"

struct check_config {
	struct observe_config observe;
	struct derive_config model;
	struct nrt_config nrt;
	bool others_nrt, numatopology; /* as in struct render_config */
	struct credentials_options credentials;
};

/* An item for each. *ret_nrt becomes the object that would be published; it stays null when there is none. */
void check_host(const struct check_config *config, struct check_report *report, struct doc *ret_nrt);
