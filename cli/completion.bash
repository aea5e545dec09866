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
    [ -z "$file" ] || awk '/^#/ { next }
        {
            sub(/\r$/, "")
            for (i = 1; i <= length; i++) {
                c = substr($0, i, 1)
                if (c == "\"" && quoted && substr($0, i + 1, 1) == c) { name = name c; i++ }
                else if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) { print name; name = "" }
                else name = name c
            }
            print name
            exit
        }' <"$file"
}

_speclab_words() { printf '%s\n' "$@"; }

# The names that an option of a verb takes, if any, each on a line.
_speclab_values() # VERB OPTION
{
    case $1:$2 in
    predict:-r) ;;
    *:--rule | *:-r) _speclab_list rules ;;
    accept:--drafting) _speclab_words chain lookup iid without top hub greedy tail ;;
    *:--drafting) _speclab_list drafts ;;
    *:--siblings) _speclab_words iid without top hub greedy tail ;;
    *:--policy) _speclab_list policies ;;
    *:--process | sweep:-p | predict:-p) _speclab_list processes ;;
    profile:--for) _speclab_words vllm sglang tensorrt-llm atom aiconfigurator dynamo inferencex ;;
    *:--target | *:--draft) _speclab_list models ;;
    *:--family) _speclab_words plain zeros levels equal near disjoint one-hot mixed every ;;
    *:--methods) _speclab_words chain k-ary branches delayed sequoia medusa dynamic ;;
    *:--device) _speclab_words cpu gpu auto ;;
    generate:--verify | bench:--verify) _speclab_words auto host device ;;
    *:--clock) _speclab_words wall processor ;;
    advise:--engine) _speclab_list logs ;;
    *:--positions) _speclab_words all rejected ;;
    *:--loss) _speclab_words ce fkl rkl jsd tv nla lk ;;
    *:--color) _speclab_words auto always never ;;
    *:--format | *:-f) _speclab_words table csv json markdown latex vertical ;;
    *:--type) _speclab_words q8_0 q4_0 bf16 f16 f32 ;;
    *:--method) _speclab_words bayes random exhaustive ;;
    *:--only) _speclab_tests fixture test mistake 'exact sampler' ;;
    *:--scopes) _speclab_words V DV S ;;
    *:--holds) _speclab_words rows top logprobs ;;
    plot:--figure | plot:-F) _speclab_list figures ;;
    plot:--terminal) _speclab_words svg png pdf tikz ;;
    plot:--legend) _speclab_words auto right bottom none ;;
    plot:--log) _speclab_words x y xy ;;
    plot:--x | plot:--y | plot:--by | plot:--facet | plot:--heat | plot:--where) _speclab_columns ;;
    run:--set)
        _speclab_words rounds= seed= standard_error= alpha= K= c= target= draft= rule= drafting= \
            policy= tokens=
        ;;
    esac
}

# Offers those of the names on standard input, each with a text before it, that begin with a word. A
# name may be foreign, such as that of a column: nothing in it is expanded, here or on the line.
_speclab_offer() # WORD BEFORE
{
    local name
    while IFS= read -r name; do
        name=$2$name
        [[ $name != *[!a-zA-Z0-9_.,:=+/@%-]* ]] || printf -v name %q "$name"
        [[ -z $name || $name != "$1"* ]] || COMPREPLY+=("$name")
    done
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
        [ "$COMP_CWORD" -ne 1 ] || names+=$'\nhelp\n--help\n--version'
    elif [[ $word == -* ]]; then
        names=$("$program" "$verb" --help 2>/dev/null |
            grep -oE -- '--[a-zA-Z][a-zA-Z-]*' | sort -u)
    elif [[ $before == -* ]] && names=$(_speclab_values "$verb" "$before") && [ -n "$names" ]; then
        [[ $word != *,* ]] || part=${word%,*}, # the last of a list
        [[ $names != *= ]] || compopt -o nospace
    elif [ "$verb" = list ]; then
        names=$(_speclab_words models drafts rules policies processes lengths measures logs \
            diagnoses figures devices experiments)
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
    _speclab_offer "$word" "$part" <<<"$names"
}
complete -F _speclab speclab
