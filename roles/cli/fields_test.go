package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/blame"
	"sett/roles/cli/commit"
	"sett/roles/cli/deploy"
	"sett/roles/cli/doctor"
	"sett/roles/cli/grammar"
	"sett/roles/cli/landing"
	"sett/roles/cli/pin"
	"sett/roles/cli/status"
	"sett/roles/cli/trial"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/view"
	"sett/roles/view/flow"
	"sett/roles/view/lineage"
	"sett/roles/view/report"
)

// printed are the objects that a command prints for programs.
type printed struct {
	command string
	notes   string // in the place of objects that are described elsewhere
	objects []printedObject
}

type printedObject struct {
	title string
	of    reflect.Type
}

// The objects around lists, which commands make where they print them. That they are
// these is checked like all else.
type (
	goalsPrinted struct {
		Goals []view.Goal `json:"goals"` // newest last
		More  bool        `json:"more"`  // there are older ones, which --limit left out
	}
	hoardPrinted struct {
		Artefacts []blackboard.Artefact `json:"artefacts"` // newest last
		More      bool                  `json:"more"`      // there are older ones, which --limit left out
	}
	leftoversPrinted struct {
		Leftovers []leftover `json:"leftovers"` // oldest first
	}
	listPrinted struct {
		Instances []status.Row `json:"instances"`
	}
	questionsPrinted struct {
		Questions []view.Matter `json:"questions"` // and gates; oldest first
	}
	logsPrinted struct {
		Lines []logRecord `json:"lines"` // oldest first
	}
	doctorPrinted struct {
		OK       bool             `json:"ok"` // no problem
		Problems int              `json:"problems"`
		Warnings int              `json:"warnings"`
		Checks   []doctor.Finding `json:"checks"`
	}
	versionPrinted struct {
		Version  string `json:"version"`
		Commit   string `json:"commit"`
		Go       string `json:"go"`       // the version of Go that it was built with
		Platform string `json:"platform"` // operating system and architecture
	}
	commitPrinted struct {
		blackboard.Artefact
		Commit *commit.Commit `json:"commit"`                 // null: it cannot be read
		Error  string         `json:"commit_error,omitempty"` // why not
	}
)

// allPrinted are all commands with -o.
var allPrinted = []printed{
	{command: "blame", objects: objects("", blame.Blame{}, "Each line of jsonl is a line of the file.", nil)},
	{command: "config", notes: "The fields are those of sett.yml: sett schema describes them."},
	{command: "schema", notes: "A JSON Schema (draft 2020-12)."},
	{command: "diff", objects: objects("", diffed{}, "Each line of jsonl is a file.", nil)},
	{command: "doctor", objects: objects("", doctorPrinted{}, "Each line of jsonl is a check.", nil)},
	{command: "goals", objects: objects("", goalsPrinted{}, "Each line of jsonl is a goal.", nil)},
	{command: "graph", objects: objects("", lineage.Graph{}, "Each line of jsonl is a node.", nil)},
	{command: "hoard", objects: objects("", hoardPrinted{}, "Each line of jsonl is an artefact.", nil)},
	{command: "land", objects: objects("", landing.Plan{})},
	{command: "leftovers list", objects: objects("", leftoversPrinted{}, "Each line of jsonl is a leftover.", nil)},
	{command: "list", objects: objects("", listPrinted{}, "Each line of jsonl is an instance.", nil)},
	{command: "logs", objects: objects("", logsPrinted{}, "Each line of jsonl, and with --follow each object of json, is a line.", nil)},
	{command: "models show", objects: objects("", view.Models{}, "Each line of jsonl is a goal.", nil)},
	{command: "plan", objects: objects("", flow.Plan{}, "Each line of jsonl is a type, with --walked an arrow.", nil)},
	{command: "questions", objects: objects("", questionsPrinted{}, "Each line of jsonl is a question or gate.", nil)},
	{command: "report", objects: objects("", report.Report{})},
	{command: "result", notes: "The fields are those of sett unearth."},
	{command: "show", objects: objects("Of a goal:", view.GoalDetail{}, "Of a claim:", view.ClaimAlone{}, "Of an artefact:", view.ArtefactDetail{})},
	{command: "try", objects: objects("", trial.Report{})},
	{command: "unearth", objects: objects("Of an artefact:", blackboard.Artefact{}, "Of a CodeCommit:", commitPrinted{}, "With --meta:", view.Meta{})},
	{command: "up", objects: objects("With --dry-run:", deploy.Plan{})},
	{command: "version", objects: objects("", versionPrinted{})},
	{command: "wait", objects: objects("", waitView{})},
	{command: "watch", objects: objects("Of each entry of the ledger:", blackboard.Event{}, "With --waits, whenever what is waited for changes:", waitsEntry{})},
	{command: "why", objects: objects("", lineage.Why{}, "Each line of jsonl is a step.", nil)},
}

func objects(titlesAndValues ...any) []printedObject {
	var all []printedObject
	for i := 0; i < len(titlesAndValues); i += 2 {
		all = append(all, printedObject{titlesAndValues[i].(string), reflect.TypeOf(titlesAndValues[i+1])})
	}
	return all
}

