#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the coverage of `make coverage`: a table for scoring/, totals for the other folders. Fails if the tests do not reach every line of
# scoring/. The comment beside GCOVR_EXCL gives the reason for each excluded line; scoring/COVERAGE.md has the branches.
set -eu
objects=build/variant-cov
gcovr -r . --object-directory "$objects" --filter 'common/' --filter 'agent/' --filter 'cluster/' --filter 'cli/' --print-summary "$objects" | tail -n 3
gcovr -r . --object-directory "$objects" --filter 'scoring/' --fail-under-line 100 "$objects"
