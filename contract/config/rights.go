package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Right is a right that a sett.yml takes beyond the clan's own containers and the
// repository. It has no secret and no path of this machine, so that it is the same for
// everyone who has the file.
type Right struct {
	Key  string `json:"key"`  // as in sett.yml, with its section: agents.writer.environment
	Text string `json:"text"` // of the right, for people
}

// reach is one kind of right: the keys of sett.yml that give it, agents' with NAME in
// place of the agent, and the function that finds it.
type reach struct {
	keys []string
	find func(c *Config, folder string) []Right
}

// reaches are all kinds of rights. A test holds that each key of sett.yml is among them
// or known as harmless.
func reaches() []reach {
	return []reach{
		{[]string{"runtime"}, processRight},
		{[]string{"local.write"}, placeRights},
		{[]string{"agents.NAME.environment", "notify.environment"}, variableRights},
		{[]string{"agents.NAME.build.args"}, argRights},
		{[]string{"agents.NAME.build", "agents.NAME.build.context", "agents.NAME.build.dockerfile"}, fileRights},
		{[]string{"services.redis.image", "services.orchestrator.image", "services.repository.image"}, imageRights},
		{[]string{"notify", "notify.command", "notify.image"}, notifyRight},
		{[]string{"models.NAME.api_key_env", "models.NAME.api_key_file", "models.NAME.base_url", "models.NAME.ca_file", "models.NAME.headers", "models.NAME.record", "models.NAME.replay"}, modelRights},
		{[]string{"land", "land.onto"}, landRight},
		{[]string{"otel", "otel.endpoint", "otel.headers"}, otelRights},
		{[]string{"agents.NAME.workspace.copy"}, copyRights},
		{[]string{"redis.url", "services.redis.url"}, addressRight},
		{[]string{"redis.ca_file"}, authorityRight},
	}
}

// Rights returns every right of the configuration, sorted, each once. An ordinary clan of
// containers has none. The folder is that of sett.yml in the repository, with slashes;
// "." is the repository's root.
func (c *Config) Rights(folder string) []Right {
	all := []Right{}
	for _, r := range reaches() {
		all = append(all, r.find(c, folder)...)
	}
	slices.SortFunc(all, CompareRights)
	return slices.Compact(all)
}

// CompareRights orders rights by key, then by text.
func CompareRights(a, b Right) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
}

// RightsDigest returns the SHA-256 of sorted rights, in hexadecimal digits.
func RightsDigest(rights []Right) string {
	h := sha256.New()
	// Slices of texts cannot fail to encode, nor a hash to be written.
	_ = json.NewEncoder(h).Encode(append([]Right{}, rights...))
	return hex.EncodeToString(h.Sum(nil))
}

func processRight(c *Config, _ string) []Right {
	if c.Runtime != RuntimeProcess {
		return nil
	}
	if c.Local != nil {
		return []Right{ownPlaces}
	}
	return []Right{anyPlace}
}

func variableRights(c *Config, _ string) (all []Right) {
	add := func(key string, variables []EnvVar) {
		for _, v := range variables {
			for _, name := range v.Uses() {
				all = append(all, Right{key, "gets this machine's variable " + name})
			}
		}
	}
	for _, a := range c.Agents {
		add("agents."+a.Name+".environment", a.Environment)
	}
	if c.Notify != nil {
		add("notify.environment", c.Notify.Environment)
	}
	return all
}

// argRights are the variables of this machine that builds get. The steps of a build have a
// network, and an image's history has its arguments.
func argRights(c *Config, _ string) (all []Right) {
	for _, a := range c.Agents {
		for _, v := range a.Build.Variables() {
			for _, name := range v.Uses() {
				all = append(all, Right{"agents." + a.Name + ".build.args", "builds with this machine's variable " + name})
			}
		}
	}
	return all
}

// fileRights are the contexts and Dockerfiles of builds outside the repository. Links
// that lead out of it are refused where the files are opened.
func fileRights(c *Config, folder string) (all []Right) {
	for _, a := range c.Agents {
		if a.Build == nil {
			continue
		}
		key, context := "agents."+a.Name+".build.", below(folder, a.Build.Context)
		if outside(context) {
			all = append(all, Right{key + "context", "builds with files outside the repository: " + shownPath(context)})
		}
		if file := below(context, a.Build.Dockerfile); outside(file) {
			all = append(all, Right{key + "dockerfile", "reads a file outside the repository: " + shownPath(file)})
		}
	}
	return all
}

func below(folder, file string) string {
	if path.IsAbs(file) {
		return path.Clean(file)
	}
	return path.Join(folder, file)
}

func outside(file string) bool {
	return path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../")
}