// objectNames are what the types of nested objects are called.
var objectNames = map[reflect.Type]string{
	reflect.TypeFor[blame.Line](): "line", reflect.TypeFor[blame.Origin](): "origin", reflect.TypeFor[blame.Reviewer](): "reviewer",
	reflect.TypeFor[blackboard.Artefact](): "artefact", reflect.TypeFor[view.Meta](): "artefact", reflect.TypeFor[view.Brief](): "artefact",
	reflect.TypeFor[trial.Artefact](): "result", reflect.TypeFor[trial.Problem](): "problem", reflect.TypeFor[trial.Execution](): "run", reflect.TypeFor[trial.Asked](): "question",
	reflect.TypeFor[blackboard.Workflow](): "workflow", reflect.TypeFor[view.Goal](): "goal", reflect.TypeFor[blackboard.Claim](): "claim",
	reflect.TypeFor[view.GoalSpending](): "goal", reflect.TypeFor[view.Spent](): "sum", reflect.TypeFor[view.Amount](): "amount", reflect.TypeFor[view.Pause](): "pause", reflect.TypeFor[blackboard.Exceeded](): "exceeded budget", reflect.TypeFor[view.Budget](): "budget",
	reflect.TypeFor[view.ClaimDetail](): "shown claim", reflect.TypeFor[view.ClaimAlone](): "claim alone", reflect.TypeFor[blackboard.Target](): "target",
	reflect.TypeFor[blackboard.Bid](): "bid", reflect.TypeFor[view.GrantDetail](): "grant", reflect.TypeFor[lineage.WhyGrant](): "grant", reflect.TypeFor[lineage.WhyClaim](): "claim",
	reflect.TypeFor[lineage.Step](): "step", reflect.TypeFor[lineage.WhyBid](): "bid", reflect.TypeFor[blackboard.Ran](): "ran", reflect.TypeFor[lineage.WhyQuestion](): "question", reflect.TypeFor[lineage.WhyUnmerged](): "unmerged", reflect.TypeFor[lineage.WhyCancel](): "cancel", reflect.TypeFor[view.Version](): "version",
	reflect.TypeFor[blackboard.Landing](): "landing", reflect.TypeFor[config.Land](): "land", reflect.TypeFor[report.Artefact](): "told artefact", reflect.TypeFor[report.Goal](): "told goal", reflect.TypeFor[report.Stretch](): "stretch", reflect.TypeFor[report.Deed](): "deed",
	reflect.TypeFor[report.Commit](): "patch", reflect.TypeFor[report.File](): "changed file", reflect.TypeFor[report.Ran](): "runs", reflect.TypeFor[report.Entry](): "entry", reflect.TypeFor[lineage.Graph](): "graph",
	reflect.TypeFor[view.Wait](): "wait", reflect.TypeFor[view.Gate](): "gate", reflect.TypeFor[view.Matter](): "question or gate", reflect.TypeFor[view.MatterSubject](): "subject",
	reflect.TypeFor[config.FlowType](): "type", reflect.TypeFor[flow.Agent](): "agent", reflect.TypeFor[flow.End](): "end", reflect.TypeFor[flow.Stall](): "stall",
	reflect.TypeFor[flow.Walked](): "walked", reflect.TypeFor[flow.Arrow](): "arrow", reflect.TypeFor[flow.Made](): "made", reflect.TypeFor[flow.Passed](): "passed gate",
	reflect.TypeFor[lineage.GraphNode](): "node", reflect.TypeFor[lineage.GraphEdge](): "edge", reflect.TypeFor[commit.Commit](): "commit", reflect.TypeFor[commit.File](): "file",
	reflect.TypeFor[landing.Step](): "step", reflect.TypeFor[landing.Outcome](): "outcome", reflect.TypeFor[leftover](): "leftover", reflect.TypeFor[store.Ref](): "ref", reflect.TypeFor[doctor.Finding](): "check", reflect.TypeFor[status.Row](): "instance", reflect.TypeFor[status.Part](): "part", reflect.TypeFor[status.Agent](): "agent",
	reflect.TypeFor[status.Work](): "work", reflect.TypeFor[status.Disk](): "disk", reflect.TypeFor[status.Notifier](): "notifier", reflect.TypeFor[logRecord](): "line", reflect.TypeFor[deploy.PlannedChanges](): "changes", reflect.TypeFor[pin.Change](): "file", reflect.TypeFor[deploy.PlannedBoard](): "blackboard",
	reflect.TypeFor[deploy.PlannedPart](): "part", reflect.TypeFor[deploy.PlannedImage](): "image", reflect.TypeFor[deploy.PlannedThing](): "thing", reflect.TypeFor[config.Right](): "right",
}

const fieldsFile = "manual/fields.txt"

