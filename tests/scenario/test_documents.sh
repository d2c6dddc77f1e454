#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the documents show is what nrtd prints: README's excerpt, the examples, the names in nrtd-object(7), the variables in
# packaging/nrtd.default. README's commands are the guide's, HACKING names files that exist, the chart's values have the
# flags' defaults, its README is made of its values, and links lead somewhere. B names the build folder.
set -u
export LC_ALL=C
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
same() { # NAME GOT WANT
	if diff -u "$3" "$2" >"$dir/diff" 2>&1; then ok "$1"; else not_ok "$1" "$dir/diff"; fi
}
none() { # NAME FILE: the file is empty
	if [ -s "$2" ]; then not_ok "$1" "$2"; else ok "$1"; fi
}

# The node of the examples: 32 CPUs on two NUMA nodes, CPU 0 reserved, two containers of nine CPUs.
node=$dir/node
example_node "$node"

# --- README
sed 1,80d README.md >"$dir/out"
none "README has 80 lines at most" "$dir/out"
sed -n '/^## Install/,/^## Where/s/^    //p' README.md >"$dir/commands"
[ "$(wc -l <"$dir/commands")" -eq 9 ] || not_ok "README installs the packages, and the DaemonSet in two ways" "$dir/commands"
while read -r command; do
	if grep -qF -- "    $command" doc/install.md; then ok "the guide has: $command"; else not_ok "the guide has: $command"; fi
done <"$dir/commands"
"$nrtd" dump --sysroot "$node" --node-name worker-1 >"$dir/object" 2>/dev/null
awk '/^```yaml/ {on = 1; next} /^```/ {on = 0} on && !/^ *\.\.\.$/' doc/examples.md >"$dir/excerpt"
awk 'NR == FNR {want[++n] = $0; next} $0 == want[at + 1] {at++} END {for (i = at + 1; i <= n; i++) print want[i]}' \
	"$dir/excerpt" "$dir/object" >"$dir/out"
none "the excerpt of doc/examples.md is in the object, line by line" "$dir/out"
[ -s "$dir/excerpt" ] || not_ok "doc/examples.md has an excerpt"

# --- the examples that have an output, to its end or to "..."
awk -v dir="$dir" '
	/^    \$ / {n++; print substr($0, 7) >(dir "/example." n); blank = 0; want = dir "/want." n; next}
	want && /^    / {while (blank > 0) {print "" >want; blank--}; print substr($0, 5) >want; next}
	want && /^$/ {blank++; next}
	{want = ""; blank = 0}' doc/examples.md
