#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists which mistakes that are in no table `speclab validate` finds.
#   tests/inventions.sh SPECLAB INVENTIONS.so [OPTION...]
speclab=$1 plugin=$2
shift 2
found=0 n=0
for name in residual-absolute residual-ratio residual-squared residual-cut second-chance last-free \
    bonus-no-repeat coin-8-bits draft-floor antithetic sticky-coin seed-float ratio-percent \
    third-free last-rows-swapped ids-16-bits residual-sure rare-dropped warp-again bonus-of-first \
    draft-no-repeat draft-smooth coin-by-token draft-row-late draft-sharp-sometimes every-16th \
    double-bonus draft-left-over page-boundary second-token; do
    $speclab validate "plugin:$plugin" --options $name "$@" >/dev/null 2>&1
    case $? in
        1) verdict=found found=$((found + 1)) ;;
        0 | 3) verdict=missed ;;
        *) verdict=broken ;;
    esac
    n=$((n + 1))
    printf '%-22s %s\n' "$name" "$verdict"
done
$speclab validate "plugin:$plugin" "$@" >/dev/null 2>&1
printf '%-22s %s\n' none "$([ $? -eq 0 ] && echo passes || echo 'FALSE ALARM')"
echo "$found of $n found"
