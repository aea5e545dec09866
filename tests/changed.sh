#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Exits 0 if a long check must run, 1 if it has passed with these files and folders, and says why.
#   tests/changed.sh NAME PATH...            compares them with the last release tag, or else with
#                                            .ci/NAME_tested, which lists them as git has them
#                                            A Markdown file is compared by its commands alone.
#   tests/changed.sh --record NAME PATH...   writes .ci/NAME_tested: the check has passed
# With CI_ALL=1 every check must run.
cd "$(dirname "$0")/.." || exit 2
record=
[ "$1" = --record ] && record=yes && shift
name=$1
shift
trees() {
    echo "# SPDX-License-Identifier: GPL-3.0-or-later"
    for path in "$@"; do
        case $path in
        *.md) echo "$(git show "HEAD:$path" | awk '
            /^```/ { fenced = !fenced; shows = /console/; typed = fenced && !/math/ }
            typed && (!shows || /^[$] /)' |
            git hash-object --stdin) $path" ;;
        *) echo "$(git rev-parse "HEAD:$path") $path" ;;
        esac
    done
}
git rev-parse -q --verify HEAD >/dev/null 2>&1 || {
    [ -n "$record" ] || echo "$name: runs: there is no git history to compare with"
    exit 0
}
edited=$(git status --porcelain -- "$@")
if [ -n "$record" ]; then
    [ -z "$edited" ] || echo "$name: not recorded in .ci/${name}_tested: commit the changes first"
    [ -n "$edited" ] || trees "$@" >".ci/${name}_tested"
elif [ -n "${CI_ALL:-}" ]; then
    echo "$name: runs: CI_ALL is set"
elif [ -n "$edited" ]; then
    echo "$name: runs: there are uncommitted changes of" $edited
elif tag=$(git describe --tags --abbrev=0 2>/dev/null) && git diff --quiet "$tag" HEAD -- "$@"; then
    echo "$name: nothing has changed since $tag in $*"
    exit 1
elif trees "$@" | cmp -s - ".ci/${name}_tested"; then
    echo "$name: it passed with the present $*"
    exit 1
else
    echo "$name: runs: there are changes since ${tag:-the last pass} in $*"
fi
