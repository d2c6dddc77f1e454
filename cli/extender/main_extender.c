/* SPDX-License-Identifier: Apache-2.0 */
/* The program nrtd-extender. */
#include "cli/opts.h"

int main(int argc, char **argv)
{
	return program_main(&program_extender, argc, argv);
}
