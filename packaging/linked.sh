#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists the Debian source packages of the libraries that a linker names on standard input, a line
# 'SOURCE VERSION COPYRIGHT-FILE' each. Other words, and files of no package, are ignored.
#   packaging/linked.sh [ROOT] <INPUTS      ROOT also has packages, unpacked by .ci/foreign
set -eu
root=${1:+$(realpath "$1")}
inputs=$(tr ' ' '\n' | sed 's/(.*//' | grep "^${1:-/}.*[.][ao]\$\|^/.*[.][ao]\$" | sort -u |
    xargs -r realpath | sort -u)
listed() { # ROOT
    xargs -r dpkg-query --root="$1/" -S 2>/dev/null | sed 's/: .*//' | sort -u |
        xargs -r dpkg-query --root="$1/" -W \
            -f "\${source:Package} \${source:Version} $1/usr/share/doc/\${Package}/copyright\n"
}
{
    echo "$inputs" | listed ''
    [ -z "$root" ] || echo "$inputs" | sed -n "s|^$root/|/|p" | listed "$root"
} | sort -u -k 1,2
