#!/bin/sh
# Which mistakes are found that are in no table? Usage: tests/inventions.sh SPECLAB INVENTIONS.so [OPTION...]
speclab=$1 plugin=$2
shift 2
found=0 n=0
for name in residual-absolute residual-ratio residual-squared residual-cut second-chance last-free bonus-no-repeat \
    coin-8-bits draft-floor antithetic sticky-coin draft-no-repeat draft-smooth coin-by-token every-16th double-bonus \
    draft-left-over; do
    INVENTION=$name $speclab validate "plugin:$plugin" "$@" >/dev/null 2>&1
    case $? in
        1) verdict=found found=$((found + 1)) ;;
        0 | 3) verdict=missed ;;
        *) verdict=broken ;;
    esac
    n=$((n + 1))
    printf '%-18s %s\n' "$name" "$verdict"
done
INVENTION=none $speclab validate "plugin:$plugin" "$@" >/dev/null 2>&1
printf '%-18s %s\n' none "$([ $? -eq 0 ] && echo passes || echo 'FALSE ALARM')"
echo "$found of $n found"
