package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// agentLines puts lines at the level of an agent's keys; the first is line 5.
func agentLines(lines ...string) string {
	s := "agents:\n  a:\n    image: i\n    command: [/run]\n"
	for _, l := range lines {
		s += "    " + l + "\n"
	}
	return s
}

// mergeBomb is small and would have 200 times as many entries once merged.
func mergeBomb(n int) string {
	s := "a: &x\n"
	for i := range n {
		s += fmt.Sprintf("  k%d: 1\n", i)
	}
	return s + strings.Repeat("b: {<<: *x}\n", n)
}

// problemCases has every kind of error with its exact place. Where several are
// expected they are in file order.
type problemCase struct {
	name   string
	source string
	want   []string // line:column: message | hint
}

var problemCases = []problemCase{
	{"empty", "", []string{"1:1: the file is empty | sett init"}},
	{"no document", "# a\n---\n", []string{"1:1: the file is empty"}},
	{"only null", "~", []string{"1:1: the file is empty"}},
	{"not a mapping", "- a\n", []string{"1:1: the file must be a mapping, not a list"}},
	{"scalar", "\n  hello\n", []string{"2:3: the file must be a mapping, not text"}},
	{"syntax", "a: 1\nb: [1\n", []string{"2:4: not YAML: sequence end token ']' not found | what follows"}},
	{"conflict", "agents:\n<<<<<<< HEAD\n  a: {command: [x]}\n=======\n  b: {command: [x]}\n>>>>>>> other\n", []string{"2:1: a merge conflict that nobody has settled | git diff shows both sides"}},
	{"tabs", "agents:\n\ta: 1\n", []string{"2:1: not YAML: a tab where spaces belong | YAML wants spaces"}},
	{"not UTF-8", "agents:\n  é: \xff\n", []string{"2:6: not UTF-8 | save the file"}},
	{"too large", strings.Repeat("#", MaxSource+1), []string{"1:1: the file is larger than 256 KiB"}},
	{"second document", minimal + "---\nversion: 1\n", []string{"3:1: a second document | one file"}},
	{"too deep", agentLines("prompts: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)),
		[]string{"5:46: nested more than 32 levels deep"}},
	{"too deep in blocks", agentLines("prompts:", strings.Repeat("- ", 40)), []string{"6:5: agents.a.prompts must be a mapping, not a list", "6:65: nested more than 32 levels deep"}},
	{"too many keys", strings.Repeat("a:\n", maxMarks+1), []string{"10001:2: more than 10000 keys and list items"}},
	{"tag", agentLines("role: !!str 5", "network: !!int x", "warm: !!str 1"), []string{"6:14: agents.a.network: unknown value", "7:11: agents.a.warm must be a whole number, not text"}},
	{"list as key", "? [a]\n: b\n", []string{"2:1: not YAML"}},
	{"alias as key", minimal + "? *x\n: 2\n", []string{"2:3: this cannot be a key", `2:3: unknown key ""`}},
	{"merge twice", agentLines("<<: [{role: user}, {role: human}, *x]"), []string{`5:17: agents.a.role: "user" is`, `5:39: unknown alias`}},
	{"unknown alias", agentLines("role: *x"), []string{`5:11: unknown alias "*x"`}},
	{"alias inside itself", agentLines("prompts: &x [*x]"), []string{"5:17: agents.a.prompts must be", `5:18: unknown alias`}},
	{"unknown tag", agentLines("role: !x y"), []string{`5:11: unknown tag "!x" | leave the tag out`}},
	{"merge of text", agentLines("<<: x"), []string{"5:5: << wants a mapping, not text"}},

	{"open reference", agentLines("environment: {A: 'x ${B'}"), []string{"5:22: agents.a.environment.A: ${ without } | as in ${NAME}"}},
	{"open default", agentLines("environment: ['A=${B:-${C}']"), []string{"5:19: agents.a.environment.A: ${ without }"}},
	{"reference to nothing", agentLines("environment: ['A=${}']"), []string{"5:19: agents.a.environment.A: ${ without the name"}},
	{"reference by position", agentLines("environment: ['A=${1}']"), []string{"5:19: agents.a.environment.A: ${ without the name"}},
	{"reference with an unknown operator", agentLines("environment: ['A=${B%x}']"), []string{`5:19: agents.a.environment.A: ${B is followed by "%"`}},

	{"defaults as list", "defaults: [a]\n" + minimal, []string{"1:11: defaults must be a mapping, not a list"}},
	{"fault in defaults", "defaults: {imgae: i, comand: [x], timeout: 5}\nagents: {a: {}, b: {}}\n", []string{
		`1:12: unknown key "imgae" in defaults | did you mean "image"?`, `1:22: unknown key "comand" in defaults`, "1:44: defaults.timeout is not a duration"}},
	{"defaults without command", "defaults: {image: i}\nagents: {a: {}}\n", []string{"2:10: agents.a has no command"}},
	{"defaults without image", "defaults: {command: [x]}\nagents: {a: {}}\n", []string{"2:10: agents.a has neither image nor build"}},
	{"image and build in defaults", "defaults: {image: i, build: .}\nagents: {a: {command: [x]}}\n", []string{"1:22: agents.a has both image and build"}},
	{"agents misspelt beside defaults", "defaults: {timeot: 5s}\n", []string{"1:1: no agents", `1:12: unknown key "timeot" in defaults | did you mean "timeout"?`}},

	{"no agents key", "version: 1\n", []string{"1:1: no agents | add one: agents:"}},
	{"no agents", "version: 1\nagents:\n", []string{"2:1: no agents"}},
	{"empty agents", "agents: {}\n", []string{"1:1: no agents"}},
	{"agents as list", "agents: [a]\n", []string{"1:9: agents must be a mapping, not a list"}},
	{"agent as text", "agents: {a: b}\n", []string{"1:13: agents.a must be a mapping, not text"}},
	{"empty agent", "agents:\n  a:\n", []string{"2:3: agents.a has no command", "2:3: agents.a has neither image nor build | runtime: process"}},
	{"version", "version: '2.0'\n" + minimal, []string{`1:10: unknown version "2.0" | reads version '1.0'`}},
	{"version as list", "version: []\n" + minimal, []string{`1:10: version must be text, not a list`}},
	{"runtime", minimal + "runtime: dokcer\n", []string{`2:10: runtime: unknown value "dokcer" | did you mean "docker"?`}},

	{"unknown top key", minimal + "agent: 1\n", []string{`2:1: unknown key "agent" | did you mean "agents"?`}},
	{"unknown key", agentLines("comand: [x]"), []string{`5:5: unknown key "comand" in agents.a | did you mean "command"?`}},
	{"unknown nested key", agentLines("workspace:", "  mdoe: ro"), []string{`6:7: unknown key "mdoe" in agents.a.workspace | did you mean "mode"?`}},
	{"shortened key", agentLines("env: [A]"), []string{`5:5: unknown key "env" in agents.a | did you mean "environment"?`}},
	{"far from all keys", minimal + "redis: {xyzzyplugh: 1}\n", []string{`2:9: unknown key "xyzzyplugh" in redis | one of: url, ca_file, timeout`}},
	{"not implemented", minimal + "plugins: [X]\n", []string{`2:1: unknown key "plugins"`}},
	{"misspelt, not missing", "agents:\n  a:\n    imgae: i\n    comand: [x]\n", []string{`3:5: unknown key "imgae"`, `4:5: unknown key "comand"`}},
	{"misspelt agents", "agnets: {}\n", []string{`1:1: unknown key "agnets" | did you mean "agents"?`}},
	{"case", agentLines("Role: x"), []string{`5:5: unknown key "Role" in agents.a | did you mean "role"?`}},
	{"duplicate key", agentLines("role: x", "role: y"), []string{`6:5: duplicate key "role" in agents.a | line 5`}},
	{"duplicate agent", "agents:\n  a: {image: i, command: [x]}\n  a: {image: i, command: [x]}\n", []string{`3:3: duplicate key "a" in agents | line 2`}},
	{"duplicate top key", minimal + minimal, []string{`2:1: duplicate key "agents" | line 1`}},

	{"agent name", "agents:\n  Go_Coder: {image: i, command: [x]}\n", []string{`2:3: "Go_Coder" cannot name an agent | did you mean "go-coder"?`}},
	{"agent name that is a worker's of another", "agents:\n  a.1: {image: i, command: [x]}\n", []string{`2:3: "a.1" cannot name an agent | did you mean "a-1"?`}}, // its tree would be named like one of a's
	{"agent name with nothing left", "agents:\n  '-': {image: i, command: [x]}\n", []string{`2:3: "-" cannot name an agent | a name has`}},
	{"long agent name", "agents:\n  " + strings.Repeat("a", 64) + ": {image: i, command: [x]}\n", []string{`2:3: "aaa`}},
	{"reserved agent name", "agents:\n  keeper: {image: i, command: [x]}\n", []string{`2:3: agent name "keeper" is Sett's own`}},
	{"reserved role", agentLines("role: Human"), []string{`5:11: agents.a.role: "Human" is a reserved role`}},
	{"reserved role by name", "agents:\n  user: {image: i, command: [x]}\n", []string{`2:3: agents.user: "user" is a reserved role | add role:`}},
	{"role with control characters", agentLines(`role: "a\eb"`), []string{`5:11: agents.a.role: not fit for a role`}},
	{"role as number", agentLines("role: 5"), []string{`5:11: agents.a.role must be text, not a whole number | put it in quotes: "5"`}},
	{"role as nothing", agentLines("role:"), []string{`5:5: agents.a.role has no value | give it a value`}},
	{"empty role", agentLines("role: ' '"), []string{`5:11: agents.a.role is empty`}},

	{"no command", "agents:\n  a:\n    image: i\n", []string{"2:3: agents.a has no command | add the program"}},
	{"command as text", "agents:\n  a:\n    image: i\n    command: ls -l\n", []string{"4:14: agents.a.command must be a list, not text | program first"}},
	{"empty command", "agents:\n  a:\n    image: i\n    command: []\n", []string{"4:14: agents.a.command names no program"}},
	{"command of nothing", "agents:\n  a:\n    image: i\n    command: ['']\n", []string{"4:14: agents.a.command names no program"}},
	{"command with a list", "agents:\n  a:\n    image: i\n    command: [x, [y]]\n", []string{"4:18: agents.a.command[1] must be text, not a list"}},
	{"command with NUL", "agents:\n  a:\n    image: i\n    command: [\"x\\0\"]\n", []string{"4:15: agents.a.command[0] contains a NUL character"}},
	{"bid_script", agentLines("bid_script: []"), []string{"5:17: agents.a.bid_script names no program"}},

	{"neither image nor build", "agents:\n  a:\n    command: [x]\n", []string{"2:3: agents.a has neither image nor build | runtime: process"}},
	{"both image and build", agentLines("build: ."), []string{"5:5: agents.a has both image and build"}},
	{"image", "agents:\n  a:\n    command: [x]\n    image: a b\n", []string{`4:12: agents.a.image: not an image reference: "a b"`}},
	{"empty build", "agents:\n  a:\n    command: [x]\n    build:\n", []string{`4:5: agents.a.build has no value`}},
	{"build as list", "agents:\n  a:\n    command: [x]\n    build: [x]\n", []string{`4:12: agents.a.build must be a mapping, not a list`}},
	{"build argument without value", "agents:\n  a:\n    command: [x]\n    build: {args: [A]}\n", []string{`4:20: agents.a.build.args: "A" has no value | write NAME=value`}},
	{"build argument's reference", "agents:\n  a:\n    command: [x]\n    build: {args: {A: '${B'}}\n", []string{`4:23: agents.a.build.args.A: `}},
	{"build argument's reference in a list", "agents:\n  a:\n    command: [x]\n    build: {args: ['A=${B!}']}\n", []string{`4:20: agents.a.build.args.A: `}},
	{"build argument twice", "agents:\n  a:\n    command: [x]\n    build: {args: [A=1, A=2]}\n", []string{`4:25: agents.a.build.args sets "A" twice`}},
	{"build argument's name", "agents:\n  a:\n    command: [x]\n    build: {args: {a b: 1}}\n", []string{`4:20: agents.a.build.args: "a b" cannot name an argument`}},
	{"build argument as mapping", "agents:\n  a:\n    command: [x]\n    build: {args: [{A: 1}]}\n", []string{`4:20: agents.a.build.args[0] must be text, not a mapping | write A=value`}},

	{"replicas zero", agentLines("replicas: 0"), []string{"5:15: agents.a.replicas must be at least 1, not 0"}},
	{"replicas in quotes", agentLines("replicas: '3'"), []string{"5:15: agents.a.replicas must be a whole number, not text | leave out the quotes"}},
	{"replicas in words", agentLines("replicas: three"), []string{"5:15: agents.a.replicas must be a whole number, not text | in digits"}},
	{"replicas as fraction", agentLines("replicas: 1.5"), []string{"5:15: agents.a.replicas must be a whole number, not a number"}},
	{"replicas in hex", agentLines("replicas: 0x3"), []string{`5:15: agents.a.replicas must be a decimal number: "0x3"`}},
	{"replicas huge", agentLines("replicas: 99999999999"), []string{`5:15: agents.a.replicas is out of range`}},
	{"replicas with reuse", agentLines("replicas: 2", "strategy: reuse"), []string{"6:5: agents.a: replicas above 1 cannot be reused | fresh_per_call"}},
	{"reuse with replicas", agentLines("strategy: reuse", "replicas: 2"), []string{"6:5: agents.a: replicas above 1 cannot be reused"}},
	{"concurrency zero", agentLines("concurrency: 0"), []string{"5:18: agents.a.concurrency must be at least 1, not 0"}},
	{"concurrency huge", agentLines("concurrency: 257"), []string{"5:18: agents.a.concurrency must be at most 256, not 257"}},
	{"concurrency and replicas", agentLines("concurrency: 2", "replicas: 2"), []string{"6:5: agents.a has both concurrency and replicas above 1 | keep one"}},
	{"concurrency of fresh workers", agentLines("strategy: fresh_per_call", "concurrency: 2"), []string{"6:5: agents.a: concurrency needs strategy: reuse | use replicas"}},
	{"strategy", agentLines("strategy: fresh"), []string{`5:15: agents.a.strategy: unknown value "fresh" | did you mean "fresh_per_call"?`}},
	{"warm and reused", agentLines("warm: 1"), []string{"5:5: agents.a: only workers of fresh_per_call can be kept warm | add strategy"}},
	{"too many replicas", agentLines("replicas: 1000000"), []string{"5:15: agents.a.replicas must be at most 1000, not 1000000"}},
	{"too many warm", agentLines("replicas: 2", "warm: 1001"), []string{"6:11: agents.a.warm must be at most 1000, not 1001"}},
	{"warm below zero", agentLines("warm: -1"), []string{"5:11: agents.a.warm must be at least 0, not -1"}},
	{"isolated ports and reused", agentLines("isolated_ports: true"), []string{"5:5: agents.a: only workers of fresh_per_call share ports | add strategy"}},
	{"isolated ports in quotes", agentLines("isolated_ports: 'true'"), []string{"5:21: agents.a.isolated_ports must be true or false, not text | leave out the quotes"}},
	{"isolated ports as word", agentLines("strategy: fresh_per_call", "isolated_ports: yes"), []string{"6:21: agents.a.isolated_ports must be true or false, not text | true or false"}},
	{"read-only as number", agentLines("read_only: 1"), []string{"5:16: agents.a.read_only must be true or false, not a whole number"}},
	{"read-only of nothing", agentLines("read_only:"), []string{"5:5: agents.a.read_only has no value"}},
	{"resolved", agentLines("resolved: {image: x}"), []string{`5:5: unknown key "resolved" in agents.a`}},
	{"retries", agentLines("retries: -1"), []string{"5:14: agents.a.retries must be at least 0, not -1"}},
	{"network", agentLines("network: host"), []string{`5:14: agents.a.network: unknown value "host" | one of: none, internal, full`}},
	{"workspace mode", agentLines("workspace: {mode: write}"), []string{`5:23: agents.a.workspace.mode: unknown value "write" | ro, rw`}},
	{"workspace as text", agentLines("workspace: rw"), []string{`5:16: agents.a.workspace must be a mapping, not text`}},

	{"timeout without unit", agentLines("timeout: 300"), []string{`5:14: agents.a.timeout is not a duration: "300" | add a unit: 300s`}},
	{"timeout in words", agentLines("timeout: soon"), []string{`5:14: agents.a.timeout is not a duration: "soon" | a number with a unit`}},
	{"timeout in days", agentLines("timeout: 1d"), []string{`5:14: agents.a.timeout is not a duration: "1d" | in hours, the longest unit: 24h`}},
	{"timeout in weeks", agentLines("timeout: 2 weeks"), []string{`5:14: agents.a.timeout is not a duration: "2 weeks" | in hours, the longest unit: 336h`}},
	{"timeout of ages", agentLines("timeout: 99999999h"), []string{`5:14: agents.a.timeout is too long: "99999999h" | at most 2562047h, about 292 years`}},
	{"timeout zero", agentLines("timeout: 0s"), []string{`5:14: agents.a.timeout must be longer than 0`}},
	{"timeout negative", agentLines("timeout: -5s"), []string{`5:14: agents.a.timeout must not be negative`}},
	{"grace", agentLines("stop_grace_period: [1s]"), []string{`5:24: agents.a.stop_grace_period must be text, not a list`}},
	{"health check", agentLines("health_check:", "  interval: 0s", "  retries: 0", "  test: [x]"),
		[]string{"6:17: agents.a.health_check.interval must be longer than 0", "7:16: agents.a.health_check.retries must be at least 1", `8:7: unknown key "test"`}},

	{"environment own names", agentLines("environment: [SETT_X=1, REDIS_URL]"),
		[]string{`5:19: agents.a.environment: "SETT_X" is Sett's own`, `5:29: agents.a.environment: "REDIS_URL" is Sett's own`}},
	{"environment names", agentLines("environment: {1ST: x}"), []string{`5:19: agents.a.environment: "1ST" cannot name a variable`}},
	{"environment item without name", agentLines("environment: ['=x']"), []string{`5:19: agents.a.environment: "" cannot name a variable`}},
	{"environment twice", agentLines("environment:", "- A=1", "- A"), []string{`7:7: agents.a.environment sets "A" twice | line 6`}},
	{"environment item with colon", agentLines("environment:", "- A: 1"), []string{`6:7: agents.a.environment[0] must be text, not a mapping | write A=value`}},
	{"environment value", agentLines("environment: {A: [1]}"), []string{`5:22: agents.a.environment.A must be text, not a list`}},
	{"environment as text", agentLines("environment: A=1"), []string{`5:18: agents.a.environment must be a mapping, not text`}},
	{"environment item of nothing", agentLines("environment: [~]"), []string{`5:19: agents.a.environment[0] has no value`}},

	{"cpus", agentLines("resources: {limits: {cpus: 0}}"), []string{`5:32: agents.a.resources.limits.cpus is not a number of processors: "0"`}},
	{"cpus infinite", agentLines("resources: {limits: {cpus: .inf}}"), []string{`5:32: agents.a.resources.limits.cpus is not a number`}},
	{"memory", agentLines("resources: {limits: {memory: 5X}}"), []string{`5:34: agents.a.resources.limits.memory is not an amount of memory: "5X"`}},
	{"memory huge", agentLines("resources: {limits: {memory: 9999999999G}}"), []string{`5:34: agents.a.resources.limits.memory is not an amount`}},
	{"pids zero", agentLines("resources: {limits: {pids: 0}}"), []string{`5:32: agents.a.resources.limits.pids must be at least 1, not 0`}},
	{"pids without limit", agentLines("resources: {limits: {pids: -1}}"), []string{`5:32: agents.a.resources.limits.pids must be at least 1, not -1`}},
	{"pids too few", agentLines("resources: {limits: {pids: 31}}"), []string{`5:5: agents.a.resources.limits.pids is too small: 31 | Sett's own part of the container needs up to 30 processes and threads, and each grant at once 2 more: pids: 32 or more`}},
	{"pids too few for all slots", agentLines("concurrency: 8", "resources: {limits: {pids: 45}}"), []string{`6:5: agents.a.resources.limits.pids is too small: 45 | Sett's own part of the container needs up to 30 processes and threads, and each grant at once 2 more: pids: 46 or more`}},
	{"pids shared, too few", "defaults: {resources: {limits: {pids: 1}}}\n" + agentLines(), []string{`1:12: agents.a.resources.limits.pids is too small: 1 | Sett's own part of the container needs up to 30 processes and threads, and each grant at once 2 more: pids: 32 or more`}},
	{"pids reserved", agentLines("resources: {reservations: {pids: 5}}"), []string{`5:32: unknown key "pids" in agents.a.resources.reservations | it belongs under agents.NAME.resources.limits:`}},
	{"reservation above limit", agentLines("resources:", "  limits: {cpus: 1, memory: 1M}", "  reservations: {cpus: 2, memory: 2M}"),
		[]string{"7:7: agents.a.resources: more cpus reserved", "7:7: agents.a.resources: more memory reserved"}},

	{"prompt", agentLines("prompts: {claim: [x]}"), []string{"5:22: agents.a.prompts.claim must be text, not a list"}},
	{"bid", agentLines("bids: {Code*: revue}"), []string{`5:19: agents.a.bids.Code*: unknown value "revue" | did you mean "review"?`}},
	{"bid for nothing", agentLines("bids: {'': review}"), []string{`5:12: agents.a.bids: an empty artefact type`}},
	{"bid of nothing", agentLines("bids: {X: }"), []string{`5:12: agents.a.bids.X has no value`}},
	{"no bids", agentLines("bids: {}"), []string{`5:11: agents.a.bids is empty`}},
	{"bids as list", agentLines("bids: [x]"), []string{`5:11: agents.a.bids must be a mapping, not a list`}},

	{"redis scheme", minimal + "redis: {url: 'http://h'}\n", []string{`2:14: redis.url: the scheme must be redis or rediss, not "http"`}},
	{"redis host", minimal + "redis: {url: 'redis:///0'}\n", []string{`2:14: redis.url: the URL names no host`}},
	{"redis database", minimal + "redis: {url: 'redis://h/x'}\n", []string{`2:14: redis.url: what follows the host must be a database number`}},
	{"redis database with a slash", minimal + "redis: {url: 'redis://h/4/'}\n", []string{`2:14: redis.url: what follows the host must be a database number`}},
	{"redis password with a slash", minimal + "redis: {url: 'redis://:12/hunter2@h'}\n", []string{`2:14: redis.url: a character of its user or password is not percent-encoded | in a user or password, / is written %2F`}},
	{"redis password with a hash", minimal + "redis: {url: 'redis://u:1#hunter2@h'}\n", []string{`2:14: redis.url: a character of its user or password is not percent-encoded`}},
	{"redis password with a question mark", minimal + "redis: {url: 'redis://u:1?hunter2@h'}\n", []string{`2:14: redis.url: a character of its user or password is not percent-encoded`}},
	{"redis parameter", minimal + "redis: {url: 'redis://h?skip_verify=perhaps'}\n", []string{`2:14: redis.url: the parameter skip_verify must be true or false`}},
	{"redis CA without TLS", minimal + "redis: {url: 'redis://h', ca_file: ca.pem}\n", []string{`2:36: redis.ca_file is for TLS, and redis.url has none | write rediss://`}},
	{"redis not a URL", minimal + "redis: {url: 'redis:h'}\n", []string{`2:14: redis.url: not a URL`}},
	{"two redis servers", minimal + "redis: {url: 'redis://h'}\nservices: {redis: {url: 'redis://i'}}\n", []string{`3:25: redis.url and services.redis.url differ`}},
	{"redis and embedded", minimal + "redis: {url: 'redis://h'}\nservices: {redis: {embedded: true}}\n",
		[]string{"3:30: services.redis.embedded and redis.url name two servers | keep one of them"}},
	{"embedded and redis", minimal + "services: {redis: {embedded: true, url: 'redis://h'}}\n",
		[]string{"2:41: services.redis.embedded and services.redis.url name two servers"}},
	{"embedded as text", minimal + "services: {redis: {embedded: redis}}\n", []string{"2:30: services.redis.embedded must be true or false, not text"}},
	{"redis times", minimal + "redis: {give_up: 0s, timeout: 0, retries: -1}\n",
		[]string{"2:18: redis.give_up must be longer", "2:31: redis.timeout must be longer", "2:43: redis.retries must be at least 0"}},
	{"orchestrator", minimal + "orchestrator: {run: there, max_review_iterations: -1, bid_timeout: -1s, max_artefacts: x}\n",
		[]string{"2:21: orchestrator.run: unknown value", "2:51: orchestrator.max_review_iterations must", "2:68: orchestrator.bid_timeout must", "2:88: orchestrator.max_artefacts must"}},
	{"adapter of another kind", "agents: {a: {command: [x], image: i, adapter: chek, bids: {X: review}}}\n",
		[]string{`1:47: agents.a.adapter: unknown value "chek" | did you mean "check"?`}},
	{"adapter without a type", "agents: {a: {command: [x], image: i, adapter: text}}\n",
		[]string{"1:38: agents.a: the results of adapter: text have no type | add makes: TYPE, or bid review on all"}},
	{"adapter commit without its tree", "agents: {a: {command: [x], image: i, adapter: commit}}\n",
		[]string{"1:38: agents.a: adapter: commit needs a tree that it may change, and workspace.mode is ro | add workspace: {mode: rw}"}},
	{"adapter commit with another tree", "agents: {a: {command: [x], image: i, adapter: commit, workspace: {mode: none}, bids: {X: claim, Y: review}, makes: [A, B]}}\n",
		[]string{"1:55: agents.a: adapter: commit needs a tree that it may change, and workspace.mode is none | add workspace: {mode: rw}",
			"1:80: agents.a: adapter: commit makes commits, and cannot review | bid exclusive or claim",
			"1:109: agents.a: adapter: commit makes one type | name one"}},
	{"adapter with two types", "agents: {a: {command: [x], image: i, adapter: text, makes: [X, Y]}}\n",
		[]string{"1:53: agents.a: adapter: text makes one type | name one"}},
	{"makes a pattern", "agents: {a: {command: [x], image: i, makes: 'X*'}}\n",
		[]string{"1:45: agents.a.makes: \"X*\" is a pattern, and only names of types are read | write each type out"}},
	{"fail_on of no check", "agents: {a: {command: [x], image: i, fail_on: output}}\n",
		[]string{"1:38: agents.a: fail_on is for adapter: check | add adapter: check"}},
	{"approve as text", minimal + "approve: Code*\n", []string{"2:10: approve must be a list, not text | write a list: [Code*]"}},
	{"commits as text", minimal + "commits: Code\n", []string{"2:10: commits must be a list, not text | write a list: [Code]"}},
	{"commits with faults", minimal + "commits: [X, 'Y*', GoalDefined, X]\n",
		[]string{"2:14: commits: \"Y*\" is a pattern, and only names of types are read | write each type out", "2:20: commits: only a goal is a GoalDefined | take it out", `2:33: commits names "X" twice | line 2`}},
	{"approve with faults", minimal + "approve: [X, '', ~, X, [Y], ' ']\n",
		[]string{"2:14: approve: an empty artefact type | '*' stands", "2:18: approve[2] has no value", `2:21: approve names "X" twice | line 2`, "2:24: approve[4] must be text, not a list", "2:29: approve: an empty artefact type"}},
	{"pin as text", minimal + "pin: agents/lib\n", []string{"2:6: pin must be a list, not text | write a list: [agents/lib]"}},
	{"pin with faults", minimal + "pin: [lib, /etc/shadow, a/../../b, '', ./lib/, ., x/..]\n",
		[]string{`2:12: pin: "/etc/shadow" is no path in the repository | from the repository's root`, `2:25: pin: "a/../../b" leads out of the repository | copy`,
			"2:36: pin: an empty path", `2:40: pin names "./lib/" twice | line 2`, `2:48: pin: "." is the whole repository | name the files`, `2:51: pin: "x/.." is the whole`}},
	{"notify of nothing", minimal + "notify: {}\n", []string{"2:9: notify has no command | add the program"}},
	{"notify as list", minimal + "notify: [mail]\n", []string{"2:9: notify must be a mapping, not a list"}},
	{"notify", minimal + "notify: {command: mail, image: a b, environment: [SETT_X], timeout: 0s, on: [x]}\n",
		[]string{"2:19: notify.command must be a list, not text | program first", "2:32: notify.image: not an image reference", `2:51: notify.environment: "SETT_X" is Sett's own`, "2:69: notify.timeout must be longer than 0", `2:73: unknown key "on" in notify`}},
	{"people", minimal + "orchestrator: {question_timeout: 5, on_review_limit: aks}\n",
		[]string{`2:34: orchestrator.question_timeout is not a duration: "5" | add a unit: 5s`, `2:54: orchestrator.on_review_limit: unknown value "aks" | did you mean "ask"?`}},
	{"container without docker", "runtime: process\n" + minimal + "orchestrator: {run: container}\n", []string{"3:1: orchestrator.run: container needs runtime: docker"}},
	{"service image's reference", minimal + "services: {orchestrator: {image: 'sett:a b'}}\n",
		[]string{`2:34: services.orchestrator.image: not an image reference: "sett:a b" | registry/name:tag`}},
	{"service image", minimal + "services: {redis: {image: ''}}\n", []string{"2:27: services.redis.image is empty"}},
}

func TestProblems(t *testing.T) {
	for _, c := range slices.Concat(problemCases, modelCases) {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("sett.yml", []byte(c.source))
			var found *Errors
			if !errors.As(err, &found) {
				t.Fatalf("error %v", err)
			}
			if len(found.Problems) != len(c.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(found.Problems), len(c.want), err)
			}
			for i, p := range found.Problems {
				message, hint, _ := strings.Cut(c.want[i], " | ")
				if got := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message); !strings.HasPrefix(got, message) || !strings.Contains(p.Hint, hint) {
					t.Errorf("got  %s | %s\nwant %s", got, p.Hint, c.want[i])
				}
			}
		})
	}
}

