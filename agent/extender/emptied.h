/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Nodes whose kubelet would refuse a pod also if no other pod were there: no eviction helps.
 */
#include "agent/extender/book.h"
#include "agent/extender/wire.h"

/* Nodes that are looked at for one question, fewer when the work limit is reached; of the others it is found out at the next
 * one. */
#define EMPTIED_MAX 256u

/*
 * Whether the node's kubelet refuses the shape whatever is evicted: it is larger than the node, no set of NUMA nodes ever
 * has what it asks for, or the node has no such resource. False where that is not certain: of an estimate, and where only
 * a later container of the pod is refused, which may be for where the earlier ones came to lie. 0 or -ENOMEM.
 */
int emptied_refuses(const struct book_node *node, const struct shape *shape, bool *ret);

/*
 * None of the n nodes takes the pod: of each whose kubelet refuses it, whether preemption may help there. A node is NULL
 * where nothing is known of it. What is found is kept with the shape's verdict. 0 or -ENOMEM.
 */
int emptied_mark(struct book *b, struct book_node *const *nodes, size_t n, struct shape *shape,
	struct wire_verdict *verdicts);
