/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Checks of the values of flags, for the tables of flags. Each returns 0, or -EINVAL with one line.
 */
#include "common/err.h"

int option_check_cpu_list(const char *value, struct err *err);
int option_check_weight(const char *value, struct err *err);
int option_check_burst(const char *value, struct err *err);
int option_check_seconds(const char *value, struct err *err);
int option_check_priority(const char *value, struct err *err);
int option_check_not_empty(const char *value, struct err *err);
int option_check_pod_resources(const char *value, struct err *err);
int option_check_folder(const char *value, struct err *err);
int option_check_duration(const char *value, struct err *err);
int option_check_release(const char *value, struct err *err);
int option_check_bytes(const char *value, struct err *err);
int option_check_columns(const char *value, struct err *err);
