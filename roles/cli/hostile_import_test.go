package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// TestHostileImport: a file that is imported may hold what no sett writes: ids,
// origins, agents and names of people that a terminal would obey.
func TestHostileImport(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	ids := s.tell()
	_, _, err := s.run("answer", ids["question"], "The red one.")
	s.Must(err)
	s.Complete(ids["askingClaim"])
	_, _, err = s.run("--name", s.imports(s.forged()), "ledger", "import", filepath.Join(s.home, "forged.jsonl"))
	s.Must(err)
	for _, command := range []string{
		"show {goal}", "show {claim}", "show {rework}", "show {first}", "show {second}", "show {failed}", "show {failure}", "show {asking}", "show {question}",
		"why {terminal}", "why {failure}", "why {question}", "graph {goal}", "graph {asking}", "graph {asking} -o dot", "graph {asking} -o mermaid",
		"unearth {second} --meta", "unearth {question} -o table", "hoard", "goals", "questions", "list -v", "wait {goal}",
		"answer {question} again", "answer {question} again", "retry {failure}", "retry {claim}", "cancel {claim} why", "review {first} --approve",
		"watch --since all --exit-when-done --workflow {goal}", "watch --since all --exit-when-done --workflow {asking}", "try many --artefact {second}",
	} {
		stdout, stderr, err := s.runLong(append([]string{"--name", "copy"}, named(command, ids)...)...)
		if err != nil {
			var report strings.Builder
			role.Report(&report, err)
			stderr += report.String()
		}
		tame(t, command+": stdout", stdout)
		tame(t, command+": stderr", stderr)
	}
	_, _, err = s.run("--name", "copy", "answer", ids["question"], "again")
	if role.CodeOf(err) != role.Failed {
		t.Fatal(err)
	}
	var report strings.Builder
	role.Report(&report, err)
	has(t, report.String(), `anna\x1b[2J answered it `)
}

// imports makes an instance without artefacts, and puts a file beside it.
func (s *stage) imports(file []byte) string {
	s.t.Helper()
	s.Must(os.WriteFile(filepath.Join(s.home, "forged.jsonl"), file, 0o600))
	in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "copy"), State: instance.State{Name: "copy", Workspace: s.root, Runtime: config.RuntimeProcess, URL: s.Server.URL, External: true}}
	s.Must(os.MkdirAll(in.Dir, 0o700))
	s.Must(in.Save())
	s.Must(instance.WriteFile(in.ConfigPath(), s.config))
	return in.Name
}

// forged is an export of the instance with what a terminal would obey in each text of
// a claim and in the names of people, where the import takes it.
func (s *stage) forged() []byte {
	s.t.Helper()
	const obeyed = "\x1b[2J"
	stdout, _, err := s.run("ledger", "export")
	s.Must(err)
	var out bytes.Buffer
	for line := range strings.Lines(stdout) {
		var l map[string]any
		s.Must(json.Unmarshal([]byte(line), &l))
		switch l["kind"] {
		case "claim":
			fields := l["claim"].(map[string]any)
			for _, name := range []string{"origin", "reason", "retry_of", "retried_as", "target_type", "target_agent", "target_role", "target_logical_id", "granted_exclusive_agent"} {
				fields[name] = fmt.Sprint(fields[name]) + obeyed
			}
			other := []byte(fields["id"].(string))
			slices.Reverse(other)
			fields["additional_context_ids"] = `["` + string(other) + `\u001b[2J"]`
			delete(fields, "retry_of")
			delete(fields, "retried_as")
			grants := l["grants"].(map[string]any)
			for _, agent := range slices.Sorted(maps.Keys(grants)) {
				grants[agent+obeyed] = strings.NewReplacer(`"reason":"`, `"reason":"\u001b[2J`, `"verdict":"`, `"verdict":"\u001b[2J`, `"asked":["`, `"asked":["\u001b[2J`).Replace(grants[agent].(string))
				delete(grants, agent)
			}
		case "artefact":
			a := l["artefact"].(map[string]any)
			if who, ok := a["metadata"].(map[string]any); ok && who["by"] != nil {
				who["by"] = fmt.Sprint(who["by"]) + obeyed
			}
		case "event":
			delete(l["event"].(map[string]any), "record") // as an older sett wrote it: the metadata may differ
		case "footer":
			l["sha256"] = fmt.Sprintf("%x", sha256.Sum256(out.Bytes()))
		}
		kind, err := json.Marshal(l["kind"])
		s.Must(err)
		delete(l, "kind") // which comes first
		rest, err := json.Marshal(l)
		s.Must(err)
		fmt.Fprintf(&out, `{"kind":%s,%s`+"\n", kind, rest[1:])
	}
	return out.Bytes()
}
