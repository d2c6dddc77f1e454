/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the kubelet's command line: from the words of a process, from the environment files that units
 * splice into it, from the argument lists of distributions that run the kubelet within another process.
 */
#include <stddef.h>

#include "agent/node/observe/kubelet_config.h"

struct kubelet_args {
	struct kubelet_config flags;
	char *config, *config_dir,
		*root_dir; /* --config, --config-dir, --root-dir as written; NULL = not given */
};

void kubelet_args_release(struct kubelet_args *a);

/*
 * Add the flags among `words` ("--k=v", or "--k" and "v"); later flags beat earlier ones; flags without a
 * setting are skipped. `source` is where the words come from, for errors and origins: "kubelet (pid 7)". 0;
 * -EINVAL (a flag without its value, or malformed).
 */
int kubelet_args_add(struct kubelet_args *a, const char *const *words, size_t n_words, const char *source,
	struct err *err);

/* Add from an environment file as systemd reads it: the words of each KUBELET_* variable, in the file's
 * order. */
int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/*
 * Add from a file of arguments, where "#" begins a comment line. `variables` are the names and values of
 * what may appear in it as ${NAME} or $NAME: pairs, then NULL.
 */
int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err);

/*
 * Add the kubelet-arg of a k3s or RKE2 configuration (YAML): "kubelet-arg" replaces the arguments from
 * earlier files of the directory, "kubelet-arg+" adds to them. `a` must hold nothing but such arguments.
 */
int kubelet_args_add_k3s(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/*
 * Read the command line from where a distribution keeps it, for when no kubelet can be seen running: the
 * flag files of the first distribution whose files exist below sysroot. config, config_dir and root_dir are
 * those that the flags name, else the distribution's own; config and config_dir only where they exist.
 * `ret` starts at {0}. 1; 0 when there is no such distribution; -errno with the file's name.
 */
int kubelet_args_read_distribution(const char *sysroot, struct kubelet_args *ret, struct err *err);
