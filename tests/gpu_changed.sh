#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Exits 0 if the GPU tests must run in full, 1 if the quick part is enough, and says why.
# They run in full if their folders differ from the last release tag.
# Without a tag, they are compared with the trees that .ci/gpu_tested lists.
#   tests/gpu_changed.sh             tests/gpu_changed.sh --record: a full run has passed
# Files and tokenizers do not reach the GPU: its tests read weights that are in memory.
folders="models/gpu models/transformer/engine models/transformer/kernels
    tests/models/gpu tests/simulator"
trees() {
    echo "# SPDX-License-Identifier: GPL-3.0-or-later"
    for folder in $folders; do echo "$(git rev-parse "HEAD:$folder") $folder"; done
}
if [ "${1:-}" = --record ]; then
    [ -z "$(git status --porcelain -- $folders)" ] || {
        echo "gpu: not recorded in .ci/gpu_tested: commit the changes of $folders first"
        exit 0
    }
    trees >.ci/gpu_tested
    exit 0
fi
if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    echo "gpu: in full: there is no git history to compare with"
elif [ -n "$(git status --porcelain -- $folders)" ]; then
    echo "gpu: in full: there are uncommitted changes of" $folders
elif tag=$(git describe --tags --abbrev=0 2>/dev/null) &&
    git diff --quiet "$tag" HEAD -- $folders; then
    echo "gpu: a quick part: nothing has changed since $tag in $folders"
    exit 1
elif trees | cmp -s - .ci/gpu_tested; then
    echo "gpu: a quick part: .ci/gpu_tested lists the present trees of $folders"
    exit 1
else
    echo "gpu: in full: there are changes since ${tag:-the run of .ci/gpu_tested} in $folders"
fi
