/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/output.h"

#include <errno.h>
#include <stdio.h>

int output_write(const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
