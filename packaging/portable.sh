#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts the program and its files where any folder can have them: FOLDER/bin/speclab and
# FOLDER/share. Needs `make man`, for the man pages.
#   packaging/portable.sh FOLDER SPECLAB PORTABLE
# SPECLAB is the program that make install would copy; FOLDER gets PORTABLE in its place, which
# needs no library but glibc's, and the licences that PORTABLE.packages names.
set -eu
folder=$1 program=$2 portable=$3
rm -rf "$folder"
DESTDIR=$folder PREFIX='' cli/install.sh install "$program" >/dev/null
install "$portable" "$folder/bin/speclab"
while read -r library _ notice; do
    cp "$notice" "$folder/share/speclab/licences/$library"
done <"$portable.packages"
rm -r "$folder/lib" "$folder/include" "$folder/share/speclab/installed-files"