// TestFields: every command with -o has its fields described in fields.txt, which is
// written from the types (-update) and says what the commands print.
func TestFields(t *testing.T) {
	source := readComments(t, "blame", ".", "commit", "deploy", "doctor", "landing", "pin", "status", "trial", "../../blackboard", "../../contract/config", "../../contract/model", "../view", "../view/flow", "../view/lineage", "../view/report")
	var text strings.Builder
	text.WriteString("Written by go test ./roles/cli -run TestFields -update.\n")
	for _, p := range allPrinted {
		text.WriteString("\n# " + p.command + "\n" + p.text(t, source))
	}
	if *update {
		if err := os.WriteFile(fieldsFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is, err := os.ReadFile(fieldsFile); err != nil || string(is) != text.String() {
		t.Errorf("%s differs from the types; -update rewrites it: %v", fieldsFile, err)
	}
	whole, _, err := grammarFor(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range whole.Below() {
		reads := slices.ContainsFunc(n.Flags, func(f *grammar.Flag) bool { return f.Name == "output" })
		known := slices.ContainsFunc(allPrinted, func(p printed) bool { return p.command == n.Path() })
		if reads != known {
			t.Errorf("sett %s has -o: %v, has described fields: %v", n.Path(), reads, known)
		}
	}
}

// The fields are in sett help fields and in the manual, and --help says where.
func TestHelpFields(t *testing.T) {
	dir := t.TempDir()
	run := func(line string) (string, error) {
		var out bytes.Buffer
		e := role.Env{Args: strings.Fields(line), Stdout: &out, Stderr: io.Discard, Lookup: os.LookupEnv, Now: time.Now}
		err := Run(t.Context(), e)
		return out.String(), err
	}
	for line, wants := range map[string][]string{
		"help fields show":   {"Of a goal:\n  kind ", "\n\nwait\n  what ", "  rework_chain  list of version  empty without rework\n"},
		"help fields":        {"  show\n", "  watch\n"},
		"help fields models": {"sett models show:\n\n", "  paused  bool "},
		"show --help":        {"\nFields of -o json: sett help fields show\n"},
	} {
		out, err := run(line)
		if err != nil || strings.Contains(out, "# ") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		has(t, out, wants...)
	}
	for line, code := range map[string]role.Code{"help fields down": role.NotFound, "help fields shwo": role.Usage} {
		if _, err := run(line); role.CodeOf(err) != code {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := run("man " + dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "sett-show.1"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(page), ".SH \"FIELDS\"\n", "waits_more?")
}

// goldenFiles are those that TestGolden and TestGoldenPeople do not write, with the
// command that prints them.
var goldenFiles = map[string]string{
	"doctor": "doctor", "list-verbose": "list", "unearth-commit": "unearth", "unearth-diff": "unearth", "unearth-no-commit": "unearth",
	"land": "land", "diff": "diff", "leftovers": "leftovers list", "up-dry-run": "up", "watch-waits": "watch", "models": "models show", "models-goal": "models show", "report": "report", "blame": "blame",
}

// TestFieldsArePrinted: what the golden files hold has the fields that are described,
// and no others.
func TestFieldsArePrinted(t *testing.T) {
	by := maps.Clone(goldenFiles)
	for _, c := range slices.Concat(goldenCommands, goldenPeople) {
		by[c.name], _, _ = strings.Cut(c.args, " ")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range files {
		name, form, _ := strings.Cut(filepath.Base(path), ".")
		i := slices.IndexFunc(allPrinted, func(p printed) bool { return p.command == by[name] })
		if i < 0 {
			t.Errorf("%s: no fields are described of sett %s", path, by[name])
			continue
		}
		seen[by[name]] = true
		for _, v := range decoded(t, path) {
			if err := allPrinted[i].check(v, form == "jsonl"); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	for _, p := range allPrinted {
		if p.objects != nil && !seen[p.command] {
			t.Errorf("no golden file has what sett %s prints", p.command)
		}
	}
}

// decoded returns the values in a file.
func decoded(t *testing.T, path string) (all []any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
}

// check says what is wrong with a printed value.
func (p printed) check(v any, line bool) error {
	if p.objects == nil {
		return nil
	}
	var tried []error
	for _, o := range p.objects {
		if o.of == nil {
			continue
		}
		of := []reflect.Type{o.of}
		if line { // of its list, where it has one
			for _, f := range fieldsIn(o.of) {
				if f.of.Kind() == reflect.Slice {
					of = append(of, f.of.Elem())
				}
			}
		}
		for _, each := range of {
			err := fits(v, each, "")
			if err == nil {
				return nil
			}
			tried = append(tried, err)
		}
	}
	return errors.Join(tried...)
}

// fits says where a value is not of a type.
func fits(v any, of reflect.Type, at string) error {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			if err := fits(each, of.Elem(), at+"[]"); err != nil {
				return err
			}
		}
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil // free
		}
		fields := fieldsIn(of)
		for _, f := range fields {
			if _, ok := v[f.name]; !ok && !f.optional {
				return fmt.Errorf("%s.%s is not there", at, f.name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
			if i < 0 {
				return fmt.Errorf("%s.%s is not described", at, name)
			}
			if err := fits(v[name], fields[i].of, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}
