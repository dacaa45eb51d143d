# okstra completion for bash. Load it with:
#   source <(okstra completion bash)
_okstra() {
    # bash cuts words at = : and @ as well. Here they are put together again;
    # what readline is to replace is $2, the end of the last one.
    local line rest=${COMP_LINE:0:COMP_POINT} typed i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        typed=${rest#"${rest%%[![:space:]]*}"}
        if ((i == 0)) || [[ $typed != "$rest" || -z $rest ]]; then
            words+=("")
        fi
        if ((i < COMP_CWORD)); then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
            rest=${typed#"${COMP_WORDS[i]}"}
        else
            words[${#words[@]} - 1]+=$typed
        fi
    done
    for i in "${!words[@]}"; do
        words[i]=${words[i]//[\"\'\\]/}
    done
    typed=${words[${#words[@]} - 1]}
    local head=${typed%"$2"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :file) compopt -o default 2>/dev/null ;;
            :dir) compopt -o dirnames 2>/dev/null ;;
            :*) ;;
            *)
                line=${line%%$'\t'*}
                [[ $line == *= ]] && compopt -o nospace 2>/dev/null
                COMPREPLY+=("${line#"$head"}")
                ;;
        esac
    done < <("$1" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _okstra okstra
