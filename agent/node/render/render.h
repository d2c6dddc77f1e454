/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How the operator wants a node's state rendered.
 */
#include "agent/node/render/hints.h"
#include "agent/node/render/nrt.h"

struct render_config {
	struct nrt_config nrt;     /* the object */
	struct hints_config hints; /* the Node's annotations and labels */
	bool others_nrt;           /* the object is another exporter's to write */
	bool numatopology;         /* Volcano's object too */
};
