package cli

import (
	"cmp"
	"errors"
	"time"

	"sett/contract/env"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

type upCmd struct {
	Runtime  string         `enum:",docker,process" default:"" placeholder:"docker|process" help:"Where agents run, instead of what sett.yml says."`
	Timeout  *time.Duration `placeholder:"DURATION" help:"How long it may take until every agent is ready, not counting images; 0 for as long as it takes (default: until nothing more became ready for 60s)."`
	RedisURL string         `name:"redis-url" placeholder:"URL" help:"Use this Redis as the blackboard, instead of what sett.yml says (default: $$SETT_REDIS_URL)."`
	Embedded bool           `help:"Use sett's own blackboard instead of Redis: with containers, which then need no image of it, or after a Redis of your own."`
	Adopt    bool           `name:"adopt-empty" help:"Go on with the blackboard as it is, though the ledger that it had is gone, another one or an older copy."`
	TakeOver bool           `name:"take-over" help:"Take the blackboard on a Redis of your own from the workspace that it belongs to, where nothing is at work on it."`
	DryRun   bool           `help:"Only say what would be done."`
	Host     string         `name:"orchestrator" enum:",container,host" default:"" placeholder:"container|host" help:"Where the orchestrator runs when agents are containers; on the host, no container gets the engine's socket."`
	instance.Consent
	term.Form
}

// Help is shown by `sett up --help`.
func (upCmd) Help() string {
	return `Starts the clan of sett.yml in the background: the blackboard, the orchestrator and
one cub per agent, and waits until every agent is ready. They survive the terminal;
sett down ends them. If something does not start, nothing is left running.

Agents run in containers of the engine that DOCKER_HOST or the current Docker context
names, or of the first that is found: Docker's, a rootless one, Podman's. Images that
are not there are pulled or built; sett itself needs none. Where this machine is not
Linux, what SETT_LINUX_BINARY names goes into the containers, or sett-linux-ARCH
beside this program. With --runtime process agents are programs of this machine,
which needs no engine and isolates nothing. An instance stays where it was started, if
neither --runtime nor sett.yml says where agents run.

Rights that the file takes beyond its own containers and the repository are asked for
once, and again where they grow: runtime: process, variables of this machine, files
outside the repository, images of Sett's own parts, notify, redis.url. Without a
terminal they need --yes, or --trust with the digest of sett config --digest. An
ordinary clan of containers, and your own flags, need neither. They are remembered
for the repository until sett down --purge.

A blackboard that is not the one of before, because it was emptied, replaced or set back,
is not used: nothing is granted until its data is back, or a backup is imported, or
--adopt-empty says to go on with it as it is.

An instance on a Redis of your own stays there, also where --redis-url, SETT_REDIS_URL and
redis.url are left out; --embedded begins with sett's own blackboard. One of containers
that has sett's own stays there, too, unless services.redis in sett.yml says otherwise.

On a Redis of your own each name belongs to the workspace that first used it there, on
whatever machine. Another workspace with that name is refused: give it another --name, or
--take-over where it is the same one, moved or cloned again, or the other's machine is gone.

The clan's own programs are taken from the working tree into the instance: those that
commands and bid scripts name, the other files of their folders, and the files of pin in
sett.yml. Agents run them as they are now, whatever becomes of the tree, until the next
sett up, which names the changed ones and restarts the agents that use them.

For an instance that runs already, sett up shows what changed in sett.yml and
applies just that. With --dry-run it does neither: it says what would be started,
stopped, pulled and built, in the form that -o names, and ends as sett up would where
that would not even begin. Whether an image can be pulled is not tried.

Examples: sett up
          sett up --runtime process
          sett up --dry-run -o json
          sett up --timeout 10s -f other.yml --name other`
}

// Run starts the instance, or applies the changes to a running one.
func (c *upCmd) Run(a *app) error {
	o := deploy.Options{Runtime: c.Runtime, Timeout: c.Timeout, RedisURL: cmp.Or(c.RedisURL, a.at.Getenv(env.OwnRedis)), Server: c.RedisURL, CAFile: a.at.Getenv(env.RedisCAFile), Embedded: c.Embedded, Orchestrator: c.Host, AdoptEmpty: c.Adopt, TakeOver: c.TakeOver, Consent: c.Consent}
	if c.DryRun {
		p, err := deploy.DryRun(a.ctx, a.at, o)
		if err != nil {
			return err
		}
		return a.Emit(c.Form, term.Shown{Whole: p, Table: func() error { return p.Write(a.at) }})
	}
	if !c.ForPeople() {
		return role.Fail(role.Usage, errors.New("-o goes with --dry-run"), "for the state of the instance: sett list -o %s", c.Output)
	}
	return deploy.Up(a.ctx, a.at, o)
}
