#!/bin/sh
# Starts the stand-in for redis:7-alpine as the real one is started: arguments that
# are options or a configuration file go to redis-server, clients from outside the
# container are let in without a password unless it is told otherwise, and as root it
# goes on as redis, where it may.
set -eu
case ${1:-} in '' | -* | *.conf) set -- redis-server "$@" ;; esac
[ "$1" = redis-server ] || exec "$@"

case " $* " in *' --protected-mode '* | *'.conf '*) ;; *) set -- "$@" --protected-mode no ;; esac
if [ "$(id -u)" = 0 ] && chown -R redis:redis . 2>/dev/null && su -s /bin/sh redis -c true 2>/dev/null; then
	exec su -s /bin/sh -c 'exec "$@"' -- redis sh "$@"
fi
exec "$@"
