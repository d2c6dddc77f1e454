/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * show: an observation as a view; show_text.c and show_svg.c draw that.
 */
#include "agent/observe/observe.h"
#include "agent/show/show_view.h"

void show_view_init(struct show_view *v);
void show_view_release(struct show_view *v);

/*
 * The view of an observation, from which it borrows names, distances and notes: `o` must outlive it.
 *
 * A CPU is exclusive when an allocation has it, else reserved, else shared when the shared pool has it or the
 * CPU manager's policy is none; what remains is unknown. One pod is one holder, whatever its containers.
 */
void show_view(const struct observation *o, struct show_view *ret);
