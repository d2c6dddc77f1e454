#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` prints (packaging/run.sh): one line while building, the object, and three lines for the next step. A stand-in for make
# prints what make does; the gate runs `make run` itself. B names the build folder.
# shellcheck disable=SC2317 # functions called by name
set -u
B=${B:-build}
. tests/lib/scenario.sh
unset V

# --- building: a stand-in for make that compiles three files, or fails at the second one
cat >"$dir/make" <<'END'
#!/bin/sh
case " $* " in
*" -n "*) for f in a b c; do printf "printf '  %%-7s %%s\\\\n' CC $f.o\ncc -c $f.c\n"; done ;;
*) for f in a b c; do
	echo "  CC      $f.o"
	[ $f != b ] || [ ! -e "${0%/*}/broken" ] || { echo "b.c:1: error: expected ';'" >&2; exit 2; }
done ;;
esac
END
chmod +x "$dir/make"
build() { packaging/run.sh build "$dir" "$dir/make" -j2 nrtd >"$dir/out" 2>"$dir/err"; }
check "it builds" build
check "with one line" test "$(cat "$dir/err")" = "building nrtd: 3 steps"
check "on standard error" test ! -s "$dir/out"
V=1 packaging/run.sh build "$dir" "$dir/make" -j2 nrtd >"$dir/out" 2>"$dir/err"
check "V=1: make's own lines" test "$(wc -l <"$dir/out")" -eq 3 -a ! -s "$dir/err"
touch "$dir/broken"
build
check "a failed build is a failure" test $? -eq 1
check "the compiler's message is shown" grep -qx "b.c:1: error: expected ';'" "$dir/err"
if command -v script >/dev/null; then
	rm "$dir/broken"
	script -qc "packaging/run.sh build '$dir' '$dir/make' -j2 nrtd" /dev/null 2>&1 </dev/null | tr '\r' '\n' >"$dir/out"
	check "on a terminal the line counts" grep -qx "building nrtd: 2 of 3 steps" "$dir/out"
fi

# --- the object and the three lines: on hardware alone, and with a kubelet's files
program() { # FLAG...: nrtd with these flags
	printf '#!/bin/sh\nexec %s "$@" %s\n' "$B/nrtd" "$*" >"$dir/nrtd"
	chmod +x "$dir/nrtd"
	packaging/run.sh show "$dir/nrtd" >"$dir/out" 2>"$dir/err"
}
line() { sed -n "s/^$1: *//p" "$dir/err"; }
example_node "$dir/node"
check "without a kubelet" program --sysroot "build/fixtures/machines/2s-snc4"
check "the object is on standard output" grep -qx 'kind: NodeResourceTopology' "$dir/out"
check "and nothing else" test "$(head -n 1 "$dir/out")" = 'apiVersion: topology.node.k8s.io/v1alpha2'
check "found: the machine" test "$(line found)" = \
	"2 sockets, 8 NUMA nodes, 48 cores, 96 CPUs online, 0 offline, distances known; amounts from the hardware alone: what containers hold is not known"
check "missing: every source" test "$(line missing)" = \
	"CPU state, memory state, device state, kubelet, reserved ('$dir/nrtd check' prints each with its remedy)"
check "next: what needs no kubelet" test "$(line 'try next')" = \
	"'$dir/nrtd show' draws this machine, 'make demo' shows a small simulated cluster"
check "these are the last three lines" test "$(tail -n 3 "$dir/err" | cut -d: -f1 | tr '\n' ' ')" = "found missing try next "
check "with a kubelet's files" program --sysroot "$dir/node"
check "found: where the amounts are from" test "$(line found | sed 's/.*; //')" = "amounts from the state files"
check "missing: only what is missing" test "$(line missing)" = "memory state, device state ('$dir/nrtd check' prints each with its remedy)"
printf '#!/bin/sh\nexit 1\n' >"$dir/nrtd"
packaging/run.sh show "$dir/nrtd" >"$dir/out" 2>"$dir/err"
check "without an object it fails" test $? -eq 1
exit $failed
