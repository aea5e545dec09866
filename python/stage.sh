#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Puts together the Python package: its sources, the declarations of the library's header, the
# program's verbs, the experiments, and, if given, the library. setuptools builds it from that
# folder.
#   python/stage.sh FOLDER VERSION SPECLAB [LIBRARY]      STRIP=PROGRAM strips the library
set -eu
cd "$(dirname "$0")/.."
stage=$1 version=$2 program=$3 library=${4:-}
rm -rf "$stage"
mkdir -p "$stage/speclab/share/experiments" "$stage/licences"
cp python/pyproject.toml python/setup.py "$stage"
cp python/speclab/*.py python/speclab/py.typed "$stage/speclab"
python3 python/program_verbs.py "$program" >"$stage/speclab/program.py"
cp docs/python.md "$stage/README.md"
cp -R experiments/cfg experiments/text "$stage/speclab/share/experiments"
cp LICENSE "$stage/licences/speclab"
{
    echo '# SPDX-License-Identifier: GPL-3.0-or-later'
    echo '"""The declarations of the C library, as python/stage.sh finds them in its headers."""'
    echo
    echo "VERSION = \"$version\""
    echo 'DECLARATIONS = r"""'
    awk '/declarations for bindings begin/ { on = 1; next }
        /declarations for bindings end/ { on = 0 }
        on' include/speclab/sampler.h include/speclab/speclab.h
    echo '"""'
} >"$stage/speclab/header.py"
# The build's number depends on the folder of the build.
[ -z "$library" ] || ${STRIP:-strip} --strip-unneeded -R .note.gnu.build-id \
    -o "$stage/speclab/libspeclab.so.1" "$library"
