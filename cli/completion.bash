# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for speclab: verbs, options, names that an option takes, columns, and files.
# Options come from --help, names from 'speclab list' and 'speclab validate --list'.
# In a list with commas the last name is completed.
# zsh: autoload -U bashcompinit && bashcompinit, then source this file.

_speclab_list() # KIND: names of 'speclab list KIND'
{
    "$program" list "$1" --format csv 2>/dev/null |
        sed -n -e '/^#/d' -e '1d;s/^[a-z]*,"\{0,1\}\([a-zA-Z0-9_-]*\).*/\1/p'
}

_speclab_tests() # KIND...: names of 'speclab validate --list' of these kinds
{
    local kind
    for kind; do
        "$program" validate --list --format csv 2>/dev/null | sed -n "s/^$kind,\([^,?]*\).*/\1/p"
    done
}

_speclab_columns() # columns of the CSV on the command line
{
    local word file=""
    for word in "${COMP_WORDS[@]:2}"; do [[ $word != *.csv || ! -r $word ]] || file=$word; done
    [ -z "$file" ] || grep -v '^#' "$file" | head -n 1 | tr -d '"\r' | tr , ' '
}

# The names that an option of a verb takes, if any.
_speclab_values() # VERB OPTION
{
    case $1:$2 in
    predict:-r) ;;
    *:--rule | *:-r) _speclab_list rules ;;
    accept:--drafting) echo chain lookup iid without top hub greedy ;;
    *:--drafting) _speclab_list drafts ;;
    *:--siblings) echo iid without top hub greedy ;;
    *:--policy) _speclab_list policies ;;
    *:--process | sweep:-p) _speclab_list processes ;;
    *:--target | *:--draft) _speclab_list models ;;
    *:--family) echo plain zeros levels equal near disjoint one-hot mixed every ;;
    *:--methods) echo chain k-ary branches delayed sequoia medusa dynamic ;;
    *:--device) echo cpu gpu auto ;;
    generate:--verify | bench:--verify) echo auto host device ;;
    *:--clock) echo wall processor ;;
    advise:--engine) _speclab_list logs ;;
    *:--positions) echo all rejected ;;
    *:--loss) echo ce fkl rkl jsd tv nla lk ;;
    *:--color) echo auto always never ;;
    *:--format | *:-f) echo table csv json markdown latex vertical ;;
    *:--type) echo q8_0 q4_0 bf16 f16 f32 ;;
    *:--method) echo bayes random exhaustive ;;
    *:--only) _speclab_tests fixture test mistake ;;
    *:--scopes) echo V DV S ;;
    *:--holds) echo rows top logprobs ;;
    plot:--figure | plot:-F) _speclab_list figures ;;
    plot:--terminal) echo svg png pdf tikz ;;
    plot:--legend) echo auto right bottom none ;;
    plot:--log) echo x y xy ;;
    plot:--x | plot:--y | plot:--by | plot:--facet | plot:--heat | plot:--where) _speclab_columns ;;
    run:--set)
        echo rounds= seed= standard_error= alpha= K= c= target= draft= rule= drafting= policy= \
            tokens=
        ;;
    esac
}

_speclab()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} names="" part=""
    COMPREPLY=()
    # bash splits words at '=' and ':': --rule=tok is three words, and so is rule:tok.
    if [ "$word" = = ]; then
        word=""
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = help ]; }; then
        names=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p')
        [ "$COMP_CWORD" -ne 1 ] || names="$names help --help --version"
    elif [[ $word == -* ]]; then
        names=$("$program" "$verb" --help 2>/dev/null |
            grep -oE -- '--[a-zA-Z][a-zA-Z-]*' | sort -u)
    elif [[ $before == -* ]] && names=$(_speclab_values "$verb" "$before") && [ -n "$names" ]; then
        if [[ $word == *,* ]]; then # the last of a list
            part=${word%,*},
            names=$(printf "$part%s " $names)
        fi
        [[ $names != *= ]] || compopt -o nospace
    elif [ "$verb" = list ]; then
        names="models drafts rules policies processes lengths measures logs diagnoses figures"
        names="$names devices experiments"
    elif [ "$verb" = validate ] && [ "$word" = : ] && [ "$before" = rule ]; then
        word="" names=$(_speclab_list rules)
    elif [ "$verb" = validate ] && [ "$before" = : ] &&
        [ "${COMP_WORDS[COMP_CWORD - 2]}" = rule ]; then
        names=$(_speclab_list rules)
    elif [ "$verb" = validate ] && [[ $before != -* ]]; then
        names=$("$program" validate --list --format csv 2>/dev/null |
            sed -n 's/^sampler,\([a-z]*:\).*/\1/p')
        compopt -o default -o nospace
    elif [ "$verb" = run ] && [[ $before != -* ]]; then
        names=$(_speclab_list experiments)
        compopt -o default
    else
        compopt -o default
    fi
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
}
complete -F _speclab speclab
