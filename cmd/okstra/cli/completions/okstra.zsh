#compdef okstra
# okstra completion for zsh. Save it as _okstra in a folder of $fpath, or:
#   source <(okstra completion zsh)
_okstra() {
    local line
    local -a candidates
    for line in "${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            :file) _files ;;
            :dir) _files -/ ;;
            :*) ;;
            ?*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (( $#candidates )) && _describe okstra candidates
}
if [ "$funcstack[1]" = "_okstra" ]; then
    _okstra "$@"
else
    compdef _okstra okstra
fi
