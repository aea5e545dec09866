#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian packages of FOLDER in a clean chroot, and runs the tests of
# packaging/debian/tests there. Purges the packages, and checks that no file remains.
# Needs root and debootstrap. CACHE keeps the chroot's first state.
#   tests/deb.sh FOLDER CACHE
set -eu
cd "$(dirname "$0")/.."
folder=$1 cache=$2 check=deb-check
. tests/chroot.sh

# The packages that the tests need: ours, and tools.
needed=$(sed -n 's/^Depends: //p' packaging/debian/tests/control | tr -d ' ' | tr , '\n' | sort -u)
ours=$(echo "$needed" | grep speclab)
tools=$(echo "$needed" | grep -v speclab)

lintian --allow-root --fail-on error,warning "$folder"/*.changes

root=$scratch/root
# shellcheck disable=SC2086
new_system "$root" deb --no-install-recommends $tools
# All files but those that apt, dpkg and others write for any package.
listed() {
    (cd "$root" && find . -xdev \( -path './var/lib/apt/*' -o -path './var/lib/dpkg/*' -o \
        -path './var/cache/*' -o -path './var/log/*' -o -path './proc/*' \) -prune -o -print) | sort
}

mkdir "$root/packages" "$root/source"
cp "$folder"/*.deb "$root/packages"
(cd "$root/packages" && dpkg-scanpackages . >Packages 2>/dev/null)
echo 'deb [trusted=yes] file:/packages ./' >"$root/etc/apt/sources.list.d/speclab.list"
cp --parents -R README.md docs packaging/debian/tests tests/docs.sh "$root/source"
quietly inside "$root" apt-get update -q -o APT::Update::Error-Mode=any
install='apt-get install -y -q --no-install-recommends'
listed >"$scratch/before"

# shellcheck disable=SC2086
quietly inside "$root" $install $ours
for name in $(sed -n 's/^Tests: //p' packaging/debian/tests/control); do
    mkdir "$root/test"
    quietly inside "$root" env AUTOPKGTEST_TMP=/test \
        sh -c "cd /source && packaging/debian/tests/$name"
    rm -r "$root/test"
    sed 's/^/    /' "$log"
done
# shellcheck disable=SC2086
quietly inside "$root" apt-get purge -y -q --autoremove $ours
listed >"$scratch/after"
diff "$scratch/before" "$scratch/after" >"$log" || complain "purge leaves: $(cat "$log")"
echo "deb-check: the packages install, work, and leave nothing when purged"
