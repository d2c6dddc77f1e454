/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's command line: from its words, from the environment files that units splice into it, from the
 * argument lists of distributions that run it within another process.
 */
#include <stddef.h>

#include "agent/node/observe/settings_raw.h"

struct kubelet_args {
	struct settings_raw flags;
	char *config, *config_dir,
		*root_dir; /* --config, --config-dir, --root-dir as written; NULL = not given */
};

void kubelet_args_release(struct kubelet_args *a);

/*
 * Add the flags among `words` ("--k=v", or "--k" and "v"), later ones beating earlier ones; flags that no
 * setting is for are skipped. `source` says whose they are, for errors and origins: "kubelet (pid 7)". 0;
 * -EINVAL (a flag without its value, or malformed).
 */
int kubelet_args_add(struct kubelet_args *a, const char *const *words, size_t n_words, const char *source,
	struct err *err);

/* An environment file as systemd reads it: the words of each KUBELET_* variable, in the file's order. */
int kubelet_args_add_env(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);

/* A file of arguments, "#" begins a comment line. `variables` are the names and values of what may be in
 * it as
 * ${NAME} or $NAME: pairs, then NULL. */
int kubelet_args_add_file(struct kubelet_args *a, const char *text, size_t len, const char *const *variables,
	const char *source, struct err *err);

/*
 * The kubelet-arg of a k3s or RKE2 configuration (YAML): "kubelet-arg" replaces what earlier files of the
 * directory said, "kubelet-arg+" adds to it. `a` must hold nothing but such arguments.
 */
int kubelet_args_add_k3s(
	struct kubelet_args *a, const char *text, size_t len, const char *source, struct err *err);
