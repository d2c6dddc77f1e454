/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * pod_input: the pod that a command is asked about, from -f FILE or from flags.
 */
#include "agent/cli/opts.h"
#include "agent/cluster/pod_parse.h"

/* The file may have this many bytes, and hold this many objects. */
#define POD_INPUT_MAX_BYTES   (1024u * 1024u)
#define POD_INPUT_MAX_OBJECTS 1000u

/* A pod is asked about: by a file, or by one of the flags that make up a request. */
bool pod_input_given(const struct options *options);

/*
 * With --filename: every pod template of the file, in its order. The file is YAML or JSON, may hold several
 * documents and Lists of objects; objects without a pod template are passed over as long as some other has
 * one. Without it: one pod named "request" with one container, which has what --cpus, --memory,
 * --hugepages-*, --device and --resource say as requests and limits and is taken to be Guaranteed, also where
 * it asks for CPUs or memory alone.
 *
 * 0 (at least one template); -EINVAL, -ENOENT and others of open(2), -EFBIG, -ERANGE with one line that names
 * the file or flag. `ret` (zeroed) is untouched on failure.
 */
int pod_input_read(const struct options *options, struct pod_templates *ret, struct err *err);

/*
 * The template that --pod names, else the only one: an answer about one of several could be taken for an answer about all.
 * -EINVAL with one line where there is none of that name, or more than one. *ret belongs to `templates`.
 */
int pod_input_pick(const struct options *options, const struct pod_templates *templates,
	const struct pod_template **ret, struct err *err);
