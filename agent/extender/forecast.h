/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node as its kubelet will have it, of what its object shows and who is bound or promised to it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/extender/book.h"
#include "agent/extender/outlook.h"

/* Whether anything can be said of the node: its object has a state. The others below are for such nodes. */
bool forecast_possible(const struct book_node *node);

/*
 * The node with all pods that are bound or promised to it, and none that has ended. What the object shows in part is not
 * taken from it: the pod is placed again. *ret is the book's and valid until anything of the book changes or another
 * node is asked about. 0; -ETIME when the work limit is reached before; -ENOMEM.
 */
int forecast(struct book *b, const struct book_node *node, struct outlook **ret);

/* The same without some of the pods: gone[i] belongs to node->pods[i] and may be NULL. It has no arrivals. 0, -ETIME or -ENOMEM; to be
 * released in either case. */
int forecast_without(struct book *b, const struct book_node *node, const bool *gone, struct outlook *ret);

/* book_promise(); what the pod gets there is worked out now, before others end, whatever the work
 * limit. Of any node. 0 or -ENOMEM. */
int forecast_promise(
	struct book *b, const struct book_promise *promise, struct book_node *node, uint64_t now_ms);
