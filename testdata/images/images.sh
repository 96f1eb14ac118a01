#!/usr/bin/env bash
# Makes the images that the tests and the examples use, as far as the engine lacks
# them. Each is looked for, then pulled (for 20 s at most), then built:
#
#   redis:7-alpine    a stand-in, from the redis-server of Debian
#   sett-base:local   a POSIX shell, git, jq, certificates: on alpine where a
#                     registry answers, else from Debian packages
#   alpine/git:…      a stand-in for the image of the repository, from sett-base:local
#
# What is made from Debian packages needs no registry and carries the label
# sett.offline=1. Without an engine nothing is made, and that is no error: the
# tests name what they could not run.
#
#   images.sh         makes them
#   images.sh base    prints what to build agents on: alpine:3.20 or sett-base:local
#
# It speaks to the engine through the docker command; DOCKER names another.
set -euo pipefail
cd "$(dirname "$0")"

docker=${DOCKER:-docker}
redis=redis:7-alpine base=sett-base:local alpine=alpine:3.20 git=alpine/git:v2.49.1
registry=unknown # yes or no, once it was tried

# bounded runs a command for so many seconds at most, where that can be done.
bounded() {
	if command -v timeout >/dev/null; then
		timeout "$@"
	else
		shift
		"$@"
	fi
}

have() { "$docker" image inspect "$1" >/dev/null 2>&1; }

# pull gets an image from its registry. One that did not answer is not asked again.
pull() {
	if [ "$registry" = no ]; then return 1; fi
	if bounded 20 "$docker" pull --quiet "$1" >/dev/null 2>&1; then
		registry=yes
	else
		registry=no
		return 1
	fi
}

made() { echo "images: made $1${2:+, $2}" >&2; }

make_redis() {
	if have "$redis"; then return; fi
	if pull "$redis"; then
		made "$redis" 'pulled'
		return
	fi
	./debian.sh "$redis" --add redis-entrypoint.sh=/usr/local/bin/docker-entrypoint.sh \
		--change 'ENTRYPOINT ["docker-entrypoint.sh"]' --change 'CMD ["redis-server"]' \
		--change 'WORKDIR /data' --change 'VOLUME /data' --change 'EXPOSE 6379' redis-server
	made "$redis" "a stand-in from Debian packages; to have the real one: $docker image rm $redis"
}

make_base() {
	if have "$base"; then return; fi
	if have "$alpine" || pull "$alpine"; then
		if bounded 90 "$docker" build --quiet --force-rm --tag "$base" - <base.Dockerfile >/dev/null; then
			made "$base" "on $alpine"
			return
		fi
		echo "images: $base cannot be built on $alpine; trying Debian packages" >&2
	fi
	./debian.sh "$base" --change 'CMD ["sh"]' git jq ca-certificates
	made "$base" 'from Debian packages'
}

# make_git takes the base, whose git is enough, with the entrypoint of the real image.
make_git() {
	if have "$git"; then return; fi
	if pull "$git"; then
		made "$git" 'pulled'
		return
	fi
	make_base
	container=$("$docker" create "$base" true)
	"$docker" commit --change 'ENTRYPOINT ["git"]' --change 'LABEL sett.offline=1' "$container" "$git" >/dev/null
	"$docker" rm "$container" >/dev/null
	made "$git" "a stand-in on $base; to have the real one: $docker image rm $git"
}

if ! command -v "$docker" >/dev/null; then
	echo "images: none made: no $docker command" >&2
	exit 0
fi
if ! bounded 20 "$docker" version --format '{{.Server.Version}}' >/dev/null 2>&1; then
	echo "images: none made: no container engine answers to $docker" >&2
	exit 0
fi

# One at a time: two that make the same image leave one of them without a name.
if command -v flock >/dev/null; then
	exec 9>>"${TMPDIR:-/tmp}/sett-images.$(id -u).lock"
	flock 9
fi

case ${1:-all} in
all)
	make_redis
	make_base
	make_git
	;;
base)
	if have "$alpine" || pull "$alpine"; then
		echo "$alpine"
	else
		make_base
		echo "$base"
	fi
	;;
*)
	echo "usage: images.sh [all|base]" >&2
	exit 2
	;;
esac
