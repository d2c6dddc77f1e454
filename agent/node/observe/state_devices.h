/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The device manager's state file, device-plugins/kubelet_internal_checkpoint: which container holds which
 * devices, and which devices are registered. Source of the format:
 * pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go.
 */
#include "agent/node/observe/state_file.h"

/* Bytes. Larger than the other files' cap: it holds a plugin's whole answer for every container with devices.
 */
#define STATE_DEVICES_FILE_MAX (8u * 1024u * 1024u)

/*
 * Of the allocations items (with devices) and devices_known are filled, and `registered`. A container's devices of
 * one resource are one block for each set of NUMA nodes, ids sorted; a device on several nodes is listed under
 * each in the file. DeviceIDs may be a map from NUMA node ("-1" = no affinity) to ids, or, before kubelet 1.20, a
 * plain list of ids without affinity. The content is taken only if it is consistent: a device is held by one pod.
 * A NUMA node that `machine` does not have is a note, and so is a wrong checksum.
 */
extern const struct state_kind state_devices;

/*
 * The checksum of a parsed file, whose content was found well formed, and in `text` (unless NULL) what it is
 * taken over. 0; -EINVAL (the content is not what the kubelet writes), -EFBIG.
 */
int state_devices_checksum(const struct state_file *file, struct strbuf *text, struct checksum_match *ret);
