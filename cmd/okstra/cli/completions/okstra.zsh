#compdef okstra
# okstra completion for zsh. Save it as _okstra in a folder of $fpath, or:
#   source <(okstra completion zsh)
_okstra() {
    local line
    local -a typed candidates beginnings
    typed=("${(@Q)words[2,CURRENT]}")
    typed[-1]=${typed[-1]#[\"\']} # of a quotation that is still open
    for line in "${(@f)$("${words[1]}" __complete -- "${(@)typed}" 2>/dev/null)}"; do
        case $line in
            :file) compset -P '--*='; _files ;;
            :dir) compset -P '--*='; _files -/ ;;
            :*) ;;
            *=) beginnings+=("$line") ;;
            ?*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( $#beginnings )) && compadd -S '' -a beginnings
    (( $#candidates )) && _describe okstra candidates
}
if [ "$funcstack[1]" = "_okstra" ]; then
    _okstra "$@"
else
    compdef _okstra okstra
fi
