# SPDX-License-Identifier: Apache-2.0
# ---- the demo (tests/demo)
.PHONY: demo
##daily demo: show a small simulated cluster on this machine (CLUSTER=1: real control plane; Go, root)
demo:
	@packaging/install-deps.sh build
	@packaging/run.sh build $(B) $(MAKE) $(parallel) --no-print-directory $(PRODUCT)
	@B=$(B) tests/demo/$(if $(CLUSTER),cluster,demo).sh
