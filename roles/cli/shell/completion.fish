# Completion of sett for fish; sett completion --help says where it goes.
function __sett_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l me (string replace -r '^~/' "$HOME/" -- $words[1])
    command -q $me; or set me sett
    set -l out (command $me __complete -- fish $words[2..-1] "$word" 2>/dev/null </dev/null)
    set -l before (string match -r -- '^--[^=]*=' $word)
    set -l path (string replace -r -- '^--[^=]*=' '' $word)
    switch "$out[1]"
        case :files
            for file in (__fish_complete_path $path)
                echo -- "$before$file"
            end
        case :dirs
            for dir in (__fish_complete_directories $path '')
                echo -- "$before$dir"
            end
        case '*'
            string join \n -- $out[2..-1]
    end
end
complete -c sett -f -k -a '(__sett_complete)'
