#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists the Debian source packages of the libraries that a linker names on standard input, a line
# 'SOURCE VERSION COPYRIGHT-FILE' each. Other words, and files of no package, are ignored.
#   packaging/linked.sh <INPUTS
set -eu
tr ' ' '\n' | sed -n 's/(.*//; /^\/.*[.][ao]$/p' | sort -u | xargs -r realpath | sort -u |
    xargs -r dpkg -S 2>/dev/null | sed 's/: .*//' | sort -u |
    xargs -r dpkg-query -W \
        -f '${source:Package} ${source:Version} /usr/share/doc/${Package}/copyright\n' |
    sort -u -k 1,2
