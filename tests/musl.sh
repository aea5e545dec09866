#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles every source of the program against musl, whose headers lack what only glibc has.
#   tests/musl.sh
# The headers of libraries are those of this machine. MPI is left out.
set -eu
cd "$(dirname "$0")/.."
if ! command -v musl-gcc >/dev/null; then
    echo "musl: skipped, there is no musl-gcc (Debian: musl-tools)"
    exit 0
fi
headers=$(mktemp -d)
trap 'rm -rf "$headers"' EXIT
ours=/usr/include
for name in gsl jansson.h jansson_config.h pcre2.h zlib.h zconf.h linux asm asm-generic; do
    for folder in build/libraries$ours $ours $ours/"$(gcc -print-multiarch)"; do
        [ ! -e "$folder/$name" ] || ln -sfn "$(realpath "$folder/$name")" "$headers/$name"
    done
done
set -- $(find base models sim analysis experiments tools api cli -name '*.c' |
    grep -v '_neon[.]c')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 8 musl-gcc -std=c11 -fsyntax-only -w -fopenmp \
    -D_GNU_SOURCE -DSPEC_VERSION='"0"' -Iinclude -I. -I"$headers"
echo "musl: $# sources compile"
