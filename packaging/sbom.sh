#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbom.sh ARCH: print the SBOM of nrtd and its bundled libraries: CycloneDX 1.5 in JSON. Standard input has a line "PACKAGE VERSION
# ARCHITECTURE SOURCE SOURCE-VERSION" for each Debian package. Reproducible: the same lines and source date give the same bytes.
# Advisories are about source packages: scanners find the source package in the qualifier upstream, and the system in its component.
# DISTRO is the packages' distribution (default: debian-12).
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' Makefile)
stamp=$(date -u -d "@$(packaging/source-date.sh)" +%Y-%m-%dT%H:%M:%SZ)
awk -v arch="$1" -v version="$version" -v stamp="$stamp" -v distro="${DISTRO:-debian-12}" '
	# escape the characters that a package URL does not permit
	function escaped(s) { gsub(/%/, "%25", s); gsub(/@/, "%40", s); gsub(/\+/, "%2B", s); gsub(/:/, "%3A", s); gsub(/~/, "%7E", s); return s }
	BEGIN {
		split(distro, d, "-")
		printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": {\n"
		printf "    \"timestamp\": \"%s\",\n", stamp
		printf "    \"component\": {\"type\": \"application\", \"bom-ref\": \"nrtd\", \"name\": \"nrtd\", \"version\": \"%s\",\n", version
		printf "      \"licenses\": [{\"license\": {\"id\": \"Apache-2.0\"}}],\n"
		printf "      \"properties\": [{\"name\": \"nrtd:architecture\", \"value\": \"%s\"}]}\n  },\n  \"components\": [\n", arch
		printf "    {\"type\": \"operating-system\", \"bom-ref\": \"%s\", \"name\": \"%s\", \"version\": \"%s\"}", distro, d[1], d[2]
	}
	{
		purl = "pkg:deb/" d[1] "/" escaped($1) "@" escaped($2) "?arch=" $3 "&distro=" distro "&upstream=" escaped($4 ($5 != $2 ? "@" $5 : ""))
		refs = refs (NR > 1 ? ", " : "") "\"" purl "\""
		printf ",\n    {\"type\": \"library\", \"bom-ref\": \"%s\", \"name\": \"%s\", \"version\": \"%s\",\n", purl, $1, $2
		printf "      \"purl\": \"%s\", \"properties\": [{\"name\": \"debian:source\", \"value\": \"%s\"}]}", purl, $4
	}
	END {
		printf "\n  ],\n  \"dependencies\": [{\"ref\": \"nrtd\", \"dependsOn\": [%s]}]\n}\n", refs
	}'
