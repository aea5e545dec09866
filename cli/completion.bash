# bash completion for speclab: verbs, the options of a verb as its --help tells them, names from 'speclab list', and
# files.
_speclab()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} names=""
    _speclab_names()
    {
        "$program" list "$1" --format csv 2>/dev/null |
            sed -n -e '/^#/d' -e '1d;s/^[a-z]*,"\{0,1\}\([a-zA-Z0-9_-]*\).*/\1/p'
    }
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        names="$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p') --help --version"
    elif [ "$before" = --rule ] || { [ "$before" = -r ] && [ "$verb" != predict ]; }; then
        names=$(_speclab_names rules)
    elif [ "$before" = --siblings ] || { [ "$before" = --drafting ] && [ "$verb" = accept ]; }; then
        names="iid without top hub greedy"
        [ "$verb" != accept ] || names="$names chain lookup"
    elif [ "$before" = --drafting ]; then
        names=$(_speclab_names drafts)
    elif [ "$before" = --policy ]; then
        names=$(_speclab_names policies)
    elif [ "$before" = --target ] || [ "$before" = --draft ]; then
        names=$(_speclab_names models)
    elif [ "$before" = --device ]; then
        names="cpu gpu auto"
    elif [ "$before" = --process ]; then
        names=$(_speclab_names processes)
    elif [ "$before" = --siblings ]; then
        names="iid without top"
    elif [ "$before" = --methods ]; then
        names="chain k-ary branches delayed sequoia medusa dynamic"
    elif [ "$before" = --only ]; then
        names=$("$program" validate --list --format csv 2>/dev/null |
            sed -n -e 's/^fixture,\([^,]*\),.*/\1/p' -e 's/^test,\([^,]*\),.*/\1/p')
    elif [ "$before" = --scopes ]; then
        names="V DV S"
    elif [ "$before" = --color ]; then
        names="auto always never"
    elif [ "$before" = --format ] || [ "$before" = -f ]; then
        names="table csv json markdown"
    elif [[ $word == -* ]]; then
        names=$("$program" "$verb" --help 2>/dev/null | grep -oE -- '--[a-zA-Z-]+' | sort -u)
    elif [ "$verb" = list ]; then
        names="models drafts rules policies processes measures devices experiments"
    elif [ "$verb" = validate ] && [ "$word" = : ] && [ "$before" = rule ]; then
        word="" names=$(_speclab_names rules)
    elif [ "$verb" = validate ] && [ "$before" = : ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = rule ]; then
        names=$(_speclab_names rules)
    elif [ "$verb" = validate ]; then
        names=$("$program" validate --list --format csv 2>/dev/null | sed -n 's/^sampler,\([a-z]*:\).*/\1/p')
        compopt -o default -o nospace
    elif [ "$verb" = run ]; then
        names=$(_speclab_names experiments)
        compopt -o default
    else
        compopt -o default
    fi
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
}
complete -F _speclab speclab
