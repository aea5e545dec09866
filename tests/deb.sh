#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian packages of FOLDER in a clean chroot, and runs the tests of
# packaging/debian/tests there. Purges the packages, and checks that no file remains.
# Needs root, debootstrap, and a mirror of Debian: MIRROR=http://deb.debian.org/debian.
# CACHE keeps the chroot's first state.
#   tests/deb.sh FOLDER CACHE
set -eu
cd "$(dirname "$0")/.."
folder=$1 cache=$2
mirror=${MIRROR:-http://deb.debian.org/debian}
skip() { echo "deb-check: skipped: $*" && exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can make a chroot"
for tool in debootstrap unshare dpkg-scanpackages; do
    command -v $tool >/dev/null || skip "there is no $tool"
done
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") ||
    skip "this system is not Debian"
unshare --mount --pid --fork true 2>/dev/null || skip "namespaces are not permitted here"

# The packages that the tests need: ours, and tools.
needed=$(sed -n 's/^Depends: //p' packaging/debian/tests/control | tr -d ' ' | tr , '\n' | sort -u)
ours=$(echo "$needed" | grep speclab)
tools=$(echo "$needed" | grep -v speclab)

if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$folder"/*.changes || exit 1
fi

mkdir -p "$cache"
base=$cache/$suite.tar
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
complain() { echo "deb-check: $*" >&2 && exit 1; }
if [ ! -e "$base" ]; then
    debootstrap --variant=minbase --include="$(echo $tools | tr ' ' ,)" "$suite" \
        "$root" "$mirror" >"$scratch/log" 2>&1 ||
        skip "debootstrap fails: $(tail -n 1 "$scratch/log")"
    tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
else
    mkdir "$root" && tar -C "$root" -xf "$base"
fi
# Mounts and processes of the chroot end with the command.
inside() {
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" env -i HOME=/root \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy+http_proxy="$http_proxy"} "$@"
}
quietly() {
    "$@" >"$scratch/log" 2>&1 && return
    tail -n 20 "$scratch/log" >&2
    complain "'$*' fails"
}
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
inside apt-get update -q -o APT::Update::Error-Mode=any >"$scratch/log" 2>&1 ||
    skip "apt finds no packages: $(tail -n 1 "$scratch/log")"
install='apt-get install -y -q --no-install-recommends'
# shellcheck disable=SC2086
quietly inside $install $tools # those that the kept state lacks
listed >"$scratch/before"

# shellcheck disable=SC2086
quietly inside $install $ours
for name in $(sed -n 's/^Tests: //p' packaging/debian/tests/control); do
    mkdir "$root/test"
    quietly inside AUTOPKGTEST_TMP=/test sh -c "cd /source && packaging/debian/tests/$name"
    rm -r "$root/test"
    sed 's/^/    /' "$scratch/log"
done
# shellcheck disable=SC2086
quietly inside apt-get purge -y -q --autoremove $ours
listed >"$scratch/after"
diff "$scratch/before" "$scratch/after" >"$scratch/log" ||
    complain "purge leaves: $(cat "$scratch/log")"
echo "deb-check: the packages install, work, and leave nothing when purged"
