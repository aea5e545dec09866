#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Unpacks the upstream source of a Debian package, unless it is there. apt fetches it into FOLDER,
# with lists of its own there. FOLDER/PACKAGE.package then has its name, version and copyright file.
#   web/sources.sh FOLDER PACKAGE VERSION SHA256     the SHA-256 is that of the upstream archive
set -eu
folder=$1 package=$2 version=$3 sha256=$4
[ ! -e "$folder/$package.package" ] || exit 0
mkdir -p "$folder/lists/partial" "$folder/archives/partial"
cd "$folder"
echo "deb-src [trusted=yes] http://deb.debian.org/debian bookworm main" >sources.list
private="-q -o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD -o APT::Sandbox::User="
# shellcheck disable=SC2086
fetch() { apt-get $private update && apt-get $private --download-only source "$package=$version"; }
fetch >"$package.log" 2>&1 || { tail -n 2 "$package.log" >&2; exit 1; }
archive=$(find . -maxdepth 1 -name "${package}_*.orig.tar.*" ! -name '*.asc')
echo "$sha256  $archive" | sha256sum --check --quiet >&2
mkdir -p "$package"
tar -xf "$archive" -C "$package" --strip-components=1

# The answers that ./configure would give for WebAssembly.
case $package in
gsl)
    mkdir -p gsl/include/gsl
    find gsl -path gsl/include -prune -o -name 'gsl_*.h' -exec cp {} gsl/include/gsl ';'
    there='HAVE_DECL_(ACOSH|ASINH|ATANH|EXPM1|FREXP|HYPOT|ISFINITE|ISINF|ISNAN|LDEXP|LOG1P)'
    sed -E "s/^#undef ($there|HAVE_IEEE_(COMPARISONS|DENORMALS)|STDC_HEADERS)\$/#define \\1 1/" \
        gsl/config.h.in >gsl/config.h
    ;;
jansson)
    sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' jansson/src/jansson_config.h.in \
        >jansson/src/jansson_config.h
    : >jansson/src/jansson_private_config.h
    ;;
esac
tar -xOf "${package}"_*.debian.tar.* debian/copyright >"$package.copyright"
echo "$package $version $folder/$package.copyright" >"$package.package"
