# Completion of sett for bash; sett completion --help says where it goes.
_sett() {
	local me=${1/#\~\//$HOME/} line kind=''
	type -P -- "$me" >/dev/null || me=sett
	COMPREPLY=()
	while IFS= read -r line; do
		if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("$line"); fi
	done < <("$me" __complete -- bash "$COMP_WORDBREAKS" "${COMP_TYPE-}" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
	# bash 3 has no compopt: there files are offered where there is nothing else.
	case $kind in
	:files) compopt -o default 2>/dev/null ;;
	:dirs) compopt -o dirnames 2>/dev/null ;;
	esac
	return 0
}
if type compopt >/dev/null 2>&1; then
	complete -o nosort -F _sett sett 2>/dev/null || complete -F _sett sett
else
	complete -o default -F _sett sett
fi
