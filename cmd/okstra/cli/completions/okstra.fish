# okstra completion for fish. Load it with:
#   okstra completion fish | source
function __okstra_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct | string replace -r '^["\']' '')
    test (count $current) -eq 0; and set current ''
    # The value of --flag=value, and what stands before it.
    set -l head (string match -r '^--[^=]+=' -- $current)
    set -l value (string replace -r '^--[^=]+=' '' -- $current)
    for line in (okstra __complete -- $before "$current" 2>/dev/null)
        switch $line
            case ':file'
                for found in (__fish_complete_path "$value")
                    echo "$head$found"
                end
            case ':dir'
                for found in (__fish_complete_directories "$value")
                    echo "$head$found"
                end
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c okstra -f -a '(__okstra_complete)'
