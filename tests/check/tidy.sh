#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh FILE...: run clang-tidy with FLAGS on C files, except files that passed before. The key of a pass is a hash of all that clang-tidy
# reads: the file and every file that it includes, .clang-tidy, FLAGS, and clang-tidy's version. TIDY_CACHE is the directory of the passes
# (default: ~/.cache/nrtd/clang-tidy); the script removes passes that were not used for 30 days.
# shellcheck disable=SC2046,SC2086 # flags and names without spaces
set -u
cache=${TIDY_CACHE:-${XDG_CACHE_HOME:-${HOME:-build}/.cache}/nrtd/clang-tidy}
status=0
mkdir -p "$cache"
find "$cache" -type f -mtime +30 -delete
version=$(clang-tidy --version)

# key FILE: print the key, or nothing if FILE cannot be preprocessed
key() {
	read_files=$(clang -M -MT read $FLAGS "$1" 2>/dev/null) || return
	hashes=$(sha256sum .clang-tidy $(printf '%s\n' "$read_files" | sed 's/^read://; s/\\$//')) || return
	printf '%s\n' "$version" "$FLAGS" "$1" "$hashes" | sha256sum | cut -d ' ' -f 1
}

for file; do
	pass=$(key "$file")
	if [ -n "$pass" ] && [ -e "$cache/$pass" ]; then
		touch "$cache/$pass"
	elif clang-tidy --quiet "$file" -- $FLAGS 2>/dev/null; then
		[ -z "$pass" ] || : >"$cache/$pass"
	else
		status=1
	fi
done
exit $status