// A problem in what an anchor marks is named for each agent that uses it.
func TestAliasedProblems(t *testing.T) {
	_, err := Parse("f", []byte("agents:\n  a:\n    image: i\n    command: [x]\n    resources: &r {limits: {cpus: x}}\n"+
		"  b:\n    image: i\n    command: [x]\n    resources: *r\n"))
	var found *Errors
	if !errors.As(err, &found) || len(found.Problems) != 2 || found.Problems[0].Line != 5 || found.Problems[1].Line != 5 {
		t.Fatalf("want one problem for each agent: %v", err)
	}
}

func TestMergeBombIsDefused(t *testing.T) {
	_, err := Parse("f", []byte(mergeBomb(200)))
	if got := strings.Count(fmt.Sprint(err), "<< brings more than 20000 entries"); got != 1 {
		t.Errorf("reported %d times", got)
	}
}

func TestPasswordsStayOutOfErrors(t *testing.T) {
	for _, line := range []string{
		"redis: {url: 'http://me:hunter2@host', x: 1}", "redis: {url: 'redis://me:hunter2@host:port'}",
		"redis: {url: 'redis://:hunter2@'}", "runtime: redis://me:hunter2@host",
		"x: {environment: [API_KEY=hunter2, B]}", "x: {environment: {DB_PASSWORD: hunter2, LEVEL: x}}", "x: {'API_KEY': 'my hunter2'}",
		`x: {"API_KEY": "my \" hunter2"}`, "x: ['TOKEN=my hunter2']", "x: # MY_TOKEN=my hunter2", `x: {API_KEY: "hunter2`, "x: {API_KEY: hunter2: x}",
		"redis: {url: 'redis://me:7/hunter2@host'}", "redis: {url: 'redis://me:x@hunter2@host', x: 1}",
		"redis: {url: 'redis://host?sentinel_password=hunter2&addr=b', x: 1}", "redis: {url: redis://host?sentinel_password=hunter2, x: 1}",
	} {
		_, err := Parse("f", []byte(minimal+line))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// What is masked keeps its length, so that the caret points where it did.
func TestMask(t *testing.T) {
	for s, want := range map[string]string{
		"LEVEL: debug": "LEVEL: debug", "- MAX=5": "- MAX=5", "API_KEY:": "API_KEY:", "[API_KEY, B: c]": "[API_KEY, B: c]",
		"{API_KEY: ab, B: c}": "{API_KEY: **, B: c}", "- TOKEN=é b": "- TOKEN=***", "A=1,MY_TOKEN=xy]": "A=1,MY_TOKEN=**]",
		"redis://u:p@q@h": "redis://u:***@h", "image: a:b": "image: a:b",
	} {
		if got := mask(s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		at         position
		line, want string
	}{
		{position{7, 3}, "a: b", "   7 | a: b\n     |   ^"},
		{position{7, 2}, "\tä\x1b[31m", "   7 |  ä\uFFFD[31m\n     |  ^"},
		{position{12345, 1}, "", "12345 |\n      | ^"},
		{position{1, 99}, "ab", "   1 | ab\n     |   ^"},
		{position{1, 1}, long, "   1 | " + long[:100] + "…\n     | ^"},
		{position{1, 201}, long, "   1 | " + long[:100] + "…\n     | " + strings.Repeat(" ", 50) + "^"},
	} {
		if got := excerpt(c.at, []rune(printable(mask(c.line)))); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.at, got, c.want)
		}
	}
}

// A key that stands in the wrong place is told the right one.
func TestMisplacedKeys(t *testing.T) {
	for source, hint := range map[string]string{
		minimal + "question_timeout: 1h\n":                         "it belongs under orchestrator:",
		minimal + "on_review_limit: ask\n":                         "it belongs under orchestrator:",
		minimal + "orchestrator: {approve: [X]}\n":                 "it belongs to the top level of the file",
		minimal + "services: {orchestrator: {max_artefacts: 1}}\n": "it belongs under orchestrator:",
		agentLines("approve: [X]"):                                 "it belongs to the top level of the file",
		agentLines("notify: {command: [x]}"):                       "it belongs to the top level of the file",
		agentLines("mode: rw"):                                     "it belongs under agents.NAME.workspace:",
		minimal + "bids: {X: claim}\n":                             "it belongs under agents.NAME:",
		minimal + "give_up: 1m\n":                                  "it belongs under redis:",
		minimal + "dockerfile: x\n":                                "it belongs under agents.NAME.build:",
		minimal + "orchestrator: {image: x}\n":                     "it belongs under agents.NAME:, under notify:, under services.redis:, under services.orchestrator: or under services.repository:",
		minimal + "notify: {command: [x], question_timeout: 1h}\n": "it belongs under orchestrator:",
		agentLines("workspace: {mode: rw, network: full}"):         "it belongs under agents.NAME:",
		minimal + "orchestrator: {qestion_timeout: 1h}\n":          `did you mean "question_timeout"?`,
		minimal + "question_timeot: 1h\n":                          "one of: version",
	} {
		_, err := Parse("f", []byte(source))
		var found *Errors
		if !errors.As(err, &found) || len(found.Problems) != 1 || !strings.HasPrefix(found.Problems[0].Hint, hint) {
			t.Errorf("%s: want the hint %q: %v", source, hint, err)
		}
	}
}
