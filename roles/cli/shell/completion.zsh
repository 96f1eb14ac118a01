#compdef sett
# Completion of sett for zsh; sett completion --help says where it goes.
_sett() {
	local me=${(Q)words[1]} line
	local -a before out values
	me=${me/#\~\//$HOME/}
	(( $+commands[$me] )) || [[ $me = */* && -x $me ]] || me=sett
	(( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
	out=("${(@f)$(command "$me" __complete -- zsh "${before[@]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
	case $out[1] in
	:files | :dirs)
		[[ $PREFIX = -*=* ]] && compset -P '*='
		if [[ $out[1] = :dirs ]]; then _files -/; else _files; fi
		return
		;;
	esac
	for line in "${(@)out[2,-1]}"; do
		values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	(( $#values )) && _describe -V values values -M 'm:{a-z}={A-Z}'
}
# As a file of $fpath this is the function's body; else it is what defines it.
if [[ $funcstack[1] = _sett ]]; then
	_sett "$@"
else
	# A zsh without a start file has no completion at all. -i: it asks nothing about directories of others.
	(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
	compdef _sett sett
fi
