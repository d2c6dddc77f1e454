/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A kubelet setting's value as a person writes it. */
#include "common/settings.h"

/* The value of a known setting ("static", "0-1", "cpu=500m,memory=1Gi"), "" for an empty one; a new string
 * that the caller owns. */
char *settings_text(const struct settings *s, enum setting what);
