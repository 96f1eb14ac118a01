package config

import (
	"slices"
	"strings"
	"testing"
)

// harmless are the keys of sett.yml that reach nothing beyond the clan's own containers
// and the repository.
const harmless = `version agents agents.NAME approve pin commits local orchestrator orchestrator.run orchestrator.max_review_iterations
	orchestrator.on_review_limit orchestrator.bid_timeout orchestrator.question_timeout orchestrator.max_artefacts
	land.how land.when land.verify redis redis.timeout redis.retries redis.give_up services services.redis services.redis.embedded services.orchestrator services.repository
	agents.NAME.role agents.NAME.image agents.NAME.command agents.NAME.replicas agents.NAME.concurrency agents.NAME.strategy
	agents.NAME.workspace agents.NAME.workspace.mode agents.NAME.workspace.max_size agents.NAME.workspace.max_tree agents.NAME.workspace.min_free agents.NAME.workspace.keep agents.NAME.workspace.sparse agents.NAME.resources agents.NAME.resources.limits
	agents.NAME.resources.limits.cpus agents.NAME.resources.limits.memory agents.NAME.resources.limits.pids
	agents.NAME.resources.reservations agents.NAME.resources.reservations.cpus agents.NAME.resources.reservations.memory
	agents.NAME.prompts agents.NAME.prompts.claim agents.NAME.prompts.execution agents.NAME.health_check
	agents.NAME.health_check.interval agents.NAME.health_check.timeout agents.NAME.health_check.retries
	agents.NAME.health_check.start_period agents.NAME.adapter agents.NAME.stdin agents.NAME.makes agents.NAME.fail_on agents.NAME.terminal agents.NAME.bids agents.NAME.bid_script agents.NAME.bids_required
	agents.NAME.timeout agents.NAME.stop_grace_period agents.NAME.retries agents.NAME.network agents.NAME.warm
	agents.NAME.isolated_ports agents.NAME.read_only notify.timeout
	models models.NAME.api models.NAME.model models.NAME.context models.NAME.max_output models.NAME.price models.NAME.price.input
	models.NAME.price.cached models.NAME.price.cache_write models.NAME.price.output models.NAME.timeout models.NAME.timeout.headers models.NAME.timeout.idle
	models.NAME.retries models.NAME.concurrency models.NAME.temperature models.NAME.ignore
	budget budget.cost budget.tokens budget.calls budget.time budget.on_budget
	agents.NAME.llm agents.NAME.llm.model agents.NAME.llm.tools agents.NAME.llm.run agents.NAME.llm.steps agents.NAME.llm.door
	agents.NAME.budget agents.NAME.budget.cost agents.NAME.budget.tokens agents.NAME.budget.calls agents.NAME.budget.time`

func TestEveryKeyIsARightOrHarmless(t *testing.T) {
	known := map[string]int{}
	for _, key := range strings.Fields(harmless) {
		known[key]++
	}
	for _, r := range reaches() {
		for _, key := range r.keys {
			known[key]++
		}
	}
	seen := map[string]bool{}
	walk(objectShape(newDecoder("", "").fields(newFile())), "", func(path string, s *schema) {
		for _, p := range s.Properties {
			key := join(path, p.key)
			if shared, ok := strings.CutPrefix(key, "defaults"); ok {
				key = "agents.NAME" + shared // each agent has it
			}
			if seen[key] = true; known[key] != 1 {
				t.Errorf("%s is classified %d times: put it into reaches() or among the harmless keys", key, known[key])
			}
		}
	})
	for key := range known {
		if !seen[key] {
			t.Errorf("%s is classified, and no key of sett.yml", key)
		}
	}
}

func rightsOf(t *testing.T, folder, src string) []string {
	t.Helper()
	c, err := Parse("sett.yml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range c.Rights(folder) {
		lines = append(lines, r.Key+": "+r.Text)
	}
	return lines
}

