# SPDX-License-Identifier: Apache-2.0
# ---- programs that measure and draw (tests/bench, tests/pictures)
.PHONY: run-bench pictures
run-bench: all $(BENCH) $(MACHINES)
	@B=$(B) tests/bench/run.sh

pictures: $(PICTURES) $(MACHINES)
	$< man/pictures
