# okstra completion for fish. Load it with:
#   okstra completion fish | source
function __okstra_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    test (count $current) -eq 0; and set current ''
    for line in (okstra __complete -- $before "$current" 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path "$current"
            case ':dir'
                __fish_complete_directories "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c okstra -f -a '(__okstra_complete)'
