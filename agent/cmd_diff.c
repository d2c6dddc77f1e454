/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"
int command_diff(const struct options *options)
{
	(void)options;
	return 0;
}
