#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make vm-test: nrtd inside virtual machines whose NUMA layout is known because this script chose it: Debian's cloud kernel
# in QEMU, in software, with an initramfs of nrtd and busybox. What nrtd tells is compared with QEMU's arguments. The table
# of cases is at the end; README.md says how to add one. Names given as arguments choose among the cases.
# VM_KERNEL names another kernel. Without QEMU, a kernel, or a way to get them it says "skipped:" and ends with 0.
# The last line is "N passed, N failed".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
cache=build/vm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
chosen=" $* "
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/vm/kernel.sh
. tests/vm/kernel.sh

# make_root: the guest's files without the case's steps
make_root() {
	mkdir -p "$work"/root/{bin,dev,proc,sys,tmp,etc} && cp "$B/nrtd" "$(command -v busybox)" "$work/root/bin/" &&
		cp tests/vm/init "$work/root/init" && with_libraries "$work/root" "$B/nrtd" "$(command -v busybox)"
}

# boot QEMU-ARGUMENT...: run the guest; what it told is in $work/told. On a busy machine a CPU of QEMU's may hang while the kernel
# boots: a guest that did not reach its process 1, where nrtd's part begins, is started once more.
boot() {
	(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd" || return 1
	boot_once "$@" && return
	[ ! -s "$work/told" ] && echo "the kernel did not boot, once more: $(tail -n 1 "$work/console")" && boot_once "$@"
}

# boot_once QEMU-ARGUMENT...: one second serial line for what the guest tells, a third for the monitor, which QEMU itself connects.
boot_once() {
	rm -f "$work/told" "$work/monitor"
	timeout 100 qemu-system-x86_64 -accel tcg -M q35 -nodefaults -no-user-config -no-reboot -display none \
		-serial "file:$work/console" -serial "file:$work/told" \
		-chardev "socket,id=monitor,path=$work/monitor,server=on,wait=off" -mon chardev=monitor,mode=readline \
		-chardev "socket,id=guest,path=$work/monitor" -serial chardev:guest \
		-kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 cryptomgr.notests rdinit=/init" "$@" \
		>"$work/qemu" 2>&1
}

# get_numactl: numactl and numastat into the guest, of Debian's package, downloaded once and not installed
get_numactl() {
	[ -n "$(find "$cache" -name 'numactl_*.deb' 2>/dev/null)" ] ||
		(mkdir -p "$cache" && cd "$cache" && apt-get download numactl >/dev/null 2>&1) || return 1
	dpkg -x "$cache"/numactl_*.deb "$work/numactl" && cp "$work"/numactl/usr/bin/numa{ctl,stat} "$work/root/bin/"
}

# told STAGE SECTION: what a section of the guest's output says
told() { tr -d '\r' <"$work/told" | sed -n "/^== $1 $2\$/,/^== /p" | grep -v '^== '; }

# machine_facts: a machine document as lines in the words of the table
machine_facts() {
	tr -d ' \n' | sed -E 's/^.*"offlineCPUs":"([^"]*)","sockets":\[(.*)\],("memoryBytes":[0-9]+,)?"numaNodes":\[(.*)\],"distances":\[\[([^"]*)\]\],"pciDevices":.*$/offline \1\n\2\n\4\nrow \5/
		s/\},\{"id"/}\n{"id"/g; s/\],\[/\nrow /g' |
		sed -E 's/^\{"id":([0-9]+),"cpus":"([^"]*)"\}$/socket \1 \2/
			s/^\{"id":([0-9]+),"socket":[0-9a-z]+,"cpus":"([^"]*)","memoryBytes":([0-9]+).*/node \1 \2 \3/
			/^row/s/,/ /g; s/ $//; s/  / - /'
}

