/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sorts a node's state into the view that show_text.c and show_svg.c draw.
 */
#include "agent/report/show_view.h"
#include "common/err.h"
#include "common/node_state.h"

void show_view_init(struct show_view *v);
void show_view_release(struct show_view *v);

/*
 * The view of a node. It borrows names, distances and notes: `state` and `notes` must outlive it.
 *
 * A CPU is exclusive when an allocation has it, else reserved, else shared when the shared pool has it or the
 * CPU manager's policy is none; what remains is unknown. One pod is one holder, whatever its containers.
 */
void show_view(const struct node_state *state, const struct notes *notes, struct show_view *ret);
