#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Copies the built program, the library and their files below $DESTDIR$PREFIX, or removes exactly
# these files. They are listed in $DESTDIR$PREFIX/share/speclab/installed-files, a path below PREFIX
# per line. An installation first removes the files that an earlier list names.
# The library is in library/ beside the program.
#   DESTDIR=DIR PREFIX=DIR [LIBDIR=DIR] cli/install.sh install|uninstall SPECLAB
# LIBDIR, below PREFIX, has the library: PREFIX/lib, or the folder of one architecture.
# Every path is quoted: a folder may have any name. Nothing is removed recursively.
# A folder that holds other files remains, and uninstall names it.
set -eu
verb=$1 speclab=$2
to=${DESTDIR-}${PREFIX-}
newline='
'
case $to in
'') echo "$verb: DESTDIR and PREFIX are both empty: type PREFIX=/usr/local" >&2 && exit 2 ;;
*"$newline"*)
    echo "$verb: a line break in DESTDIR or PREFIX: choose a folder without one" >&2 && exit 2
    ;;
/*) ;;
*) to=./$to ;; # a leading dash is not an option
esac
LIBDIR=${LIBDIR:-${PREFIX-}/lib}
below=${LIBDIR#"${PREFIX-}"/}
case /$below/ in
//* | */./* | */../* | *"$newline"*)
    echo "$verb: LIBDIR must be a folder below PREFIX: type LIBDIR=${PREFIX-}/lib" >&2 && exit 2
    ;;
esac
share=$to/share/speclab lib=$to/$below

installed=$share/installed-files

# add FOLDER FILE...: list files as installed into a folder
add() {
    folder=$1
    shift
    for file; do echo "${folder#"$to"/}/${file##*/}" >>"$installed.new"; done
}

# copy MODE FOLDER FILE...
copy() {
    mode=$1 folder=$2
    shift 2
    install -d "$folder"
    install -m "$mode" "$@" "$folder"
    add "$folder" "$@"
}

# the listed files that can be speclab's: a user may have edited the list
listed() {
    grep -E '(^|/)speclab/|/(lib)?speclab[^/]*$' "$installed" | grep -vE '(^|/)[.][.]?(/|$)'
}

# remove the listed files, except those outside PREFIX, behind a link
remove() {
    root=$(realpath "$to")
    listed | while IFS= read -r file; do
        case $(realpath -m "$to/${file%/*}")/ in "${root%/}"/*) ;; *) continue ;; esac
        [ -d "$to/$file" ] || rm -f "$to/$file"
    done
}

install_all() {
    install -d "$share"
    [ ! -f "$installed" ] || remove
    : >"$installed.new"
    copy 755 "$to/bin" "$speclab"
    # for plug-ins, and for programs that use the library
    copy 644 "$to/include/speclab" include/speclab/sampler.h include/speclab/speclab.h
    built=$(dirname "$speclab")
    copy 644 "$lib" "$built"/library/libspeclab.so.*.* "$built/libspeclab.a"
    for link in libspeclab.so.1 libspeclab.so; do
        cp -P "$built/library/$link" "$lib/"
        add "$lib" $link
    done
    install -d "$lib/pkgconfig"
    up=$(echo "$below/pkgconfig" | sed 's|[^/][^/]*|..|g')
    sed "s|@UP@|$up|" "$built/library/speclab.pc" >"$lib/pkgconfig/speclab.pc"
    chmod 644 "$lib/pkgconfig/speclab.pc"
    add "$lib/pkgconfig" speclab.pc
    copy 644 "$share/adapters" tools/validate/adapters/*.*
    copy 644 "$share/experiments/cfg" experiments/cfg/*.cfg
    copy 644 "$share/plots" plots/*.gp
    copy 644 "$share/docs" docs/*.md
    copy 644 "$share/docs/formulas" docs/formulas/*.md
    copy 644 "$share/licences" LICENSES/*.txt
    copy 644 "$share/experiments/text" experiments/text/* # training texts of real_text
    install -d "$to/share/bash-completion/completions"
    install -m 644 cli/completion.bash "$to/share/bash-completion/completions/speclab"
    add "$to/share/bash-completion/completions" speclab
    [ ! -d build/man ] || copy 644 "$to/share/man/man1" build/man/*.1
    # What was unpacked without root stays in the source tree, like the libraries.
    if [ -x build/libraries/bin/gnuplot ]; then
        install -d "$share/build/libraries/bin"
        ln -sf "$PWD/build/libraries/bin/gnuplot" "$share/build/libraries/bin/gnuplot"
        add "$share/build/libraries/bin" gnuplot
    fi
    mv "$installed.new" "$installed"
    echo "installed: $to/bin/speclab, and its files in $share"
}

uninstall_all() {
    [ -f "$installed" ] || {
        echo "uninstall: $installed is missing, which lists the files: type make install first" >&2
        exit 2
    }
    # speclab's own folders, the inner ones first
    folders=$(listed | awk -F/ '{
        for (i = path = ""; ++i < NF;) {
            path = path "/" $i
            if (path "/" ~ /\/speclab\//) print path
        }
    }' | sort -ru)
    remove
    rm "$installed"
    echo "$folders" | while IFS= read -r folder; do
        [ -d "$to$folder" ] || continue
        rmdir "$to$folder" 2>/dev/null || echo "uninstall: $to$folder holds other files: it stays"
    done
}

case $verb in
install) install_all ;;
uninstall) uninstall_all ;;
*) echo "install.sh: '$verb' is neither install nor uninstall" >&2 && exit 2 ;;
esac
