/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Compares nodes: the kubelets' settings of many nodes, or all that is published of two nodes.
 */
#include "cli/report/writer.h"
#include "cluster/objects/cluster_node.h"
#include "scoring/node/node_facts.h"

/* Adds the kubelet's settings of a node, the same settings in the same order for every node. Reads node->object. */
void node_comparison_add_settings(struct node_facts *f, const struct cluster_node *node);

/* Adds the node's sockets, cores, CPUs, NUMA nodes, distances, capacities and PCI devices; and its free amounts and the number of its pods
 * that hold something. */
void node_comparison_add_rest(struct node_facts *f, const struct cluster_node *node);

/* ---- the settings of many nodes */

/*
 * Writes a table with a row per setting and value: how many nodes have the value, and unless all have it, which. `only_different`
 * omits settings that all nodes share. {"nodes": number, "different": number, "settings": [{"name", "values": [{"value", "nodes":
 * [names]}]}]}, the most frequent value first. Returns the number of settings in which nodes differ.
 */
size_t node_comparison_write_settings(
	struct writer *w, const struct node_facts *nodes, size_t n, bool only_different);

/* ---- two nodes */

/*
 * Compares the sections of facts but those of `ignored`, a set of bits. Writes a table of the facts that differ, or with WRITER_WIDE of all facts; without PCI devices unless those of both nodes are known.
 * {"nodes": [names], "different": number, "facts": [{"section", "name", "values": [text or null], "equal"}]}. Returns the number
 * of facts that differ.
 */
size_t node_comparison_write_diff(struct writer *w, const struct node_facts nodes[2], unsigned ignored);
