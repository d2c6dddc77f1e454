/* SPDX-License-Identifier: Apache-2.0 */
/* The program kubectl-numa. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return command_main(&program_numa, argc, argv);
}