# zone_facts: a NodeResourceTopology as lines: "zone ID CPUS NUMBER-OF-CPUS BYTES ID=DISTANCE...", "-" for what it has not
zone_facts() {
	tr -d ' \n' | sed 's/{"name":"[a-z]*-[0-9]*","type"/\n&/g' | awk '
		function first(pattern, before, after) {
			return match($0, pattern) ? substr($0, RSTART + before, RLENGTH - before - after) : "-"
		}
		/^\{"name":"node-[0-9]+","type":"Node"/ {
			costs = first("\"costs\":\\[[^]]*\\]", 9, 1)
			gsub(/\{"name":"node-|"\}/, "", costs)
			gsub(/","value":/, "=", costs)
			gsub(/\},?/, " ", costs)
			sub(/ $/, "", costs)
			print "zone", first("node-[0-9]+", 5, 0), first("\"cpus\",\"value\":\"[^\"]*\"", 16, 1),
				first("\"cpu\",\"capacity\":\"[0-9]+\"", 18, 1), first("\"memory\",\"capacity\":\"[0-9]+\"", 21, 1), costs
		}'
}

# judge STAGE: compare what nrtd told at a stage with the expectation in $work/expect (lines of the table) and print
# what differs. Memory is what the kernel says to the byte, and at least 3/4 of what the machine was given: the kernel keeps
# its own text, the page structures and the initramfs. Costs name only nodes that are there.
judge() {
	local stage=$1 section
	for section in machine nrt check; do
		tr -d '\r' <"$work/told" | sed -n "/^== $stage $section\$/,/^== $stage exit/p" | grep -q '^== .* exit 0$' ||
			echo "nrtd $section (stage $stage) did not end with 0: $(told "$stage" errors; told "$stage" check | grep -v '^ok')"
	done
	told "$stage" check | grep -q '^ok    libnuma  *agrees' || echo "nrtd check: $(told "$stage" check | grep libnuma)"
	told "$stage" machine | machine_facts >"$work/facts"
	told "$stage" nrt | zone_facts >"$work/zones"
	told "$stage" total >"$work/total"
	awk '
		function count(list, parts, ends, i, n, total) {
			n = list == "-" ? 0 : split(list, parts, ",")
			for (i = 1; i <= n; i++)
				total += split(parts[i], ends, "-") == 2 ? ends[2] - ends[1] + 1 : 1
			return total + 0
		}
		function costs(values, parts, i, n, text) {
			n = split(values, parts, " ")
			for (i = 1; i <= n; i++)
				text = text " " ids[i - 1] "=" parts[i]
			return text
		}
		function same(what, want, got) { if (want != got) print what ": \"" got "\" instead of \"" want "\"" }
		FILENAME ~ /expect$/ && $1 == "node" { cpus[$2] = $3; given[$2] = $4 * 1048576; ids[n_ids++] = $2 }
		FILENAME ~ /expect$/ && $1 == "row" { $1 = ""; row[n_rows++] = $0 }
		FILENAME ~ /expect$/ && $1 == "socket" { sockets = sockets " " $2 ":" $3 }
		FILENAME ~ /expect$/ && $1 == "offline" { offline = $2 }
		FILENAME ~ /total$/ { kernel[$1] = $2 * 1024 }
		FILENAME ~ /facts$/ && $1 == "node" { got_cpus[$2] = $3; bytes[$2] = $4; got_ids = got_ids " " $2 }
		FILENAME ~ /facts$/ && $1 == "row" { $1 = ""; got_row[got_rows++] = $0 }
		FILENAME ~ /facts$/ && $1 == "socket" { got_sockets = got_sockets " " $2 ":" $3 }
		FILENAME ~ /facts$/ && $1 == "offline" { got_offline = $2 }
		FILENAME ~ /zones$/ { zone[$2] = $0; got_zones = got_zones " " $2 }
		END {
			for (i = 0; i < n_ids; i++) {
				id = ids[i]
				want_ids = want_ids " " id
				same("CPUs of node " id, cpus[id], got_cpus[id])
				same("memory of node " id ", as the kernel says", sprintf("%.0f", kernel[id]), bytes[id])
				# The kernel keeps some for itself, how much hangs on its build; what counts is checked above.
				if (bytes[id] > given[id] || bytes[id] < given[id] / 2)
					print "memory of node " id ": " bytes[id] " bytes of the " given[id] " it was given"
				same("distances of node " id, row[i], got_row[i])
				same("zone of node " id, "zone " id " " cpus[id] " " (count(cpus[id]) ? count(cpus[id]) : "-") " " \
					(given[id] ? bytes[id] : "-") costs(row[i]), zone[id])
			}
			for (id = 0; id <= ids[n_ids - 1]; id++)
				want_zones = want_zones " " id
			same("nodes", want_ids, got_ids)
			same("zones", want_zones, got_zones)
			same("sockets", sockets, got_sockets)
			same("offline CPUs", offline, got_offline)
			same("rows of distances", n_rows, got_rows)
		}' "$work/expect" "$work/total" "$work/facts" "$work/zones"
}

# expect LINE: change the expectation. A node or a socket replaces the one of its id, the first row all rows before it.
expect() {
	local kind id
	read -r kind id _ <<<"$1"
	case $kind in
	node | socket) sed -i "/^$kind $id /d" "$work/expect" ;;
	gone) sed -i "/^node $id /d" "$work/expect" && return ;;
	unplugged) sed -i "/^socket $id /d" "$work/expect" && return ;;
	offline) sed -i '/^offline/d' "$work/expect" ;;
	row) [ "$rows_begun" ] || sed -i '/^row/d' "$work/expect"; rows_begun=1 ;;
	*) echo "tests/vm: no word '$kind' in the table" >&2 && exit 1 ;;
	esac
	echo "$1" >>"$work/expect"
	sort -s -k1,1 -k2,2n -o "$work/expect.sorted" <(grep -v '^row' "$work/expect")
	grep '^row' "$work/expect" >>"$work/expect.sorted"
	mv "$work/expect.sorted" "$work/expect"
}

