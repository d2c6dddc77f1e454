#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh [--check] [VERSION...]: write the tables of agent/observe/release_names.c: the feature gates, the gates that these need, and the configuration
# fields of the kubelets of these Kubernetes versions, oldest first. Prints what changed. With --check it only compares the tables with the
# versions that the tables name. Exit status 77, after a line that begins with "skipped:", when this machine has no Go or cannot get
# the modules.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)
table=$root/agent/observe/release_names.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check=
[ "${1:-}" != --check ] || {
	check=1
	shift
}
# shellcheck disable=SC2046 # a list of versions
[ $# -gt 0 ] || set -- $(sed -n 's/^ \* Kubernetes \(1\..*\)\.$/\1/p' "$table")
command -v go >/dev/null 2>&1 || {
	echo "skipped: the names of kubelets need Go, and this machine has no Go"
	exit 77
}

# build VERSION: the program kubeletnames with the code of this version, by a go.mod file of its own
build() {
	# Go prints this also for a version that needs a newer Go.
	answer=$(go mod download -json "k8s.io/kubernetes@v$1" 2>&1) || true
	source=$(printf '%s\n' "$answer" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	[ -n "$source" ] || {
		echo "skipped: Kubernetes $1 cannot be fetched here: $(printf '%s\n' "$answer" | sed -n 's/.*"Error": //p' | tail -n 1)"
		exit 77
	}
	mod=$work/$1.mod
	cat >"$mod" <<-END
		module nrtd.dev/tests/upstream

		go $(printf '1.26.0\n%s\n' "$(sed -n 's/^go //p' "$source")" | sort -V | tail -n 1)

		require k8s.io/kubernetes v$1
	END
	./pin_staging.sh "$1" "$mod"
	minor=${1#1.}
	tags=
	[ "${minor%%.*}" -gt 37 ] || tags=until_1.37
	GOTOOLCHAIN=$(./toolchain.sh "$mod") GOFLAGS="-mod=mod -modfile=$mod" \
		nice -n 19 go build -buildvcs=false -tags="$tags" -o "$work/$1" ./cmd/kubeletnames
}

column=0
for version; do
	column=$((column + 1))
	build "$version"
	"$work/$version" >"$work/printed"
	sed "s/^/$column /" "$work/printed" >>"$work/names"
done
awk -v names="$work/names" -v versions="$*" -v columns=$# '
	function rows(kind,    name, row, i) {
		for (name in all) {
			if (index(name, kind " ") != 1)
				continue
			row = "\t{\"" substr(name, length(kind) + 2) "\", \""
			for (i = 1; i <= columns; i++)
				row = row ((name, i) in maturity ? maturity[name, i] : "-")
			print row "\"}," | sorted
		}
		close(sorted)
	}
	BEGIN {
		sorted = "sort | sed -E \"/^.{104}/s/, \\\"/,\\n\\t\\t\\\"/\"" # long lines are broken as clang-format does
		while ((getline line < names) > 0) {
			split(line, part, " ")
			all[part[2] " " part[3]]
			maturity[part[2] " " part[3], part[1]] = part[4]
		}
	}
	/^ \* Kubernetes 1\..*\.$/ {$0 = " * Kubernetes " versions "."}
	/^};/ {inside = 0}
	!inside {print; fflush()}
	/ (gate|need|field)_table\[\]/ {inside = 1; rows(/ gate_/ ? "gate" : / need_/ ? "need" : "field")}
' "$table" >"$work/table"
if cmp -s "$work/table" "$table"; then
	exit 0
fi
diff "$table" "$work/table" || true
[ -z "$check" ] || exit 1
cat "$work/table" >"$table"
