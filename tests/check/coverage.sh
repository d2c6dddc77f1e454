#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of `make coverage` reached: a table for the scoring core, totals for the rest. The scoring core must be
# reached whole; scoring/COVERAGE.md gives the reason for each branch that is not.
set -eu
objects=build/variant-cov
gcovr -r . --object-directory "$objects" --filter 'common/' --filter 'agent/' --print-summary "$objects" | tail -n 3
gcovr -r . --object-directory "$objects" --filter 'scoring/' --fail-under-line 100 "$objects"