// shownPath is a path without the names of this machine's folders. A relative one begins
// at the repository's root: the same text is the same place, whatever file names it.
func shownPath(file string) string {
	if path.IsAbs(file) {
		return "an absolute path (" + short(file) + ")"
	}
	return file
}

func imageRights(c *Config, _ string) (all []Right) {
	if image := c.Services.Redis.Image; image != DefaultRedisImage {
		all = append(all, Right{"services.redis.image", "keeps the blackboard in image " + image})
	}
	if image := c.Services.Orchestrator.Image; image != "" {
		all = append(all, Right{"services.orchestrator.image", "runs sett's orchestrator in image " + image})
	}
	if image := c.Services.Repository.Image; image != DefaultRepositoryImage {
		all = append(all, Right{"services.repository.image", "keeps agents' commits with the git of image " + image})
	}
	return all
}

// notifyRight names the notifier's settings by a digest: arguments may have a secret.
func notifyRight(c *Config, _ string) []Right {
	if c.Notify == nil {
		return nil
	}
	settings, err := json.Marshal([]any{c.Notify.Command, c.Notify.Image})
	if err != nil {
		panic("config: encode notify: " + err.Error()) // texts cannot fail
	}
	return []Right{{"notify", "hands each question, gate and end of a goal to a program (" + short(string(settings)) + ")"}}
}

// modelRights are the addresses that Sett calls for agents, whatever network these have, the
// secrets that such an address gets, and the folders that records are in.
func modelRights(c *Config, folder string) (all []Right) {
	for _, m := range c.Models {
		key := "models." + m.Name + "."
		named := len(all)
		if m.KeyEnv != "" {
			all = append(all, Right{key + "api_key_env", "sends this machine's variable " + m.KeyEnv + " to " + m.BaseURL})
		}
		if m.KeyFile != "" {
			all = append(all, Right{key + "api_key_file", "sends the key in " + modelPath(folder, m.KeyFile) + " to " + m.BaseURL})
		}
		if m.CAFile != "" {
			all = append(all, Right{key + "ca_file", "trusts the certificates in " + modelPath(folder, m.CAFile) + " for " + m.BaseURL})
		}
		for _, h := range m.Headers {
			for _, name := range h.Uses() {
				all = append(all, Right{key + "headers", "sends this machine's variable " + name + " to " + m.BaseURL})
			}
		}
		if len(all) == named && m.Replay == "" {
			all = append(all, Right{key + "base_url", "sends agents' requests to " + m.BaseURL})
		}
		if m.Record != "" {
			all = append(all, Right{key + "record", "writes all requests and answers of the model into " + modelPath(folder, m.Record)})
		}
		if file := below(folder, m.Replay); m.Replay != "" && (outside(file) || strings.HasPrefix(m.Replay, "~/")) {
			all = append(all, Right{key + "replay", "reads a folder outside the repository: " + modelPath(folder, m.Replay)})
		}
	}
	return all
}

// addressRight names the servers of the blackboard, without a password.
func addressRight(c *Config, _ string) []Right {
	at, err := url.Parse(c.Redis.URL)
	if c.Redis.URL == "" || err != nil {
		return nil
	}
	shown := url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}
	query, kept := at.Query(), url.Values{}
	for _, key := range []string{"addr", "master_set", "skip_verify"} {
		if values, ok := query[key]; ok {
			kept[key] = slices.Sorted(slices.Values(values))
		}
	}
	shown.RawQuery = kept.Encode()
	return []Right{{"redis.url", "keeps the blackboard on " + shown.String()}}
}

// authorityRight names the certificates that vouch for the blackboard's server.
func authorityRight(c *Config, folder string) []Right {
	if c.Redis.CAFile == "" {
		return nil
	}
	return []Right{{"redis.ca_file", "trusts the certificates in " + modelPath(folder, c.Redis.CAFile) + " for the blackboard"}}
}

// landRight names the branch that is written to in the user's own repository.
func landRight(c *Config, _ string) []Right {
	if c.Land == nil {
		return nil
	}
	return []Right{{"land.onto", "moves branch " + c.Land.Onto + " of the repository, by itself"}}
}

// copyRights are the files that are not committed, and reach agents all the same.
func copyRights(c *Config, _ string) (all []Right) {
	for _, a := range c.Agents {
		for _, file := range a.Workspace.Copy {
			all = append(all, Right{"agents." + a.Name + ".workspace.copy", "gets a copy of your file " + file + ", which need not be committed"})
		}
	}
	return all
}

// short is the beginning of a text's digest: long enough that nobody finds another text
// that has it, and with it the same right.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256 " + hex.EncodeToString(sum[:16])
}
