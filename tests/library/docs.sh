#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the commands of documents about the library against a library that is installed in a scratch
# folder, as tests/docs.sh does.
#   tests/library/docs.sh [--update] SPECLAB FILE.md...
set -eu
cd "$(dirname "$0")/../.."
update=
[ "$1" = --update ] && { update=--update; shift; }
speclab=$1
shift
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage PREFIX=/usr cli/install.sh install "$speclab" >/dev/null
PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig LD_LIBRARY_PATH=$stage/usr/lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH
# shellcheck disable=SC2086
tests/docs.sh $update "$stage/usr/bin/speclab" "$@"