func TestRights(t *testing.T) {
	const clan = "agents:\n  writer:\n    command: [\"./run\"]\n    "
	for name, c := range map[string]struct {
		folder, src string
		want        []string
	}{
		"ordinary":     {".", clan + "image: w\n    environment: [A=b, B=$$HOME, 'C=5$']\napprove: [Release]\n", nil},
		"build inside": {"clan", clan + "build: {context: ../images, dockerfile: ../Dockerfile}\n", nil},
		"process":      {".", "runtime: process\n" + clan, []string{"runtime: runs programs on this machine, without containers"}},
		"walls": {".", "runtime: process\nlocal: {write: [~/.cache, out/, /srv/x]}\n" + clan, []string{
			"local.write: lets its programs write an absolute path (" + short("/srv/x") + ")", "local.write: lets its programs write out", "local.write: lets its programs write ~/.cache",
			"runtime: runs programs on this machine, without containers, that write in their own directories"}},
		"walls of containers": {".", "local: {write: [/]}\n" + clan + "image: w\n", nil},
		"variables":           {".", clan + "image: w\n    environment: [TOKEN, A=b]\n", []string{"agents.writer.environment: gets this machine's variable TOKEN"}},
		"references": {".", clan + "image: w\n    environment: {A: 'x ${B:-$C}', B: '${B:?no}'}\n", []string{
			"agents.writer.environment: gets this machine's variable B", "agents.writer.environment: gets this machine's variable C"}},
		"build arguments": {".", clan + "build: {args: {A: b, B: '$$x', C: '${HOME:-$D}'}}\n", []string{
			"agents.writer.build.args: builds with this machine's variable D", "agents.writer.build.args: builds with this machine's variable HOME"}},
		"shared":               {".", "defaults: {image: w, environment: [TOKEN]}\n" + clan + "role: x\n", []string{"agents.writer.environment: gets this machine's variable TOKEN"}},
		"context outside":      {".", clan + "build: ../hostsecret\n", []string{"agents.writer.build.context: builds with files outside the repository: ../hostsecret", "agents.writer.build.dockerfile: reads a file outside the repository: ../hostsecret/Dockerfile"}},
		"out by a detour":      {"clan", clan + "build: a/../../../x/..\n", []string{"agents.writer.build.context: builds with files outside the repository: ..", "agents.writer.build.dockerfile: reads a file outside the repository: ../Dockerfile"}},
		"Dockerfile outside":   {".", clan + "build: {dockerfile: /srv/D}\n", []string{"agents.writer.build.dockerfile: reads a file outside the repository: an absolute path (" + short("/srv/D") + ")"}},
		"images":               {".", clan + "image: w\nservices: {redis: {image: r}, orchestrator: {image: o}, repository: {image: g}}\n", []string{"services.orchestrator.image: runs sett's orchestrator in image o", "services.redis.image: keeps the blackboard in image r", "services.repository.image: keeps agents' commits with the git of image g"}},
		"address":              {".", clan + "image: w\nredis: {url: 'rediss://me:hush@db:6379/2?addr=b:1&addr=a:1&password=hush'}\n", []string{"redis.url: keeps the blackboard on rediss://db:6379/2?addr=a%3A1&addr=b%3A1"}},
		"authority":            {"clan", clan + "image: w\nredis: {url: 'rediss://db', ca_file: ca.pem}\n", []string{"redis.ca_file: trusts the certificates in clan/ca.pem for the blackboard", "redis.url: keeps the blackboard on rediss://db"}},
		"address of Sentinels": {".", clan + "image: w\nredis: {url: 'redis://s:1?master_set=m&sentinel_username=hush&sentinel_password=hush'}\n", []string{"redis.url: keeps the blackboard on redis://s:1?master_set=m"}},
		"address by services":  {".", clan + "image: w\nservices: {redis: {url: 'redis://:hush@db'}}\n", []string{"redis.url: keeps the blackboard on redis://db"}},
		"models": {"clan", clan + "image: w\nmodels:\n  a: {api: chat, model: m, api_key_env: KEY, record: ../rec, headers: {X-Org: '${ORG}', X: y}}\n" +
			"  b: {api: messages, model: m, api_key_file: ~/.key, base_url: 'http://host:1'}\n  c: {api: chat, model: m, replay: r}\n  d: {api: chat, model: m, replay: ../../r}\n" +
			"  e: {api: chat, model: m, api_key_file: /etc/key, ca_file: company.pem}\n  f: {api: chat, model: m, base_url: 'http://host:2'}\n", []string{
			"models.a.api_key_env: sends this machine's variable KEY to https://api.openai.com/v1",
			"models.a.headers: sends this machine's variable ORG to https://api.openai.com/v1",
			"models.a.record: writes all requests and answers of the model into rec",
			"models.b.api_key_file: sends the key in ~/.key to http://host:1/v1",
			"models.d.replay: reads a folder outside the repository: ../r",
			"models.e.api_key_file: sends the key in an absolute path (" + short("/etc/key") + ") to https://api.openai.com/v1",
			"models.e.ca_file: trusts the certificates in clan/company.pem for https://api.openai.com/v1",
			"models.f.base_url: sends agents' requests to http://host:2/v1"}},
		"land": {".", clan + "image: w\nland: {onto: release/1, how: merge, verify: true}\n", []string{"land.onto: moves branch release/1 of the repository, by itself"}},
		"notify": {".", clan + "image: w\nnotify: {command: [bin/tell, hush], environment: [CHAT]}\n", []string{
			"notify: hands each question, gate and end of a goal to a program (" + short(`[["bin/tell","hush"],""]`) + ")",
			"notify.environment: gets this machine's variable CHAT"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rightsOf(t, c.folder, c.src); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRightsDigestIgnoresOrderAndSecrets(t *testing.T) {
	digest := func(src string) string {
		c, err := Parse("sett.yml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return RightsDigest(c.Rights("."))
	}
	const a, b = "  a: {command: [x], image: i, environment: [P, Q]}\n", "  b: {command: [x], image: i, environment: [R]}\n"
	one := digest("agents:\n" + a + b + "redis: {url: 'redis://:one@db'}\n")
	if other := digest("redis: {url: 'redis://:two@db'}\nagents:\n" + b + strings.Replace(a, "P, Q", "Q, P", 1)); other != one {
		t.Error("another order or another password changed the digest")
	}
	if other := digest("agents:\n" + a + b + "redis: {url: 'redis://:one@other'}\n"); other == one {
		t.Error("another address kept the digest")
	}
	if none := defaultConfig().Rights("."); len(none) != 0 || RightsDigest(nil) != RightsDigest(none) {
		t.Errorf("no rights: %v", none)
	}
}

// A right that names a text by its digest has so much of it that no other text passes.
func TestRightsNameTextsSafely(t *testing.T) {
	if digits := strings.TrimPrefix(short("x"), "sha256 "); len(digits) < 32 {
		t.Errorf("%d digits", len(digits))
	}
}
