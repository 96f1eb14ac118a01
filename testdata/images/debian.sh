#!/usr/bin/env bash
# Makes a small image from packages of Debian (or Ubuntu), without a registry:
#
#   debian.sh IMAGE [--change INSTRUCTION]... [--add FILE=/PATH]... PACKAGE...
#
# apt chooses and fetches what the packages depend on, as for a machine that has
# nothing; nothing is installed here, and root is not needed. It is unpacked, gets
# busybox for a shell and what else a system has, and is imported as one layer. What
# only packages' own installation scripts need (perl, debconf …) is left out, and so
# is documentation. The image is labelled sett.offline=1 and, in sett.packages, with
# what it was asked for. INSTRUCTION is one of docker import's: ENTRYPOINT, CMD …
set -euo pipefail

docker=${DOCKER:-docker}
image=$1
shift
changes=(--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
	--change 'LABEL sett.offline=1')
files=()
while [ "${1#--}" != "$1" ]; do
	case $1 in
	--change) changes+=(--change "$2") ;;
	--add) files+=("$2") ;;
	*) echo "debian.sh: no option $1" >&2 && exit 2 ;;
	esac
	shift 2
done

fail() { # cause hint
	echo "images: error: make $image from Debian packages: $1" >&2
	echo "images: hint: $2" >&2
	exit 1
}

for tool in apt-get dpkg-deb dpkg tar; do
	command -v "$tool" >/dev/null || fail "no $tool on this machine" \
		"let the engine reach a registry, or bring the image: docker save there, docker load here"
done
here=$(dpkg --print-architecture)
there=$("$docker" version --format '{{.Server.Arch}}')
if [ "$here" != "$there" ]; then
	fail "packages here are for $here, the engine is $there" "run it on a machine of the engine's kind"
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/deb" "$tmp/root"
root=$tmp/root

# choose prints what apt would install, for a machine that has no package at all. Its
# caches are for this machine's own packages and stay out of it.
choose() {
	apt-get --simulate -qq --no-install-recommends -o Dir::State::status=/dev/null \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= install busybox-static "$@" \
		2>"$tmp/apt.log" | awk '$1 == "Inst" { v = $3; sub(/^\(/, "", v); print $2 "=" v }'
}
cause() { sed -n 's/^E: //p' "$tmp/apt.log" | head -n 1; }

if ! choose "$@" >"$tmp/all"; then # no lists, as on a fresh machine, or no such package
	[ "$(id -u)" = 0 ] || fail "$(cause)" "apt-get update, as root"
	apt-get update -qq >"$tmp/apt.log" 2>&1 </dev/null || fail "apt-get update: $(cause)" "look at apt's sources and the network"
	choose "$@" >"$tmp/all" || fail "$(cause)" "look at apt's sources, and at the network"
fi
unneeded='adduser|passwd|base-passwd|debconf|cdebconf|dpkg|tar|perl.*|lib.*-perl|libperl.*|libgdbm.*|libdb5.*|libcrypt1|libpam.*'
unneeded+='|libaudit.*|libcap-ng0|libsemanage.*|libsepol.*|git-man|openssl|init-system-helpers|lsb-base|sysvinit-utils|usrmerge|gcc-.*-base'
grep -vE "^($unneeded)=" "$tmp/all" >"$tmp/list"

# Another process fetches as user _apt when this is root, who cannot write here.
(cd "$tmp/deb" && xargs apt-get -qq -o APT::Sandbox::User=root download <"$tmp/list") >"$tmp/apt.log" 2>&1 </dev/null ||
	fail "fetch packages: $(cause)" "apt-get update, if apt's lists are old; else look at the network"

# The top's directories lead into usr, before anything is put there.
for dir in bin sbin lib lib64; do
	mkdir -p "$root/usr/$dir"
	ln -s "usr/$dir" "$root/$dir"
done
for deb in "$tmp"/deb/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner \
		--exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/info' \
		--exclude='./usr/share/locale' --exclude='./usr/share/lintian' --exclude='./usr/share/bash-completion'
done

for applet in $("$root/bin/busybox" --list); do
	[ -e "$root/usr/bin/$applet" ] || [ -e "$root/usr/sbin/$applet" ] || ln -s busybox "$root/usr/bin/$applet"
done
mkdir -p "$root"/{etc/ssl/certs,dev,home,proc,root,run,sys,tmp,usr/local/bin,var/tmp}
chmod 1777 "$root/tmp" "$root/var/tmp"
[ -e "$root/var/run" ] || ln -s /run "$root/var/run"
printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'redis:x:999:1000::/data:/bin/sh' \
	'nobody:x:65534:65534::/:/bin/false' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'redis:x:1000:' 'nogroup:x:65534:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
if [ -d "$root/usr/share/ca-certificates" ]; then
	find "$root/usr/share/ca-certificates" -name '*.crt' -exec cat {} + >"$root/etc/ssl/certs/ca-certificates.crt"
fi
for file in ${files[@]+"${files[@]}"}; do
	install -D -m 755 "${file%%=*}" "$root${file#*=}"
done

asked=$(for p in "$@"; do grep "^$p=" "$tmp/list"; done)
tar -c -C "$root" --sort=name --owner=0 --group=0 --numeric-owner . |
	"$docker" import --platform "linux/$there" "${changes[@]}" \
		--change "LABEL sett.packages=\"${asked//$'\n'/ }\"" - "$image" >/dev/null
