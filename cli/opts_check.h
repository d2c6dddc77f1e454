/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Checks the values of flags, for the tables of flags, and reads checked values.
 */
#include <stdint.h>

#include "cli/opts.h"

/* Each check returns 0, or -EINVAL with one line. */
int option_check_cpu_list(const char *value, struct err *err);
int option_check_weight(const char *value, struct err *err);
int option_check_burst(const char *value, struct err *err);
int option_check_seconds(const char *value, struct err *err);
int option_check_priority(const char *value, struct err *err);
int option_check_not_empty(const char *value, struct err *err);
int option_check_pod_resources(const char *value, struct err *err);
int option_check_folder(const char *value, struct err *err);
int option_check_duration(const char *value, struct err *err);
int option_check_timeout(const char *value, struct err *err);
int option_check_release(const char *value, struct err *err);
int option_check_bytes(const char *value, struct err *err);
int option_check_lease(const char *value, struct err *err); /* NAMESPACE/NAME or none */
int option_check_columns(const char *value, struct err *err);

/* ---- checked values */

/* Whether the flag has this value. */
bool option_is(const struct options *options, enum option_id id, const char *value);

/* The value of a duration flag in milliseconds; 0 = the flag has no value. */
uint64_t option_ms(const struct options *options, enum option_id id);

/* The value of --request-timeout in milliseconds. */
uint64_t option_timeout_ms(const struct options *options, enum option_id id);
