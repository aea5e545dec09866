#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the commands of documents about the library, as tests/docs.sh does, where a user has
# installed it: by the first block of shell commands in the first document, with an empty home
# folder and no other variables than it exports. Program, man pages and completion must be found.
#   tests/library/docs.sh [--update] SPECLAB FILE.md...
set -eu
cd "$(dirname "$0")/../.."
update=
[ "$1" = --update ] && { update=--update; shift; }
speclab=$1
shift
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
bad=0
complain() { echo "library: $*" >&2 && bad=1; }
# The version of the program is git's, which may need the user's settings.
[ ! -f "${HOME-}/.gitconfig" ] || export GIT_CONFIG_GLOBAL="$HOME/.gitconfig"
unset PKG_CONFIG_PATH LD_LIBRARY_PATH XDG_DATA_HOME MANPATH
export HOME="$stage/home" C_INCLUDE_PATH=
mkdir "$HOME"
sed -n '/^```sh$/,/^```$/{/^```/!p;/^```$/q}' "$1" >"$stage/install.sh"
grep -q '^make install' "$stage/install.sh" || {
    complain "$1 does not begin with the commands that install the library"
    exit 1
}
# shellcheck disable=SC1091
. "$stage/install.sh" >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
found=$(command -v speclab)
case $found in "$HOME"/*) ;; *) complain "'speclab' is $found" ;; esac
cmp -s "$speclab" "$found" || complain "$found is not $speclab"
cd "$HOME"
speclab list experiments | grep -q speedup_table || complain "speclab finds none of its files"
! command -v man >/dev/null || man -w speclab speclab-run >/dev/null || complain "man finds no page"
# where bash-completion looks
completion=$HOME/.local/share/bash-completion/completions/speclab
! command -v bash >/dev/null || bash -c ". $completion && complete -p speclab" >/dev/null ||
    complain "bash has no completion"
cd - >/dev/null
# shellcheck disable=SC2086
tests/docs.sh $update "$found" "$@" || bad=1
exit $bad
