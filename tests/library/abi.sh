#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Guards the binary interface of libspeclab.so. Its exported symbols with their versions are those
# of packaging/libspeclab.symbols, and the header declares exactly these. It also calls nothing that
# reads the environment or changes the process.
#   tests/library/abi.sh [--update] LIBRARY     --update writes the list, for new functions
set -eu
cd "$(dirname "$0")/../.."
update=0
[ "$1" = --update ] && { update=1; shift; }
library=$1 list=packaging/libspeclab.symbols
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
complain() { echo "library: $*" >&2 && bad=1; }

nm -D --defined-only --with-symbol-versions "$library" |
    awk '$2 == "T" { sub(/@+/, " ", $3); print $3 }' | LC_ALL=C sort >"$scratch/exported"
[ $update = 0 ] || cp "$scratch/exported" "$list"
diff "$list" "$scratch/exported" >"$scratch/diff" || {
    sed 's/^/    /' "$scratch/diff" >&2
    complain "its symbols differ from $list: a symbol must stay; new ones: $0 --update $library"
}
grep -oE '\bspeclab_[a-zA-Z_0-9]+\(' include/speclab/speclab.h | tr -d '(' | LC_ALL=C sort -u \
    >"$scratch/declared"
cut -d ' ' -f 1 "$list" | diff "$scratch/declared" - >"$scratch/diff" || {
    sed 's/^/    /' "$scratch/diff" >&2
    complain "include/speclab/speclab.h declares other functions than $list has"
}
readelf -d "$library" | grep -q 'SONAME.*\[libspeclab\.so\.1\]' ||
    complain "its soname is not libspeclab.so.1"
for name in getenv secure_getenv setenv setlocale exit gsl_set_error_handler \
    gsl_set_error_handler_off; do
    ! nm -D --undefined-only "$library" | grep -qE " $name(@|$)" || complain "it calls $name"
done
[ $bad = 0 ] && echo "library: $(wc -l <"$list") symbols are those of $list"
exit $bad
