/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the pod of a command from -f FILE, or makes a pod from flags such as --cpus.
 */
#include "cli/opts.h"
#include "cluster/objects/pod_parse.h"

/* Maximum size of all files and number of their objects. */
#define POD_INPUT_MAX_BYTES   (1024u * 1024u)
#define POD_INPUT_MAX_OBJECTS 1000u

/* Whether the command line has a pod: a file, or a flag of a request. */
bool pod_input_given(const struct options *options);

/*
 * With --filename: all pod templates of the files, in order. The files are YAML or JSON, with one or more documents or Lists.
 * Objects without a pod template are skipped if another object has one. Without --filename: a pod named "request" with one
 * container, whose requests and limits are those of --cpus, --memory, --hugepages-*, --device and --resource. The pod
 * counts as Guaranteed, even if it requests only CPUs or only memory.
 *
 * 0 (at least one template); -EINVAL, errors of open(2) such as -ENOENT, -EFBIG, -ERANGE, with one line that names the file
 * or the flag. `ret` must be zeroed and is untouched on failure.
 */
int pod_input_read(const struct options *options, struct pod_templates *ret, struct err *err);

/*
 * Picks the template that --pod names, or else the only one. -EINVAL with one line: no template has the name, several have
 * it, or --pod is missing. *ret belongs to `templates`.
 */
int pod_input_pick(const struct options *options, const struct pod_templates *templates,
	const struct pod_template **ret, struct err *err);
