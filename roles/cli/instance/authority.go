package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/container"
)

// The certificates that vouch for a rediss:// server lie beside the state as a copy, so that
// every command and part of the instance finds them, from any directory and without the variable. sett up
// replaces it. It lies in a directory of its own: containers mount that, and see a new copy.

// CADir is the directory of the copy.
func CADir(in *Instance) string { return filepath.Join(in.Dir, "redis-ca") }

// CAFile is the path of the copy. Where there is none, known authorities are trusted.
func CAFile(in *Instance) string { return filepath.Join(CADir(in), container.CAName) }

// KeepCA replaces the copy. Each container's user may read it. Empty: there is none from now on.
func KeepCA(in *Instance, text []byte) (err error) {
	defer func() {
		if err != nil {
			err = role.Fail(role.Environment, fmt.Errorf("keep the CA file: %w", err), "")
		}
	}()
	if len(text) == 0 {
		return os.RemoveAll(CADir(in))
	}
	if err := os.MkdirAll(CADir(in), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(CADir(in), ".ca.*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close(), os.Chmod(CADir(in), 0o755)); err == nil {
		err = os.Rename(f.Name(), CAFile(in))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// caOf is the file of certificates for an instance's server: the copy; else that of the variable,
// with which an older sett started it.
func caOf(on *term.Terminal, in *Instance) string {
	if _, err := os.Stat(CAFile(in)); !errors.Is(err, fs.ErrNotExist) {
		return CAFile(in)
	}
	named := on.Getenv(env.RedisCAFile)
	if whole, err := filepath.Abs(named); err == nil && named != "" {
		return whole
	}
	return named
}

// To says how to connect to an instance's own blackboard.
func To(on *term.Terminal, in *Instance, as string) Connection {
	return Connection{URL: in.URL, Instance: in.Name, As: as, Mark: in.Mark(), CAFile: caOf(on, in)}
}

// Remedy is the hint about a server that refuses, or that is not trusted; empty: the error is
// about something else.
func Remedy(err error) string {
	if denied := (*blackboard.DeniedError)(nil); errors.As(err, &denied) {
		return denied.Remedy()
	}
	switch redis.RefusalOf(err) {
	case redis.RefusedLogin:
		return (&blackboard.DeniedError{Login: true}).Remedy()
	case redis.RefusedRight:
		return (&blackboard.DeniedError{}).Remedy()
	case redis.RefusedCAFile:
		return "sett up copies the file that redis.ca_file in " + ConfigName + ", or " + env.RedisCAFile + ", names"
	case redis.RefusedAuthority:
		return "redis.ca_file in " + ConfigName + ", or " + env.RedisCAFile + ", names a PEM file with the certificate of the CA that signed that server's; sett up reads it"
	case redis.RefusedName:
		return "name that server in the URL as its certificate does, or give it a certificate for that name"
	case redis.RefusedDate:
		return "renew the certificate of that server, or set the clock of this machine right"
	case redis.RefusedOther:
		return "give that server a certificate for servers, signed by a CA"
	case redis.RefusedPlain:
		return "that server speaks no TLS at this port: redis:// in place of rediss://, or its other port"
	case redis.RefusedTLS:
		return "that server speaks TLS at this port: rediss:// in place of redis://, or its other port"
	case redis.RefusedClient:
		return "that server wants a certificate of its clients, and Sett has none: tls-auth-clients no, there"
	case redis.RefusedClients:
		return "raise maxclients of that server, or end clients that nobody needs: CLIENT LIST and CLIENT KILL, there"
	}
	return ""
}

// Cure is the hint about an instance's blackboard, which does not answer or refuses; empty: its log says more.
func Cure(in *Instance, err error) string {
	if errors.Is(err, blackboard.ErrBusy) {
		return busyCure(in)
	}
	if server := blackboard.MendableOf(err); server != nil {
		return server.Remedy()
	}
	if hint := Remedy(err); hint != "" || !in.External {
		return hint
	}
	return Silent(in.URL) + " sett up takes it from redis.url in " + ConfigName + ", --redis-url or " + env.OwnRedis
}

// busyCure is the way out when a script keeps the blackboard busy.
func busyCure(in *Instance) string {
	cure := "the orchestrator ends such a script within seconds; if it does not: sett logs --name " + in.Name + " orchestrator"
	if in.External {
		cure += "; on that server: SCRIPT KILL, and where it answers UNKILLABLE: SHUTDOWN NOSAVE, and a new start"
	}
	return cure
}

// Silent is the hint about a server that does not answer at that URL.
func Silent(url string) string {
	if strings.HasPrefix(url, "rediss://") {
		return "is that server up, with TLS at that port and tls-auth-clients no, and the URL right?"
	}
	return "is that server up, and the URL right?"
}
