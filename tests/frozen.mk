# SPDX-License-Identifier: Apache-2.0
# ---- the programs answer as those of a base commit (tests/frozen)
.PHONY: frozen
##judges frozen: compare all answers with those of a base commit (FROZEN="-clusters 200 -seed 1")
frozen: $(PRODUCT) $(MACHINES)
	@B=$(B) tests/frozen/run.sh $(FROZEN)
