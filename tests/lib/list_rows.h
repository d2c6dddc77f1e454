/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A few rows of `kubectl numa top`, for the tests of what is made of them. */
#include "agent/report/list_row.h"

#define TEST_LIST_ROWS 5

/* node-10 (8 NUMA nodes, devices), node-2 (2), edge-1 (none known), far (estimated, one node without CPUs), and one
 * whose name is not fit for a terminal. */
void test_list_rows(struct list_row rows[TEST_LIST_ROWS]);
void test_list_rows_release(struct list_row rows[TEST_LIST_ROWS]);

/* The cluster of the pictures: nodes of two sockets and eight NUMA nodes with pods on them, two of another kind, and one
 * that is estimated; what their kubelets admit is worked out. */
#define TEST_LIST_PICTURE 14
void test_list_picture(struct list_row rows[TEST_LIST_PICTURE]);
