#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into folders with odd names, runs the program there, and uninstalls it.
# No other file may change.
#   tests/install.sh SPECLAB
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0 checked=0
complain() { echo "install: $*" >&2 && bad=1; }
# A scratch tree, so that a relative DESTDIR leaves nothing in the source tree.
mkdir "$scratch/tree"
for name in "$tree"/* "$tree/.ci"; do ln -s "$name" "$scratch/tree/"; done
# It finds the source tree's repository: with another version the program would be linked again.
repository=$(git -C "$tree" rev-parse --absolute-git-dir 2>/dev/null) || repository=
run_make() {
    if [ -n "$repository" ]; then
        GIT_DIR=$repository GIT_WORK_TREE=$tree make --no-print-directory -C "$scratch/tree" "$@"
    else
        make --no-print-directory -C "$scratch/tree" "$@"
    fi >"$scratch/log" 2>&1
}
run_script() {
    (cd "$scratch/tree" && DESTDIR=$2 PREFIX=$3 cli/install.sh "$1" "$speclab") >"$scratch/log" 2>&1
}
speclab=$1
linked=$(stat -c '%i %Y' "$speclab")

mine=mine
own_files="include/speclab/mine.h
lib/libspeclab.so.mine
share/man/man1/speclab-mine.1
share/neighbour
share/speclab/docs/$mine.md
share/speclab/experiments/cfg/mine.cfg
share/speclab/plots/mine.gp"

# folder_survives COMMAND DESTDIR PREFIX: the installed program runs.
# After uninstall only files remain that install did not put there.
folder_survives() {
    command=$1 destdir=$2 prefix=$3
    case $destdir in /*) to=$destdir$prefix ;; *) to=$scratch/tree/$destdir$prefix ;; esac
    checked=$((checked + 1))
    "$command" install "$destdir" "$prefix" || {
        complain "[$to]: $(cat "$scratch/log")" && return
    }
    "$to/bin/speclab" list experiments | grep -q speedup_table ||
        complain "[$to]: the program does not run"
    # a user's own files, with the endings of installed ones, and a file of an earlier version
    for own in $own_files; do echo mine >"$to/$own"; done
    echo old >"$to/share/speclab/experiments/cfg/old.cfg"
    echo share/speclab/experiments/cfg/old.cfg >>"$to/share/speclab/installed-files"
    [ "$checked" -gt 3 ] || {
        "$command" install "$destdir" "$prefix" || complain "[$to]: again: $(cat "$scratch/log")"
        [ ! -e "$to/share/speclab/experiments/cfg/old.cfg" ] ||
            complain "[$to]: a file of the earlier version stays"
    }
    "$command" uninstall "$destdir" "$prefix" || complain "[$to]: uninstall: $(cat "$scratch/log")"
    left=$(cd "$to" && find . -type f -o -type l | cut -c 3- | LC_ALL=C sort)
    [ "$left" = "$own_files" ] || complain "[$to]: uninstall leaves: $left"
    for folder in cfg docs include/speclab; do
        grep -q "$folder holds other files" "$scratch/log" ||
            complain "[$to]: the folder $folder remains, and is not named"
    done
    ! "$command" uninstall "$destdir" "$prefix" || complain "[$to]: it is uninstalled twice"
    grep -q "installed-files is missing" "$scratch/log" || complain "[$to]: $(cat "$scratch/log")"
}
by_make() { run_make "$1" DESTDIR="$2" PREFIX="$3"; }

mkdir -p "$scratch/inst2/usr"
echo precious >"$scratch/inst2/precious"
folder_survives by_make "$scratch/inst2 x" /usr
folder_survives by_make "$scratch/it's \"\$HOME\"; touch owned; #*" '/usr $(shell touch owned)'
folder_survives by_make -dash /usr
for name in 'a b' "it's" 'a"b' 'a$HOME' 'a`touch owned`' 'a;touch owned' 'a*' 'a\b' 'a%' '~' '&'; do
    folder_survives run_script "$scratch/$name" /usr
    folder_survives run_script "$scratch" "/prefix $name"
done

# The library in the folder of an architecture, or with an odd name: pkg-config finds its parts.
for below in lib/x86_64-linux-gnu "lib/it's \$HOME"; do
    checked=$((checked + 1))
    run_make install DESTDIR="$scratch/arch" PREFIX=/usr LIBDIR="/usr/$below" ||
        complain "[$below]: $(cat "$scratch/log")"
    lib=$scratch/arch/usr/$below
    for part in libdir:libspeclab.so libdir:libspeclab.a includedir:speclab/speclab.h; do
        # without the escapes of names that a shell would split
        folder=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --variable="${part%%:*}" speclab |
            sed 's/\\\(.\)/\1/g')
        [ -e "$folder/${part#*:}" ] || complain "[$below]: there is no $folder/${part#*:}"
    done
    run_make uninstall DESTDIR="$scratch/arch" PREFIX=/usr LIBDIR="/usr/$below" ||
        complain "[$below]: uninstall: $(cat "$scratch/log")"
    left=$(find "$scratch/arch" -type f -o -type l)
    [ -z "$left" ] || complain "[$below]: uninstall leaves: $left"
done

# The folder of libraries by three names: the library is there after each. A list that a user
# edited: nothing but speclab's own files is removed.
edited=$scratch/edited checked=$((checked + 1))
mkdir -p "$edited/bin" "$edited/lib" "$scratch/users/speclab"
ln -s lib "$edited/lib64"
echo mine | tee "$edited/bin/tool" >"$scratch/users/speclab/notes"
for lib in "$edited/lib" "$edited/lib//" "$edited/lib64"; do
    LIBDIR=$lib run_script install '' "$edited" || complain "$(cat "$scratch/log")"
    [ -e "$edited/lib/libspeclab.a" ] && [ -e "$edited/lib/libspeclab.so" ] ||
        complain "[$lib]: the library is not there after installing it again"
done
ln -s "$scratch/users/speclab" "$edited/share/speclab/link"
printf '%s\n' bin bin/tool ../users/speclab/notes share/speclab/link/notes share/speclab/plots \
    >>"$edited/share/speclab/installed-files"
run_script uninstall '' "$edited" || complain "an edited list: $(cat "$scratch/log")"
[ -e "$edited/bin/tool" ] && [ -e "$scratch/users/speclab/notes" ] ||
    complain "an edited list removes a user's file"

[ "$(cat "$scratch/inst2/precious")" = precious ] ||
    complain "a folder beside the destination was removed"
[ -z "$(find "$scratch" -name owned)" ] && [ ! -e "$tree/owned" ] ||
    complain "a name was run as a command"

# refused DESTDIR PREFIX MESSAGE [LIBDIR]: make prints the message, exits 2, and creates nothing.
refused() {
    checked=$((checked + 1))
    code=0
    run_make install DESTDIR="$1" PREFIX="$2" ${4+LIBDIR="$4"} || code=$?
    [ $code -eq 2 ] || complain "[$1$2]: make's status is $code, not 2"
    grep -q "$3" "$scratch/log" || complain "[$1$2]: $(cat "$scratch/log")"
}
refused '' '' 'DESTDIR and PREFIX are both empty'
refused "$scratch/line
break" /usr 'DESTDIR or PREFIX has a line break'
for outside in /opt/lib /usr /usr/ /usr/../lib /usrlib; do
    refused "$scratch/line" /usr 'LIBDIR must be a folder below PREFIX' "$outside"
done
[ -z "$(ls -d "$scratch"/line* 2>/dev/null)" ] || complain "a refused folder was created"
[ "$(stat -c '%i %Y' "$speclab")" = "$linked" ] || complain "$speclab was linked again"
[ $bad = 0 ] &&
    echo "install: install and uninstall work in $checked odd folders and touch nothing else"
exit $bad
