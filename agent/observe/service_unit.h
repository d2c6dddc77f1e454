/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads which command line systemd runs for a service: from the unit file, its drop-ins and its environment files, below a root
 * directory, without systemd itself.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/vec.h"

/* What the files below the sysroot say about a service. */
enum service_state {
	SERVICE_PRESENT, /* there is a unit file, or only drop-ins */
	SERVICE_ENABLED, /* another unit wants or requires it */
	SERVICE_RUNNING, /* systemd has started it */
	SERVICE_STATE_COUNT
};

/* The names of the system's services, "kubelet.service". A service may be in several lists. Present: it has a unit file or drop-ins. */
struct service_units {
	struct strv names[SERVICE_STATE_COUNT];
};

void service_units_release(struct service_units *units);

/* List the services below sysroot. Zeroed is the start. Directories that cannot be read are skipped, except for a transient reason:
 * -errno. */
int service_units_list(const char *sysroot, struct service_units *ret, struct err *err);

struct service_unit {
	struct strv
		words; /* the command line, the program first, with variables and specifiers replaced; none = unknown */
	struct strv variables; /* the service's environment, "NAME=value" */
	char *gap;             /* one line: what of the command line is unknown and why; NULL = nothing */
};

void service_unit_release(struct service_unit *unit);

/*
 * Read a service: 1; 0 if there is no such unit, or it is masked. A file that cannot be read or is not as systemd accepts it becomes the
 * gap, except for a transient reason: -errno. `ret` starts zeroed.
 */
int service_unit_read(const char *sysroot, const char *name, struct service_unit *ret, struct err *err);
