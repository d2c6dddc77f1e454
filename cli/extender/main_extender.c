/* SPDX-License-Identifier: Apache-2.0 */
/* The program nrtd-extender. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return command_main(&program_extender, argc, argv);
}
