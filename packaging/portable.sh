#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the program and its files where any folder can have them: FOLDER/bin/speclab and
# FOLDER/share. Needs `make man`, for the man pages.
#   packaging/portable.sh FOLDER SPECLAB PORTABLE
# SPECLAB is the program that make install would copy; FOLDER gets PORTABLE in its place, which
# needs no library but glibc's.
set -eu
folder=$1 program=$2 portable=$3
rm -rf "$folder"
DESTDIR=$folder PREFIX='' cli/install.sh install "$program" >/dev/null
install "$portable" "$folder/bin/speclab"
for package in libgsl27 libjansson4 libpcre2-8-0 libgomp1 zlib1g; do # what is inside PORTABLE
    notice=/usr/share/doc/$package/copyright
    [ ! -f "$notice" ] || cp "$notice" "$folder/share/speclab/licences/$package"
done
rm -r "$folder/lib" "$folder/include" "$folder/share/speclab/installed-files"
