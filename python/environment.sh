#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes a virtual environment with packages of PyPI, unless it is there already.
#   python/environment.sh FOLDER PACKAGE...      exit 2, with one line: pip cannot install them
set -eu
folder=$1
shift
made="$*"
[ -f "$folder/made" ] && [ "$(cat "$folder/made")" = "$made" ] && exit 0
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check \
    --retries 1 "$@"; } >"$log" 2>&1; then
    rm -rf "$folder"
    echo "pip cannot install $*: $(grep -v '^$' "$log" | tail -n 1)" >&2
    exit 2
fi
echo "$made" >"$folder/made"
