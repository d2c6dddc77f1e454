#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh: the chart's README, to stdout, made of the comments in its values.yaml. A value is described by the comment
# beside it or the lines of comment above it, else by those of the group that it is in. Exit status 1 where none says
# anything. `packaging/helm/readme.sh >packaging/helm/nrtd/README.md` writes it again.
set -eu
cd "$(dirname "$0")/nrtd"
cat <<'END'
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- packaging/helm/readme.sh makes this of values.yaml. -->
# The Helm chart of nrtd

A DaemonSet that keeps each node's NodeResourceTopology object up to date, and on request the extender for kube-scheduler. It needs
Kubernetes 1.30 or newer. The image is pulled from `image.repository`.

    helm install nrtd packaging/helm/nrtd -n nrtd --create-namespace     # --set crd.create=true where the definition is missing

The namespace must be allowed to run privileged pods where the cluster enforces Pod Security levels: the pod reads folders of the
host. `make chart` packs the chart into build/chart, and `helm push` brings that to a registry:

    helm push build/chart/nrtd-0.1.0.tgz oci://registry.example.com/charts

A value that the chart does not know is refused: values.schema.json names all of them.

| value | default | |
|---|---|---|
END
awk '
	function cell(text) { gsub(/\|/, "\\|", text); return text }
	/^$/ {above = ""; next}
	/^ *#/ {
		line = $0
		sub(/^ *# ?/, "", line)
		above = above (above == "" ? "" : " ") line
		next
	}
	{
		match($0, /^ */)
		depth = RLENGTH / 2
		rest = substr($0, RLENGTH + 1)
		key = rest
		sub(/:.*/, "", key)
		sub(/^[^:]*: */, "", rest)
		if (rest ~ /:$/) rest = ""
		beside = ""
		if (match(rest, /(^| +)# /)) {
			beside = substr(rest, RSTART + RLENGTH)
			rest = substr(rest, 1, RSTART - 1)
		}
		path[depth] = key
		said[depth] = beside == "" ? above : above == "" ? beside : above " " beside
		above = ""
		name = path[0]
		group = said[0]
		for (i = 1; i <= depth; i++) {
			name = name "." path[i]
			if (i < depth && said[i] != "") group = said[i]
		}
		if (rest == "" && said[depth] == "") next
		if (rest != "" && said[depth] == "" && (depth == 0 || group == "")) {
			print "values.yaml: nothing says what " name " is" >"/dev/stderr"
			bad = 1
		}
		print "| `" name "` | " (rest == "" ? "" : "`" cell(rest) "`") " | " cell(said[depth]) " |"
	}
	END {exit bad}' values.yaml
