#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the Debian packages, source and binary, from the files of the tree, into FOLDER.
# The same files give the same bytes in any folder: all dates are that of the last commit.
#   packaging/deb.sh FOLDER VERSION [HERE ROOT]
# With ROOT, unpacked by .ci/foreign, they are those for arm64 alone. HERE is the program that this
# machine runs.
# DEB_BUILD_OPTIONS is 'nocheck' unless it is set; with an empty one the unit tests run.
set -eu
cd "$(dirname "$0")/.."
folder=$1 version=$2 root=${4:-}
export LC_ALL=C DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck parallel=$(nproc)}"
case " $DEB_BUILD_OPTIONS " in *' nocheck '*) export DEB_BUILD_PROFILES=nocheck ;; esac

in_git() { git rev-parse --git-dir >/dev/null 2>&1; }
files() {
    if in_git; then git ls-files -z -co --exclude-standard
    else find . -path ./build -prune -o -path ./out -prune -o -type f -print0; fi
}
date=${SOURCE_DATE_EPOCH:-$(in_git && git log -1 --format=%ct || stat -c %Y CHANGELOG.md)}

rm -rf "$folder"
source=$folder/speclab-$version
mkdir -p "$source"
files | xargs -0 cp --parents -t "$source"
find "$source" -exec touch -h -d "@$date" {} +
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$folder" \
    -cJf "$folder/speclab_$version.orig.tar.xz" "speclab-$version"

# The revision 0speclab1 is older than any of Debian's own.
cp -R "$source/packaging/debian" "$source/debian"
cat >"$source/debian/changelog" <<END
speclab ($version-0speclab1) unstable; urgency=medium

  * Packages of speclab $version. CHANGELOG.md lists its changes.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -R -u -d "@$date")
END
options=
[ -z "$root" ] || {
    HERE=$(realpath "$3")
    export HERE
    mkdir "$source/build"
    ln -s "$(realpath "$root")" "$source/build/libraries-arm64"
    options='--host-arch=arm64 --build=any --no-check-builddeps --no-pre-clean'
}
# shellcheck disable=SC2086
(cd "$source" && dpkg-buildpackage -us -uc $options) >"$folder/build.log" 2>&1 || {
    tail -n 20 "$folder/build.log" | cut -c 1-200 >&2
    echo "deb: dpkg-buildpackage fails: see $folder/build.log" >&2
    exit 2
}
rm -rf "$source"
ls "$folder"/*.deb
