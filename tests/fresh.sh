#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Types what the documents say into an empty Debian that has git, gcc and make alone, first as root,
# then as a user without root; a user with sudo tries the installation of the libraries.
# From README.md come all console blocks and the commands to build, from the other documents the
# first section: the console blocks, and those commands of blocks of sh that need no file of the
# reader's. A command that only root can serve must say so, with the one command to type.
#   tests/fresh.sh CACHE [DOCUMENT...]      after README.md these documents alone
set -eu
cd "$(dirname "$0")/.."
cache=$1 check=fresh-check
shift
documents="README.md ${*:-$(echo docs/*.md docs/formulas/*.md)}"
. tests/chroot.sh

# The tree with its uncommitted changes, as a repository to clone.
git clone -q --no-hardlinks . "$scratch/source"
git diff --binary HEAD | git -C "$scratch/source" apply --index --allow-empty
git -C "$scratch/source" -c user.name=check -c user.email=check commit -q --allow-empty -m changes

# The blocks of sh, each as a script: $scratch/blocks/1 and so on.
blocks() { # DOCUMENT
    rm -rf "$scratch/blocks" && mkdir "$scratch/blocks"
    awk -v folder="$scratch/blocks" '
        /^```/ { inside = $0 == "```sh"; n += inside; next }
        /^## / && !inside { sections++ }
        inside && sections < 2 && /^((git|cd|export|make|python3) |build\/|tests\/)/ {
            print > (folder "/" n)
        }' "$1"
}

# The user types SCRIPT in FOLDER, with the programs of ~/.local.
types() { # FOLDER SCRIPT
    [ "$who" = root ] && as= || as="--as $who"
    # shellcheck disable=SC2016,SC2086
    inside "$root" $as sh -c 'cd "$1" && URL=/source && export URL &&
        PATH=$HOME/.local/bin:$PATH && export PATH && set -ex && eval "$2"' sh "$1" "$2" \
        </dev/null >"$log" 2>&1
}

# The user owns the source: git clones from folders of that user alone.
new_user() {
    inside "$root" useradd -m -s /bin/sh "$who"
    inside "$root" chown -R "$who" /source
}

reader() { # WHO
    who=$1 began=$(date +%s) typed=0 refused=0 root=$scratch/$1 home=/home/$1
    new_system "$root" gcc git gcc make
    cp -R "$scratch/source" "$root/source"
    [ "$who" = root ] && home=/root || new_user
    for document in $documents; do
        folder=$home/speclab first=--first
        [ $document != README.md ] || { folder=$home && first=; }
        blocks $document
        for block in $(cd "$scratch/blocks" && ls); do
            script=$(cat "$scratch/blocks/$block") code=0
            typed=$((typed + $(wc -l <"$scratch/blocks/$block")))
            types "$folder" "$script" || code=$?
            if [ "$who" != root ] && [ $code = 2 ] &&
                grep -q '^    sudo apt-get install' "$log"; then
                refused=$((refused + 1))
            elif [ $code != 0 ]; then
                tail -n 20 "$log" >&2
                complain "$document: as $who, this exits with $code: $script"
            fi
        done
        # Its programs are compiled with pkg-config, which only root can install.
        if [ $document = docs/library.md ] && [ ! -x "$root/usr/bin/pkg-config" ]; then
            refused=$((refused + 1))
            continue
        fi
        exports=$(cat /dev/null "$scratch/blocks"/* 2>/dev/null | grep '^export ' || true)
        ! grep -q '^```console' $document || types "$home/speclab" "$exports
            tests/docs.sh $first ~/.local/bin/speclab $document" || {
            cat "$log" >&2
            complain "$document: as $who"
        }
    done
    echo "fresh-check: as $who: $typed commands typed, $refused blocks need root and say so;" \
        "$(($(date +%s) - began)) s"
    rm -rf "$root"
}

reader root
reader visitor

# With sudo, apt installs the libraries.
root=$scratch/sudoer who=sudoer
new_system "$root" sudo git gcc make sudo
cp -R "$scratch/source" "$root/source"
new_user
echo "$who ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$who"
types /home/$who 'git clone "$URL" speclab && cd speclab && make libraries &&
    test ! -e build/libraries &&
    pkg-config --exists gsl jansson libpcre2-8 zlib cmocka' || {
    cat "$log" >&2
    complain "make libraries: as a user with sudo"
}
echo "fresh-check: as a user with sudo, make libraries installs them"
