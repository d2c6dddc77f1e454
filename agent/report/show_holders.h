/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The part of the view that comes from the allocations and claims: which pod or claim holds what.
 */
#include "agent/report/show_view.h"
#include "common/claim.h"

/* holders[], sorted and with their keys. */
void show_holders_fill(struct show_view *v, const struct allocations *a, const struct claims *claims);
void show_holders_release(struct show_view *v);

/*
 * nodes[].devices, after holders[], resources[] and nodes[] are there. Devices that are near several NUMA
 * nodes or none are in the holder's text only.
 */
void show_devices_fill(struct show_view *v);

/* The key of a holder, or `nobody` for SHOW_NOBODY. */
char show_key(const struct show_view *v, int holder, char nobody);
