/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the arguments that k3s and RKE2 give their kubelet: from their configuration files and the command line of their service, as k3s
 * combines them (k3s: pkg/configfilearg/parser.go, pkg/daemons/agent/agent_linux.go, pkg/util/args.go).
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/observe/kubelet_args.h"
#include "agent/observe/service_unit.h"
#include "common/vec.h"

/* The options of k3s that decide about its kubelet; later sources replace earlier ones. Zeroed is empty. */
struct k3s_options {
	struct strv kubelet_args; /* "key=value", as kubelet-arg has them */
	struct strv sources;      /* of each of these */
	char *node_name, *data_dir;
	char *node_name_from; /* "node-name of /etc/rancher/k3s/config.yaml" */
	bool with_node_id;    /* k3s appends an id of its own to the name */
	bool disable_agent;   /* this server runs no kubelet */
};

void k3s_options_release(struct k3s_options *o);

/*
 * Add a configuration file (YAML): "kubelet-arg" replaces the arguments of earlier files, "kubelet-arg+" adds to them. `source` is for
 * errors and origins. 0 or -EINVAL.
 */
int k3s_options_add_file(
	struct k3s_options *o, const char *text, size_t len, const char *source, struct err *err);

/* Add the kubelet's arguments to `ret`. "node-name" is what k3s passes as --hostname-override. 0 or -EINVAL. */
int k3s_options_apply(const struct k3s_options *o, struct kubelet_args *ret, struct err *err);

/*
 * Read k3s ("k3s") or RKE2 ("rke2") below sysroot. `unit` is its service, named `unit_name`, or NULL if there is none. 1: `ret`, which
 * starts zeroed, has the kubelet's arguments, and *gap is what could not be read (NULL = nothing); 0: this service runs no kubelet;
 * -errno with the file's name.
 */
int kubelet_k3s_read(const char *sysroot, const char *program, const struct service_unit *unit,
	const char *unit_name, struct kubelet_args *ret, char **gap, struct err *err);
