#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tree.sh pack DIR: print a directory as an input of fuzz_tree (tests/fuzz/tree.h has the format).
# tree.sh unpack FILE DIR: make the directory of an input, for `nrtd dump --sysroot DIR`.
set -eu
export LC_ALL=C

pack() {
	cd "$1"
	find . -mindepth 1 | sort | while IFS= read -r path; do
		name=${path#.}
		if [ -L "$path" ]; then
			printf '%%> %s %s\n' "$name" "$(readlink "$path")"
		elif [ -f "$path" ] && [ -s "$path" ] && [ "$(tail -c 1 "$path" | od -An -tx1 | tr -d ' ')" != 0a ]; then
			printf '%%- %s\n' "$name"
			cat "$path"
			echo
		elif [ -f "$path" ]; then
			printf '%%%% %s\n' "$name"
			cat "$path"
		elif [ -p "$path" ]; then
			printf '%%| %s\n' "$name"
		elif [ -z "$(ls -A "$path")" ]; then
			printf '%%/ %s\n' "$name"
		fi
	done
}

# Perl, because awk and the shell cannot write NUL bytes.
unpack() {
	perl -0777 -e '
		use File::Path qw(make_path); use File::Basename; use POSIX qw(mkfifo);
		my ($input, $dir) = @ARGV;
		open(my $in, "<", $input) or die "$input: $!\n";
		my @parts = split(/^(?=%[-%\/>|] \/)/m, <$in>);
		for (@parts) {
			my ($kind, $path, $text) = /\A%([-%\/>|]) ([^\n]*)(?:\n(.*))?\z/s or next;
			my $target;
			($path, $target) = $path =~ /^(\S+) (.+)$/ or next if $kind eq ">";
			next if "$path/" =~ m{/\.{0,2}/};
			my $at = "$dir$path";
			make_path($kind eq "/" ? $at : dirname($at));
			if ($kind eq ">") { unlink $at; symlink $target, $at }
			elsif ($kind eq "|") { mkfifo $at, 0644 }
			elsif ($kind ne "/") {
				$text =~ s{\n\z}{} if $kind eq "-";
				unlink $at if -p $at; # the later entry counts, and opening a FIFO waits for a reader
				open(my $out, ">", $at) or next;
				print $out $text // "";
			}
		}
	' "$1" "$2"
}

case ${1:-} in
pack) pack "${2:?usage: tree.sh pack DIR}" ;;
unpack) unpack "${2:?usage: tree.sh unpack FILE DIR}" "${3:?usage: tree.sh unpack FILE DIR}" ;;
*)
	echo "usage: tree.sh pack DIR | tree.sh unpack FILE DIR" >&2
	exit 2
	;;
esac
