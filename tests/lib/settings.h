/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Kubelet settings as text, for tests. */
#include "common/settings.h"
#include "common/strbuf.h"

/* "cpuManagerPolicy=static [FROM]\n" for each setting that is known. */
void test_settings_text(const struct settings *s, struct strbuf *out);

/* The line of one setting without its end, "" when it is unknown. The caller frees it. */
char *test_setting_line(const struct settings *s, enum setting what);
