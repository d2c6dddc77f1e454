/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the kubelet's command line: from the words of a process, from the environment files of systemd units,
 * from the argument lists of distributions that run the kubelet within another process.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/node/observe/kubelet_config.h"

struct kubelet_args {
	struct kubelet_config flags;
	/* --config, --config-dir, --root-dir, --hostname-override as written; NULL = not given. */
	char *config, *config_dir, *root_dir, *hostname;
};

void kubelet_args_release(struct kubelet_args *a);

/*
 * Add the flags among `words` ("--k=v", or "--k" and "v"); later flags override earlier flags; flags without
 * a setting are skipped. `source` is where the words come from, for errors and origins: "kubelet (pid 7)". 0;
 * -EINVAL (a flag without its value, or malformed).
 */
int kubelet_args_add(struct kubelet_args *a, const char *const *words, size_t n_words, const char *source,
	struct err *err);

/*
 * Whether a kubelet with these words runs as a server: one of its flags is a configuration, a kubeconfig, a
 * manifest, a root directory, or a setting, and none of them only prints something (--version, --help).
 */
bool kubelet_args_start_server(const char *const *words, size_t n_words);

/* Add from an environment file as systemd reads it: the words of each KUBELET_* variable, in the file's
 * order. */
int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/*
 * Add from a file of arguments, where "#" begins a comment line. `variables` are pairs of a name and the
 * value that replaces ${NAME} or $NAME in the file; NULL ends the pairs.
 */
int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err);

/*
 * Add the kubelet-arg of a k3s or RKE2 configuration (YAML): "kubelet-arg" replaces the arguments from
 * earlier files of the directory, "kubelet-arg+" adds to them. "node-name" is what k3s passes to its kubelet as
 * --hostname-override. `a` must hold nothing but such arguments.
 */
int kubelet_args_add_k3s(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/*
 * Read the kubelet's flags where no running kubelet is visible: from the flag files of the first distribution
 * whose files exist below sysroot. config, config_dir and root_dir come from the flags, otherwise from the
 * distribution; config and config_dir are set only if the paths exist. `ret` starts at {0}. 1; 0 when there
 * is no such distribution; -errno with the file's name.
 */
int kubelet_args_read_distribution(const char *sysroot, struct kubelet_args *ret, struct err *err);
