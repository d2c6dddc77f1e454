#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What packaging/ writes into packages before their tools run, with stand-ins for the tools: no package names an address that does not
# exist, and HOMEPAGE and MAINTAINER name the user's. make install installs every guide. The Dockerfile's arguments replace Debian's
# archives. The packages themselves are tests/install's.
# shellcheck disable=SC2317 # functions called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
# shellcheck source=tests/lib/scenario.sh
. tests/lib/scenario.sh
git rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: this is no clone"; exit 0; }

# --- stand-ins: each leaves what it was given in $dir/given
mkdir "$dir/bin" "$dir/given"
cat >"$dir/bin/dpkg-buildpackage" <<END
#!/bin/sh
cp debian/control $dir/given/ && touch ../nrtd_0_all.deb
END
cat >"$dir/bin/rpmbuild" <<END
#!/bin/sh
for last; do :; done
case \$last in nrtd.spec) cp nrtd.spec $dir/given/ && mkdir -p SRPMS RPMS && touch SRPMS/nrtd-0.src.rpm ;; esac
END
cat >"$dir/bin/helm" <<END
#!/bin/sh
cp "\$2/Chart.yaml" $dir/given/ && tar -czf "\$4/nrtd-\$(sed -n 's/^version: //p' "\$2/Chart.yaml").tgz" -C "\$(dirname "\$2")" nrtd
END
chmod +x "$dir/bin/"*
# packages [VARIABLE=VALUE...]: make them, with what the stand-ins got in $dir/given
packages() {
	PATH=$dir/bin:$PATH
	rm -f "$dir/given/"*
	env HELM="$dir/bin/helm" "$@" sh -ec "packaging/make-deb.sh '$dir/out' && packaging/make-rpm.sh '$dir/out' && packaging/make-chart.sh '$dir/out'" \
		>"$dir/out.log" 2>&1 || { cat "$dir/out.log"; return 1; }
}
check "packages" packages "HOMEPAGE=" "MAINTAINER="
grep -nE '^(Homepage|URL|home|sources|- *http)|https?://' "$dir/given/control" "$dir/given/nrtd.spec" "$dir/given/Chart.yaml" >"$dir/found"
check "no package names an address" test ! -s "$dir/found"
check "nor a person" grep -q '^Maintainer: nrtd developers <maintainers@nrtd.invalid>$' "$dir/given/control"
check "packages of a user" packages HOMEPAGE=https://git.example.com/numa/nrtd "MAINTAINER=Platform <platform@example.com>"
check "their maintainer" grep -qx 'Maintainer: Platform <platform@example.com>' "$dir/given/control"
check "their homepage: deb, in the source's paragraph" sh -c "sed '/^\$/q' '$dir/given/control' | grep -qx 'Homepage: https://git.example.com/numa/nrtd'"
check "rpm" grep -qx 'URL: *https://git.example.com/numa/nrtd' "$dir/given/nrtd.spec"
check "chart" sh -c "grep -qx 'home: https://git.example.com/numa/nrtd' '$dir/given/Chart.yaml' &&
	grep -qxF 'sources: [https://git.example.com/numa/nrtd]' '$dir/given/Chart.yaml'"

# --- every guide is installed
# shellcheck disable=SC2046 # globs
printf '%s\n' $(sed -n 's/^\tinstall -m 644 \(doc\/.*\.md\) .*/\1/p' packaging/install.mk) | sort >"$dir/installed"
git ls-files 'doc/*.md' | sort | comm -23 - "$dir/installed" >"$dir/found"
check "every guide is installed" test ! -s "$dir/found"

# --- the Dockerfile's mirrors, in both forms of apt's configuration
sed -n '/^RUN find/,/[^\\]$/p' packaging/container/Dockerfile | sed "s/^RUN //; s#/etc/apt#$dir/apt#" >"$dir/run"
mirrors() { # MIRROR SECURITY-MIRROR
	mkdir -p "$dir/apt/sources.list.d"
	printf 'URIs: http://deb.debian.org/debian\nSuites: bookworm\n\nURIs: http://deb.debian.org/debian-security\n' >"$dir/apt/sources.list.d/debian.sources"
	printf 'deb http://deb.debian.org/debian bookworm main\ndeb http://deb.debian.org/debian-security bookworm-security main\n' >"$dir/apt/sources.list"
	DEBIAN_MIRROR=$1 DEBIAN_SECURITY_MIRROR=$2 sh -eu "$dir/run"
}
argument() { sed -n "s/^ARG $1=//p" packaging/container/Dockerfile; }
check "mirrors" mirrors http://m.example/debian http://s.example/security
check "no archive of the Internet is left" sh -c "! grep -r deb.debian.org '$dir/apt' && grep -rqx 'URIs: http://s.example/security' '$dir/apt' &&
	grep -rqx 'deb http://m.example/debian bookworm main' '$dir/apt'"
check "one mirror" mirrors http://m.example/debian "$(argument DEBIAN_SECURITY_MIRROR)"
check "the other archive stays" sh -c "grep -qx 'URIs: http://deb.debian.org/debian-security' '$dir/apt/sources.list.d/debian.sources' && ! grep -r 'debian.org/debian[ /]' '$dir/apt'"
exit $failed