# vm NAME SMP QEMU-ARGUMENT...: run the case whose table is on standard input
vm() {
	local name=$1 smp=$2 line kind id cpus mib from=0 to value total=0 stage=0 started=$SECONDS
	local -a args=() table=()
	shift 2
	mapfile -t table < <(grep -v '^#')
	case $chosen in "  " | *" $name "*) ;; *) return ;; esac
	: >"$work/expect"
	: >"$work/differences"
	: >"$work/root/steps"
	rows_begun=
	for line in "${table[@]}"; do
		read -r kind id cpus mib <<<"$line"
		case $kind in
		do) echo "${line#do }" >>"$work/root/steps" ;;
		node)
			[ ! -s "$work/root/steps" ] || continue
			value=node,nodeid=$id
			[ "$cpus" = - ] || value+=",cpus=${cpus//,/,cpus=}"
			[ "$mib" = 0 ] || { value+=",memdev=m$id" && args+=(-object "memory-backend-ram,id=m$id,size=${mib}M"); }
			args+=(-numa "$value")
			total=$((total + mib))
			;;
		absent) args+=(-numa "node,nodeid=$id${cpus:+,cpus=$cpus}") ;;
		distances)
			to=0
			for value in ${line#distances }; do
				args+=(-numa "dist,src=$from,dst=$to,val=$value")
				to=$((to + 1))
			done
			from=$((from + 1))
			;;
		esac
	done
	if ! boot -smp "$smp" -m "${total}M${memory_slots:-}" "${args[@]}" "$@" || ! grep -q '^== end' "$work/told"; then
		{
			echo "the machine did not run to its end:"
			tail -n 5 "$work/qemu" "$work/console" "$work/told"
		} >"$work/differences" 2>&1
	else
		for line in "${table[@]}" "do"; do
			case $line in
			absent*) ;;
			do*)
				judge $stage | sed "s/^/  dump $stage: /" >>"$work/differences"
				stage=$((stage + 1))
				rows_begun=
				;;
			distances*) case ${table[*]} in *absent*) ;; *) expect "row${line#distances}" ;; esac ;;
			*) expect "$line" ;;
			esac
		done
		grep -a -A 5 '^== .* failed' "$work/told" >>"$work/differences"
	fi
	if [ ! -s "$work/differences" ]; then
		result "$name ($stage dumps, $((SECONDS - started)) s)" 0
	else
		result "$name" 1
		cat "$work/differences"
		mkdir -p "$cache/failures" && cp "$work/told" "$work/console" "$cache/failures/" 2>/dev/null
	fi
}

# same_memory STAGE REMOTE HUGE: what nrtd says of the pod's memory at a stage is what numastat says of its process, within 4 MiB for
# the pages that other cgroups have paid for; whether more than a tenth is remote; and huge pages on NUMA node 1, in bytes
same_memory() {
	told "$1" pods | tr -d ' \n' | sed -n 's/.*"numaNodes":\[{"id":0,"bytes":\([0-9]*\),"hugepageBytes":\([0-9]*\)},{"id":1,"bytes":\([0-9]*\),"hugepageBytes":\([0-9]*\)}\].*/\1 \3 \2 \4/p' >"$work/pods"
	told "$1" numastat | sed -n 's/^Total  *\([0-9.]*\)  *\([0-9.]*\)  *[0-9.]*$/\1 \2/p' >"$work/numastat"
	told "$1" metrics | sed -n 's/^nrtd_pod_memory_pods{locality="remote"} //p' >"$work/remote"
	[ "$(cat "$work/remote")" = "$2" ] && awk -v huge="$3" '
		function near(a, b) { return a - b < 4 && b - a < 4 }
		NR == 1 { zero = $1 / 1048576; one = $2 / 1048576; good = $3 == 0 && $4 == huge }
		NR == 2 { good = good && near($1, zero) && near($2, one) && $1 + $2 >= 64 }
		END { exit !(good && NR == 2) }' "$work/pods" "$work/numastat" && return
	cat "$work/pods" "$work/numastat" "$work/remote"
	told "$1" metrics
	return 1
}

