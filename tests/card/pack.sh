#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Packs programs for a machine with an NVIDIA GPU and little else: x86-64, glibc and the driver.
#   tests/card/pack.sh FOLDER BUILD FILE...
# FOLDER is made anew: the files, in the places that they have below BUILD; their libraries, but for
# those of glibc; two small trained models from SPECLAB_DATA, if they are there; and the scripts.
set -eu
folder=$1 build=$2
shift 2
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder/lib" "$folder/data"
for file in "$@"; do
    to=$folder/${file#"$build"/}
    mkdir -p "$(dirname "$to")"
    cp "$file" "$to"
    strip --strip-debug "$to"
done
mv "$folder"/libspeclab.so "$folder/lib/"
for file in "$@"; do ldd "$file"; done | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libspeclab)\.so' |
    xargs -I{} cp -L {} "$folder/lib/"
for file in babyllama/target.bin babyllama/draft.bin babyllama/tokenizer.bin \
    stories260K/stories260K.bin stories260K/tokenizer.bin; do
    from=${SPECLAB_DATA:-/nowhere}/$file
    [ ! -f "$from" ] || install -D -m 644 "$from" "$folder/data/$file"
done
install "$here/run.sh" "$folder/"
install "$here/../run.sh" "$folder/tests/"
git describe --always --dirty >"$folder/commit" 2>/dev/null || echo unknown >"$folder/commit"
newest=$(find "$folder" -type f -exec objdump -T {} + 2>/dev/null |
    grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
echo "$folder: $(du -sh "$folder" | cut -f 1), for $newest and later; run its run.sh"
