/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The device manager's state file, device-plugins/kubelet_internal_checkpoint: which container holds which
 * devices, and which devices are registered. Source of the format:
 * pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go.
 */
#include <stddef.h>

#include "agent/state_file.h"
#include "common/allocation.h"
#include "common/err.h"
#include "common/machine.h"
#include "common/notes.h"

/* Bytes. Larger than the other files' cap: it holds a plugin's whole answer for every container with devices.
 */
#define STATE_DEVICES_FILE_MAX (8u * 1024u * 1024u)

/* The healthy devices of one resource. The file does not tell on which NUMA nodes they are. */
struct device_registration {
	char *resource;
	char **ids; /* sorted */
	size_t n_ids;
	size_t ids_size;
};

struct state_devices {
	/* items (with devices) and devices_known are filled. A container's devices of one resource are one
	 * block for each set of NUMA nodes, ids sorted; a device on several nodes is listed under each in the
	 * file. */
	struct allocations allocations;
	struct device_registration *registered; /* sorted by resource */
	size_t n_registered;
	size_t registered_size;
};

#define STATE_DEVICES_INIT \
	{                  \
		0          \
	}

void state_devices_release(struct state_devices *s);

/*
 * Parse the file's text. DeviceIDs may be a map from NUMA node ("-1" = no affinity) to ids, or, before
 * kubelet 1.20, a plain list of ids without affinity. The content is taken only if it is consistent: a device
 * is held by one pod, and NUMA nodes exist in `machine` (NULL = not checked). A wrong checksum is a note
 * then. 0; -EINVAL or -ERANGE with what is wrong and where; -EFBIG; -ENOMEM. *ret is untouched on failure.
 */
int state_devices_parse(const char *text, size_t len, const struct machine *machine,
	struct state_devices *ret, struct notes *notes, struct err *err);

/* The same for the file at root + path, errors and notes beginning with the path. -ENOENT, -EACCES, ... as
 * fs_read(). */
int state_devices_read(const char *root, const char *path, const struct machine *machine,
	struct state_devices *ret, struct notes *notes, struct err *err);

/*
 * The checksum of a parsed file, whose content was found well formed, and in `text` (unless NULL) what it is
 * taken over. 0; -EINVAL (the content is not what the kubelet writes), -ENOMEM, -EFBIG.
 */
int state_devices_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);