[ "$(uname -m)" = x86_64 ] || skip "the virtual machines are x86_64, this machine is not"
answer=$(packaging/install-deps.sh vm 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
make_root || exit 1

# The table. node ID CPUS MIB, socket ID CPUS, and the rows of distances describe the machine; do STEP is done in the guest,
# and what follows it is what has changed then.
vm four-nodes 8,sockets=4,cores=2 <<'END'
node 0 0-1 512
node 1 2-3 128
node 2 4-5 192
node 3 6-7 256
socket 0 0-1
socket 1 2-3
socket 2 4-5
socket 3 6-7
distances 10 12 32 33
distances 12 10 34 35
distances 32 34 10 14
distances 33 35 14 10
END

vm memoryless-node 6,sockets=3,cores=2 <<'END'
node 0 0-1 512
node 1 2-3 0
node 2 4-5 256
socket 0 0-1
socket 1 2-3
socket 2 4-5
distances 10 16 22
distances 16 10 28
distances 22 28 10
END

# As CXL memory or HBM: memory far away or near, without CPUs.
vm cpuless-nodes 4,sockets=2,cores=1,threads=2 <<'END'
node 0 0-1 512
node 1 2-3 192
node 2 - 256
node 3 - 128
socket 0 0-1
socket 1 2-3
distances 10 21 14 31
distances 21 10 24 13
distances 14 24 10 40
distances 31 13 40 10
END

vm asymmetric-distances 6,sockets=3,cores=2 <<'END'
node 0 0-1 512
node 1 2-3 192
node 2 4-5 256
socket 0 0-1
socket 1 2-3
socket 2 4-5
distances 10 15 20
distances 25 10 30
distances 40 35 10
END

# Two NUMA nodes in each socket, their CPUs interleaved, and the kernel's own distances.
vm interleaved 8,sockets=2,cores=4 <<'END'
node 0 0,2 512
node 1 1,3 192
node 2 4,6 256
node 3 5,7 128
socket 0 0-3
socket 1 4-7
row 10 20 20 20
row 20 10 20 20
row 20 20 10 20
row 20 20 20 10
END

vm offline-cpus 4,sockets=2,cores=2 <<'END'
node 0 0-1 512
node 1 2-3 192
socket 0 0-1
socket 1 2-3
distances 10 21
distances 21 10
do cpu 3 0
node 1 2 192
socket 1 2
offline 3
do cpu 2 0
node 1 - 192
unplugged 1
offline 2-3
do cpu 2 1 && cpu 3 1
node 1 2-3 192
socket 1 2-3
offline
END
# The kernel leaves a number out: node 1 has only CPUs that are not plugged in.
vm hole-in-the-ids 2,maxcpus=4,sockets=2,cores=2 <<'END'
node 0 0-1 512
absent 1 2-3
node 2 - 256
socket 0 0-1
distances 10 21 17
distances 21 10 28
distances 18 28 10
row 10 17
row 18 10
END

# A memory-less node that is there only while its CPU is plugged in.
vm node-of-a-cpu 2,maxcpus=4,sockets=2,cores=2 <<'END'
node 0 0-1 512
absent 1 2-3
socket 0 0-1
distances 10 21
distances 21 10
row 10
do monitor device_add qemu64-x86_64-cpu,id=c2,socket-id=1,core-id=0,thread-id=0 && appears 2
node 1 2 0
socket 1 2
row 10 21
row 21 10
do monitor device_del c2 && until_true [ ! -e /sys/devices/system/cpu/cpu2 ]
gone 1
unplugged 1
row 10
END

# A node without CPUs that is there only while its memory is.
memory_slots=,slots=2,maxmem=4G vm node-of-memory 2,sockets=1,cores=2 <<'END'
node 0 0-1 512
absent 1
socket 0 0-1
distances 10 17
distances 17 10
row 10
do monitor object_add memory-backend-ram,id=m9,size=256M && monitor device_add pc-dimm,id=d9,memdev=m9,node=1 && until_true blocks 1 online_movable 2
node 1 - 256
row 10 17
row 17 10
do blocks 1 offline 2 && monitor device_del d9 && until_true [ ! -e $nodes/node1 ]
gone 1
row 10
END
# The memory of a pod, as nrtd run and nrtd dump read it from the real kernel, beside numastat.
case $chosen in
"  " | *" pod-memory "*)
	if get_numactl; then
		vm pod-memory 4,sockets=2,cores=2 <<-'END'
			node 0 0-1 512
			node 1 2-3 512
			socket 0 0-1
			socket 1 2-3
			distances 10 21
			distances 21 10
			do pod_cgroup
			do uses 0 && reading
			do uses 1 && reading
			do sh -c "$enter fallocate -l 4M /tmp/huge/file" && reading
		END
		check "pod-memory: local memory" same_memory 2 0 0
		check "pod-memory: remote memory is seen within two readings" same_memory 3 1 0
		check "pod-memory: remote huge pages" same_memory 4 1 4194304
	else
		echo "skipped: pod-memory: Debian's package numactl is not available here"
	fi
	;;
esac
tally
