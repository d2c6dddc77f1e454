# SPDX-License-Identifier: Apache-2.0
# ---- programs that measure and draw (tests/bench, tests/pictures)
.PHONY: bench run-bench pictures
##judges bench: measure speed and memory, and print the goals beside the values
bench:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory run-bench
run-bench: all $(BENCH) $(MACHINES)
	@B=$(B) tests/bench/run.sh

##daily pictures: draw the pictures of doc/examples.md into man/pictures
pictures: $(PICTURES) $(MACHINES)
	$< man/pictures
