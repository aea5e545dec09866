#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the wheel into an empty virtual environment and tests it there, without pandas. Then runs
# the commands of docs/python.md, where pip installs pandas at the end. With pandas it runs the
# tests of tables and the cells of docs/python.ipynb, and mypy checks a user's script and the
# package.
#   python/check.sh [--update] VERSION LIBRARY SPECLAB      --update writes what they print
#   python/check.sh --quick VERSION LIBRARY SPECLAB         the tests that need no program
set -eu
cd "$(dirname "$0")/.."
out=build/python how=
case $1 in --*) how=$1 && shift ;; esac
version=$1 library=$2 program=$3
SPECLAB=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
[ "$how" != --quick ] || SPECLAB=
export SPECLAB

# tests PYTHON [PATTERN]: from an empty folder, so that the sources are not found.
tests() {
    scratch=$(mktemp -d)
    root=$PWD
    (cd "$scratch" && "$1" -m unittest discover -s "$root/tests/python" -p "${2:-test_*.py}")
    rm -rf "$scratch"
}

if [ "$how" = --quick ]; then
    python/environment.sh $out/quick 'cffi>=1.15' 'numpy>=1.24'
    python/stage.sh $out/quick-package "$version" "$program" "$library"
    PYTHONPATH=$PWD/$out/quick-package tests "$PWD/$out/quick/bin/python"
    exit 0
fi

environment=$PWD/$out/empty
rm -rf "$environment"
python3 -m venv "$environment"
export PATH="$environment/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
pip install -q $out/speclab-*.whl
for command in 'predict --alpha 0.8 --K 3 --format csv' 'list experiments' \
    'prove --rule token,hsd' 'run speedup_table'; do
    # shellcheck disable=SC2086
    (cd / && "$environment/bin/speclab" $command 2>/dev/null) >$out/theirs
    # shellcheck disable=SC2086
    "$program" $command 2>/dev/null | cmp - $out/theirs ||
        { echo "python-check: the wheel's speclab $command prints something else" >&2 && exit 1; }
done
echo "python-check: the wheel's program prints what the built one does"
echo "python-check: tests without pandas"
tests python
update=
[ "$how" = --update ] && update=--update
# shellcheck disable=SC2086
tests/docs.sh $update "$program" docs/python.md
echo "python-check: tests with pandas"
python -c 'import pandas'
tests python test_tables.py
tests python test_program.py
pip install -q mypy
mypy --strict --no-incremental tests/python/typed.py
mypy --strict --no-incremental -p speclab
# shellcheck disable=SC2086
python3 tests/python/notebook.py $update docs/python.ipynb
