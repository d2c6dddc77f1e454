/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node as its kubelet has it before the first pod: nothing is held, whatever the sources report.
 */
#include "common/err.h"
#include "common/node_state.h"

/*
 * Empty the node, whose machine and settings are known and which is not modelled yet. The shared pool is what the kubelet's
 * CPU manager starts with, the memory manager's state follows from the hardware and reservedMemory. Registered devices
 * stay, and nobody holds them; where they are not known they stay unknown. 0; -errno with one line (the node can then only be
 * released).
 */
int empty_node_make(struct node_state *node, struct err *err);
