#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles client.c against the installed library, shared and static, as C and as C++, and runs it.
# Then lets one allocation fail for each chain of callers: the library must report the loss, and
# never end the program.
#   tests/library/library.sh SPECLAB FAILING_ALLOC.so
set -eu
cd "$(dirname "$0")/../.."
failing=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
complain() { echo "library: $*" >&2 && bad=1; }
DESTDIR=$scratch PREFIX=/usr cli/install.sh install "$1" >/dev/null
export PKG_CONFIG_PATH="$scratch/usr/lib/pkgconfig"
unset LD_LIBRARY_PATH
strict='-Wall -Wextra -Wpedantic -Werror'
build() { # NAME COMPILER OPTION...
    name=$1
    shift
    "$@" -o "$scratch/$name" || { complain "'$*' fails" && return; }
    "$scratch/$name" >"$scratch/$name.out" || complain "$name: exit status $?"
    [ "$name" = client ] || cmp -s "$scratch/client.out" "$scratch/$name.out" ||
        complain "$name prints other results"
}
# shellcheck disable=SC2046,SC2086
build client gcc -std=c99 $strict tests/library/client.c $(pkg-config --cflags --libs speclab)
# shellcheck disable=SC2046,SC2086
! command -v g++ >/dev/null ||
    build plus g++ -std=c++11 $strict -x c++ tests/library/client.c -x none \
        $(pkg-config --cflags --libs speclab)
# shellcheck disable=SC2046,SC2086
build static gcc -std=c99 $strict tests/library/client.c -Wl,-Bstatic \
    $(pkg-config --cflags --libs speclab) -Wl,-Bdynamic \
    $(pkg-config --static --libs-only-l speclab | sed 's/-lspeclab//')

# fails_well N: the N-th allocation fails, and the client prints its results or the loss.
fails_well() {
    code=0
    OOM_PROGRAM=client OOM_AT=$1 LD_PRELOAD=$failing "$scratch/client" >"$scratch/out" \
        2>"$scratch/err" || code=$?
    case $code in
    0) cmp -s "$scratch/client.out" "$scratch/out" || complain "allocation $1: other results" ;;
    2) grep -q 'memory' "$scratch/err" || complain "allocation $1: $(cat "$scratch/err")" ;;
    *) complain "allocation $1: exit status $code: $(cat "$scratch/err")" ;;
    esac
}
OOM_PROGRAM=client OOM_AT=0 OOM_PATHS=$scratch/paths LD_PRELOAD=$failing "$scratch/client" \
    >/dev/null
for n in $(cut -d' ' -f1 "$scratch/paths"); do fails_well "$n"; done
count=$(wc -l <"$scratch/paths")
[ $bad = 0 ] && echo "library: a program works as C, as C++ and static, and without memory ($count)"
exit $bad