examples=0
for example in "$dir"/example.*; do
	want=$dir/want.${example##*.}
	[ -s "$want" ] || continue
	read -r command <"$example"
	case $command in *"\\") continue ;; esac
	examples=$((examples + 1))
	# shellcheck disable=SC2086 # words
	case $command in
	build/kubectl-numa\ *) "$numa" ${command#* } >"$dir/all" 2>"$dir/err" ;;
	build/nrtd\ *) "$nrtd" ${command#* } >"$dir/all" 2>"$dir/err" ;;
	*) "$nrtd" ${command#* } --sysroot "$node" >"$dir/all" 2>"$dir/err" ;;
	esac
	if [ "$(tail -n 1 "$want")" = ... ]; then
		sed -i '$d' "$want"
		head -n "$(wc -l <"$want")" "$dir/all" >"$dir/out"
	else
		cp "$dir/all" "$dir/out"
	fi
	same "example: $command" "$dir/out" "$want"
done
[ $examples -ge 3 ] || not_ok "doc/examples.md has examples"

# --- the pods of doc/pods.md, each with the verdict that follows it
awk -v dir="$dir" '
	/^```yaml/ {n++; pod = 1; next}
	/^```/ {pod = 0; next}
	pod {print >(dir "/pod." n ".yaml"); next}
	/^    / {print substr($0, 5) >(dir "/verdict." n)}' doc/pods.md
for pod in "$dir"/pod.*.yaml; do
	number=${pod#*/pod.}
	"$nrtd" fit -f "$pod" --sysroot "$node" 2>"$dir/err" | sed '/^$/,$d' >"$dir/out"
	same "doc/pods.md: pod ${number%.yaml}" "$dir/out" "$dir/verdict.${number%.yaml}"
done
[ -e "$dir/pod.5.yaml" ] || not_ok "doc/pods.md has five pods"

# --- nrtd-object(7) names whatever is printed
page=man/nrtd-object.7
"$nrtd" dump --sysroot "$node" --topology-manager-policy-options max-allowable-numa-nodes=12 \
	--cpu-manager-policy-options full-pcpus-only=true >"$dir/object" 2>"$dir/err"
sed -nE 's/^(  )?(- |  - )\{name: ([A-Za-z./-]+), value.*/\3/p' "$dir/object" | grep -v '^node-' | sort -u >"$dir/names"
[ "$(wc -l <"$dir/names")" -ge 8 ] || not_ok "the object has attributes" "$dir/object"
"$nrtd" dump --what hints --labels --shape small=cpu=4,memory=8Gi --sysroot "$node" --node-name worker-1 >"$dir/hints" 2>"$dir/err"
grep -oE '"[A-Za-z]+":' "$dir/hints" | tr -d '":' | sort -u >>"$dir/names"
sed -nE 's/^  (nrtd\.dev\/[a-z-]+).*/\1/p' "$dir/hints" | sort -u >>"$dir/names"
while read -r name; do
	[ "$name" = small ] || grep -qF -- "$name" $page || echo "$name"
done <"$dir/names" >"$dir/out"
none "nrtd-object(7) has every name" "$dir/out"
tr -d ' \n' <"$dir/hints" | sed 's/"hugepages[^"]*",//g; s/,4294967296,2147483648,/,/g; s/,8589934592,4294967296,/,/' >"$dir/got"
sed -n '/^annotations:/,/^\.Ed/p' $page | grep -v '^\.Ed' | tr -d ' \n' >"$dir/want"
same "nrtd-object(7) has the hints of its example" "$dir/got" "$dir/want"

# --- HACKING names files that exist: words in backquotes with a folder and a suffix, without patterns
# shellcheck disable=SC2016 # backquotes of Markdown
grep -o '`[^`]*`' HACKING.md | tr -d '`' | grep -xE '[a-z]+/[A-Za-z0-9_/.-]+\.(c|h|sh|md)' | sort -u >"$dir/want"
[ "$(wc -l <"$dir/want")" -ge 20 ] || not_ok "HACKING names files" "$dir/want"
while read -r file; do
	[ -e "$file" ] || echo "$file"
done <"$dir/want" >"$dir/out"
none "HACKING names files that exist" "$dir/out"

# --- /etc/default/nrtd has the variable of each flag of nrtd run, with its default, and no other
"$nrtd" run --help >"$dir/help"
sed -nE 's/.*\{(NRTD_[A-Z0-9_]+)\}$/\1/p' "$dir/help" | sort >"$dir/want"
[ "$(wc -l <"$dir/want")" -ge 40 ] || not_ok "nrtd run has variables" "$dir/help"
sed -nE 's/^#?(NRTD_[A-Z0-9_]+)=.*/\1/p' packaging/nrtd.default | sort -u >"$dir/got"
same "/etc/default/nrtd has every variable" "$dir/got" "$dir/want"
sed -nE 's/.*\(default ([^)]+)\) \{(NRTD_[A-Z0-9_]+)\}$/#\2=\1/p' "$dir/help" >"$dir/defaults"
grep -vxF -f packaging/nrtd.default "$dir/defaults" >"$dir/out"
none "and every default" "$dir/out"

# --- the chart's values have the defaults of the flags that they set
defaults() { # of "--flag TEXT (default X)", also over several lines: "--flag X"
	"$@" --help | awk 'match($0, /^ +(-[a-z], )?--[a-z-]+/) {flag = substr($0, 1, RLENGTH); sub(/.*--/, "--", flag)}
		match($0, /\(default [^:)]+\)/) {print flag, substr($0, RSTART + 9, RLENGTH - 10)}'
}
{
	defaults "$nrtd" run
	defaults "${nrtd%/*}/nrtd-extender"
} | sort >"$dir/defaults"
values=packaging/helm/nrtd/values.yaml
# "with" passes the flag only if the value is not "", and "if ne" only if it is not the default.
awk '/\{- with [.$][A-Za-z.]+ }/ {sub(/.*\./, "", $3); key = $3; next}
	/\{- if ne [.]Values[.][A-Za-z]+ "/ {sub(/.*\./, "", $4); key = $4; next}
	key && /^ +- --[a-z-]+=/ {flag = $2; sub(/=.*/, "", flag); print flag, key}
	{key = ""}' packaging/helm/nrtd/templates/daemonset.yaml packaging/helm/nrtd/templates/extender.yaml |
	sort | join - "$dir/defaults" >"$dir/pairs"
[ "$(wc -l <"$dir/pairs")" -ge 16 ] || not_ok "flags have values in the chart" "$dir/pairs"
while read -r flag key default; do
	line=$(grep -E "^ *$key:" $values)
	case "$line " in
	*": \"\" #"*"\"\" is $default"[\ ,\;]*) ;;
	*": $default #"* | *": \"$default\" #"*) ;;
	*) echo "$flag: $key is not $default: $line" ;;
	esac
done <"$dir/pairs" >"$dir/out"
none "the chart's values have the defaults of their flags" "$dir/out"

# --- the chart's README is made of its values
packaging/helm/readme.sh >"$dir/got" 2>"$dir/err" || not_ok "every value of the chart is explained" "$dir/err"
same "the chart's README is what packaging/helm/readme.sh makes" packaging/helm/nrtd/README.md "$dir/got"

# --- links between files
for file in *.md doc/*.md doc/*/*.md; do
	grep -oE '\]\([^)]+\)' "$file" | sed -E 's/^\]\(//; s/\)$//' | grep -v '^http' | while read -r link; do
		target=$(dirname "$file")/${link%%#*}
		[ -e "$target" ] || echo "$file: no $target"
		case $link in
		*.md\#*) sed -nE 's/^##+ //p' "$target" | tr 'A-Z ' 'a-z-' | tr -d ",.'" | grep -qxF "${link#*#}" || echo "$file: no $link" ;;
		esac
	done
done >"$dir/out"
none "links lead somewhere" "$dir/out"
exit $failed
