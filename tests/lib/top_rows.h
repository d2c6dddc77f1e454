/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A few rows of `kubectl numa top`, for the tests of what is made of them. */
#include "cli/report/top.h"

#define TEST_TOP_ROWS 5

/* node-10 (8 NUMA nodes, devices, reservations), node-2 (2, not ready), edge-1 (none known), far (estimated, one node without CPUs), and one
 * whose name is not fit for a terminal. */
void test_top_rows(struct top_row rows[TEST_TOP_ROWS]);
void test_top_rows_release(struct top_row rows[TEST_TOP_ROWS]);

/* The cluster of the pictures: nodes of two sockets and eight NUMA nodes with pods on them, two of another kind, and one
 * that is estimated; what their kubelets admit is worked out. */
#define TEST_TOP_PICTURE 14
void test_top_picture(struct top_row rows[TEST_TOP_PICTURE]);
