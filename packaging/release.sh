#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds what a release has from a clean clone of COMMIT, into FOLDER/release-VERSION: archives of
# the source and the program, wheel, page, Debian packages, SBOM and SHA256SUMS. With a cross
# compiler, the program, the wheel and the packages are built for arm64, too. The same commit and
# the same machine give the same bytes.
#   packaging/release.sh FOLDER COMMIT
set -eu
export LC_ALL=C TZ=UTC CCACHE_DISABLE=1
umask 022
unset MAKEFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify --quiet "$2^{commit}") || {
    echo "release: there is no commit $2" >&2
    exit 2
}
version=$(git show "$commit:Makefile" | sed -n 's/^VERSION *:= *//p')
cited=$(git show "$commit:CITATION.cff" | sed -n 's/^version: *//p')
[ "$cited" = "$version" ] || {
    echo "release: CITATION.cff has the version $cited, the Makefile $version" >&2
    exit 2
}
for tag in $(git tag --points-at "$commit" 'v[0-9]*'); do
    [ "$tag" = "v$version" ] || {
        echo "release: the tag is $tag, but the version in the Makefile is $version" >&2
        exit 2
    }
done
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git clone -q . "$tree/speclab"
cd "$tree/speclab"
git checkout -q --detach "$commit"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

make_it() {
    make --no-print-directory "$@" >>"$folder/release.log" 2>&1 && return
    tail -n 20 "$folder/release.log" >&2
    echo "release: make $* fails: see $folder/release.log" >&2
    exit 2
}
rm -f "$folder/release.log"
make_it tarball wheel web deb
lists=".html=build/web/speclab.wasm.packages $(uname -m)=build/release/portable/speclab.packages"
left_out=
if [ "$(uname -m)" = aarch64 ]; then :
elif command -v aarch64-linux-gnu-gcc >/dev/null; then
    make_it CONFIG=arm64 tarball wheel deb
    lists="$lists aarch64=build/arm64/portable/speclab.packages"
else
    left_out="; nothing for arm64, because there is no aarch64-linux-gnu-gcc (.ci/libraries arm64)"
fi
[ ! -d build/libraries ] || {
    echo "release: libraries that were unpacked below build/libraries have no known licence" >&2
    exit 2
}
out=$folder/release-$version
rm -rf "$out"
mkdir "$out"
git -c tar.umask=0022 archive --prefix="speclab-$version/" HEAD | gzip -9n \
    >"$out/speclab-$version.tar.gz"
cp build/speclab-"$version"-linux-*.tar.gz build/python*/speclab-*.whl "$out"
cp build/web/speclab.html "$out/speclab-$version.html"
cp build/deb*/*.deb build/deb/*.dsc build/deb/*.tar.xz "$out"
# shellcheck disable=SC2086
python3 packaging/sbom.py "$version" "$commit" $lists -- "$out"/* >"$tree/sbom"
cp "$tree/sbom" "$out/speclab-$version.spdx.json"
(cd "$out" && sha256sum -- * >"$tree/sums" && cp "$tree/sums" SHA256SUMS)
rm "$folder/release.log"
du -h "$out"/* | sed "s|$out/||"
echo "release: $out, from $(git describe --always --abbrev=8)$left_out"
