#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds a release again in another folder and compares all bytes; checks the sums and the SBOM.
#   packaging/release_check.sh FOLDER COMMIT      FOLDER has the release, as packaging/release.sh
set -eu
cd "$(dirname "$0")/.."
release=$1/release-$(git show "$2:Makefile" | sed -n 's/^VERSION *:= *//p')
(cd "$release" && sha256sum --check --quiet SHA256SUMS)
python/environment.sh build/python/spdx spdx-tools
build/python/spdx/bin/pyspdxtools -i "$release"/*.spdx.json
again=$(mktemp -d -t another-folder-XXXXXX)
trap 'rm -rf "$again"' EXIT
TMPDIR=$again packaging/release.sh "$again" "$2" >/dev/null
diff "$release/SHA256SUMS" "$again"/release-*/SHA256SUMS || {
    echo "release-check: another folder gives other bytes" >&2
    exit 1
}
echo "release-check: $(wc -l <"$release/SHA256SUMS") files are the same from another folder"
