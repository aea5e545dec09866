#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tries the tarball, the wheel and the Debian packages for arm64 under qemu where nothing else is:
# the tarball in a root with glibc alone, the wheel in one with Debian's Python and pip, which must
# accept its tag, the packages in one with those that they depend on. They must print the numbers
# that this machine's program and Python package print, byte for byte.
#   tests/arm64_packages.sh VERSION       after make CONFIG=arm64 tarball wheel deb; make library
set -eu
cd "$(dirname "$0")/.."
version=$1 speclab=build/release/speclab
wheel=$(echo build/python-arm64/speclab-"$version"-*.whl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complain() { echo "arm64-packages: $*" >&2 && exit 1; }

# new_root NAME PACKAGE...: a root of arm64 with qemu, Debian's packages, and nothing else
new_root() {
    kept=build/chroot/arm64-$1 root=$scratch/$1
    shift
    .ci/foreign "$kept" arm64 "$@"
    cp -R "$kept" "$root"
    mkdir "$root/tmp"
    cp "$(command -v qemu-aarch64-static)" "$root/qemu"
}
inside() {
    env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        unshare --map-root-user chroot "$root" /qemu "$@"
}
# numbers COMMAND...: what it prints, without the comments that name the machine
numbers() {
    "$@" </dev/null >"$scratch/out" 2>"$scratch/errors" ||
        complain "$* fails: $(cat "$scratch/errors")"
    grep -v '^#' "$scratch/out" || complain "$* prints nothing"
}
# The program PATH of the root prints what this machine's does.
same_numbers() { # PATH
    transformer='random?dim=32&layers=2&heads=2&ffn=64&vocab=96&context=64'
    while read -r arguments; do
        # shellcheck disable=SC2086
        numbers $speclab $arguments >"$scratch/here"
        # shellcheck disable=SC2086
        numbers inside "$1" $arguments >"$scratch/there"
        cmp "$scratch/here" "$scratch/there" || complain "$1 $arguments prints other numbers"
    done <<LIST
predict --alpha 0.5,0.8 --K 1:8 --format csv
run speedup_table --rounds 2000 --format csv
prove --K 2 --tokens 2 --format csv
validate rule:token --only plain-4 --budget 200k
generate --target $transformer --draft layers?exit=1 --temperature 0.7 --K 3 -p 1 -n 24
LIST
}

new_root tarball libc6
tar -xzf "build/speclab-$version-linux-aarch64.tar.gz" -C "$root"
same_numbers "/speclab-$version-linux-aarch64/bin/speclab"
echo "arm64-packages: with glibc alone the tarball's program prints the same numbers as here"

debs=$(ls build/deb-arm64/speclab_*.deb build/deb-arm64/libspeclab1_*.deb)
# shellcheck disable=SC2046
new_root deb $(for deb in $debs; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' |
    sed 's/ *(.*)//; s/ //g' | sort -u)
for deb in $debs; do dpkg-deb -x "$deb" "$root"; done
same_numbers /usr/bin/speclab
inside /lib/ld-linux-aarch64.so.1 --list /usr/lib/aarch64-linux-gnu/libspeclab.so.1 >"$scratch/out"
! grep 'not found' "$scratch/out" || complain "libspeclab1 does not name all that it needs"
echo "arm64-packages: so does that of the Debian packages, with what these depend on"

new_root python python3-pip libstdc++6
# This machine's pip downloads what the package needs, because that of the root has no network.
glibc=$(echo "$wheel" | sed -n 's/.*-manylinux_2_\([0-9]*\)_aarch64[.]whl$/\1/p')
# shellcheck disable=SC2046
build/python/tools/bin/pip download -q --disable-pip-version-check --only-binary=:all: \
    --python-version 3.11 $(seq -f '--platform manylinux_2_%g_aarch64' 17 "$glibc") \
    -d "$root/wheels" "$wheel"
inside /usr/bin/python3 -m pip install -q --no-index --find-links /wheels --no-compile \
    --break-system-packages --root-user-action=ignore --no-warn-script-location speclab
same_numbers /usr/local/bin/speclab
cat >"$root/script.py" <<END
import speclab

print(speclab.sweep(alpha=[0.6, 0.8], K=4, c=0.1, rounds=20000).to_string())
print(speclab.formulas.best_K([0.6, 0.8, 0.95], c=0.1))
END
python/environment.sh build/python/quick 'cffi>=1.15' 'numpy>=1.24'
python/stage.sh "$scratch/package" "$version" $speclab build/release/library/libspeclab.so.1
PYTHONPATH=$scratch/package numbers build/python/quick/bin/python "$root/script.py" >"$scratch/here"
numbers inside /usr/bin/python3 /script.py >"$scratch/there"
cmp "$scratch/here" "$scratch/there" || complain "the package prints other numbers"
echo "arm64-packages: so do the program and the package in ${wheel##*/}, which pip installs"
