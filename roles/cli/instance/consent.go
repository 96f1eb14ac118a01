package instance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/role"
)

// Consent are the flags that agree to rights of sett.yml in place of an answer.
type Consent struct {
	Yes   bool   `short:"y" help:"Agree to the rights that sett.yml takes, without a question."`
	Trust string `placeholder:"DIGEST" help:"Agree to them if they are those of DIGEST, of sett config --digest; its first 12 digits will do."`
}

// Request is the rights that a command needs before it does anything.
type Request struct {
	Rights []config.Right // of sett.yml: the digest covers them
	Beyond []config.Right // of sett.yml in the runtime that is used, which it does not name: no digest covers them
	Said   []config.Right // to which a flag agrees, such as --runtime process: they are remembered
	Needs  []config.Right // of the command, but for those that flags gave
	File   string         // the path of sett.yml
}

// leastDigest is how many digits of a digest are enough to tell it.
const leastDigest = 12

// errRefused says that nobody agreed.
var errRefused = errors.New("its rights were not agreed to; nothing was done")

// Growth returns the needed rights that nobody agreed to yet. A digest that is not that
// of the rights is an error.
func (c Consent) Growth(l *Locator, r Request) ([]config.Right, error) {
	if err := c.check(l, r); err != nil {
		return nil, err
	}
	agreed, err := AgreedFor(l, r.File)
	if err != nil {
		return nil, err
	}
	return agreed.Growth(r.Needs), nil
}

// Settle returns when the needed rights are agreed to and remembered. It asks for those
// that grew, if no flag agrees. A tool cannot agree by a flag: that is a person's word.
func (c Consent) Settle(l *Locator, r Request) error {
	if err := c.check(l, r); err != nil {
		return err
	}
	agreed, err := AgreedFor(l, r.File)
	if err != nil {
		return err
	}
	grown := agreed.Growth(r.Needs)
	above, inTool := role.InTool(l.Env)
	switch {
	case len(grown) == 0:
	case inTool, !c.Yes && (c.Trust == "" || r.goesBeyond(grown)):
		if agreed.foreign {
			l.Sayf("sett: note: another repository was in %s before, or another clone; its agreed rights do not count for this one\n", role.Clean(l.Tilde(agreed.Repository)))
		}
		if err := c.ask(l, r, grown, above); err != nil {
			return err
		}
		if agreed, err = AgreedFor(l, r.File); err != nil { // as it is after the time of a question
			return err
		}
	default:
		for _, right := range grown {
			l.Sayf("sett: note: agreed: %s\n", shown(right))
		}
	}
	if !inTool {
		grown = append(grown, agreed.Growth(r.Said)...)
	}
	if len(grown) == 0 && !agreed.unbound() {
		return nil
	}
	return added(agreed.Add(grown))
}

// goesBeyond says whether rights that grew are in no digest.
func (r Request) goesBeyond(grown []config.Right) bool {
	return slices.ContainsFunc(grown, func(g config.Right) bool { return slices.Contains(r.Beyond, g) })
}

// added is the error of rights that could not be remembered.
func added(err error) error {
	return role.Fail(role.Environment, err, "instances are kept below XDG_STATE_HOME, which has to be writable")
}

// check compares --trust with the digest.
func (c Consent) check(l *Locator, r Request) error {
	if c.Trust == "" {
		return nil
	}
	is, given := config.RightsDigest(r.Rights), strings.ToLower(c.Trust)
	if _, err := hex.DecodeString(given + strings.Repeat("0", len(given)%2)); err != nil || len(given) < leastDigest {
		return role.Fail(role.Usage, fmt.Errorf("--trust: %q is no digest, nor its first %d digits", role.Clean(c.Trust), leastDigest), "sett config --digest")
	}
	if !strings.HasPrefix(is, given) {
		return role.Fail(role.Usage, fmt.Errorf("--trust: the digest of %s is now %s", role.Clean(l.Relative(r.File)), is), "sett config --digest shows its rights")
	}
	return nil
}

// ask lists the rights that grew, and asks for them on the terminal.
func (c Consent) ask(l *Locator, r Request, grown []config.Right, tool string) error {
	file := role.Clean(l.Relative(r.File))
	if !role.IsTerminal(l.Stdin) {
		lines := []string{file + " takes rights that were not agreed to:"}
		for _, right := range grown {
			lines = append(lines, shown(right))
		}
		hint := r.flags(grown, " agrees")
		if tool != "" {
			hint = "this runs inside an agent's tool (" + role.Clean(tool) + "): type the command in a terminal of your own"
		}
		return role.Fail(role.Usage, errors.New(strings.Join(lines, "\n")), "%s", hint)
	}
	_, _ = fmt.Fprintf(l.Prompt, "%s takes rights beyond its containers and the repository:\n", file)
	for _, right := range grown {
		_, _ = fmt.Fprintf(l.Prompt, "  %s\n", shown(right))
	}
	ok, err := l.Confirm("Agree, for this repository?", r.flags(grown, ""))
	if err == nil && !ok {
		err = role.Fail(role.Failed, fmt.Errorf("%s: %w", file, errRefused), "")
	}
	return err
}

// flags are those that agree to rights that grew.
func (r Request) flags(grown []config.Right, verb string) string {
	if r.goesBeyond(grown) {
		return "--yes" + verb
	}
	return "--yes" + verb + ", or --trust " + config.RightsDigest(r.Rights)
}

// shown is a right on a line for people.
func shown(r config.Right) string { return role.Clean(r.Key + ": " + r.Text) }

// tryRight is the right of sett try where sett.yml has its agents in containers.
var tryRight = config.Right{Key: "try", Text: "runs programs of sett.yml on this machine, without containers"}

// TryRequest is the rights that a sett try of an agent needs: the agent's program is one
// of this machine, and gets the agent's variables. The runtime is that which sett.yml itself
// names, else empty; that of the configuration may be the one of before.
//
// In a container it needs the variables, and the files of the agent's build.
func TryRequest(l *Locator, c *config.Config, runtime, file, agent string, inContainer bool) (Request, error) {
	rights, err := Rights(l, c, runtime, file)
	if err != nil {
		return Request{}, err
	}
	used, err := Rights(l, c, c.Runtime, file)
	if err != nil {
		return Request{}, err
	}
	r := Request{Rights: rights, Beyond: Without(used, rights), File: file}
	programs, asked := []config.Right{tryRight}, "models. " // is no key
	if a, ok := c.Agent(agent); ok && a.LLM != nil {
		asked = "models." + a.LLM.Model + "."
	}
	for _, right := range slices.Concat(r.Rights, r.Beyond) {
		switch right.Key {
		case "runtime":
			programs[0] = right
		case "local.write":
			programs = append(programs, right)
		case "agents." + agent + ".build.context", "agents." + agent + ".build.dockerfile":
			if inContainer {
				r.Needs = append(r.Needs, right)
			}
		case "agents." + agent + ".environment":
			r.Needs = append(r.Needs, right)
		}
		if strings.HasPrefix(right.Key, asked) {
			r.Needs = append(r.Needs, right)
		}
	}
	if !inContainer {
		r.Needs = append(r.Needs, programs...)
	}
	return r, nil
}

// AgreeToOwn remembers that all rights of a sett.yml are agreed to that sett itself wrote.
func AgreeToOwn(l *Locator) error {
	c, file, err := l.Config()
	if err != nil {
		return err
	}
	rights, err := Rights(l, c, c.Runtime, file)
	if err != nil {
		return err
	}
	agreed, err := AgreedFor(l, file)
	if err != nil {
		return err
	}
	return added(agreed.Add(append(rights, tryRight)))
}
