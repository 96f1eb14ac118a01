package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sett/roles/cli/grammar"
	"sett/roles/cli/manual"
)

// staged says how an example differs from one that is typed in a running clan's
// workspace and ends with 0.
type staged struct {
	where   string                // which world; empty: the shared one, whose clan runs
	prepare func(w *world) string // makes what the example is about, and returns the ending of its id
	meet    func(w *world)        // happens, again and again, until the command has said something or ended
	endless bool                  // Ctrl-C ends it, once it has said something
	replace map[string]string     // what to type instead, where the example names what only its reader has
	types   *string               // it wants a terminal, where this is typed
	code    int
	needs   string // a program of the field
}

// The worlds that there are besides the shared one; each example has one of its own.
const (
	newRepository = "a repository without sett.yml"
	notStarted    = "a workspace whose clan does not run"
	running       = "a workspace whose clan has just been started, with nothing on its blackboard"
)

// exampleID stands for an id in examples.
const exampleID = "7XK2ABCD"

// stagings are all examples that need something, by the line that is typed. exampleID
// is replaced by what prepare returns.
var stagings = map[string]staged{
	"sett init --commit && sett up":          {where: newRepository, replace: map[string]string{"sett up": "sett up --runtime process"}},
	"sett down":                              {where: running},
	"sett down --name my-sett --purge --yes": {where: running},
	"sett down --all":                        {where: running, types: new("y\n")},
	"sett up":                                {where: notStarted, replace: map[string]string{"sett up": "sett up --yes"}},
	"sett up --dry-run -o json":              {where: notStarted},
	"sett up --timeout 10s -f other.yml --name other": {where: notStarted, replace: map[string]string{"10s": "60s --yes"}}, // the machine may be busy
	"sett init --example llm-reviewer --model NAME":   {where: newRepository},
	"sett logs -f":       {endless: true},
	"sett logs 7XK2ABCD": {prepare: (*world).claim},
	"sett logs writer --since 10m --claim 7Q2M": {prepare: (*world).claimEnding, replace: map[string]string{"7Q2M": exampleID}},
	"sett watch":                                                 {endless: true, prepare: (*world).asking, meet: (*world).answerAll},
	"sett watch --since 1h":                                      {endless: true},
	"sett watch --since all -o jsonl":                            {endless: true},
	"sett watch --workflow @last":                                {endless: true, prepare: (*world).asking, meet: (*world).answerAll},
	"sett watch --type 'Code*' --agent writer":                   {endless: true},
	"sett watch --exit-when-done":                                {where: running},
	"sett questions --wait --timeout 10m":                        {meet: func(w *world) { w.post("ask") }},
	"sett answer \"The red one.\"":                               {where: running, prepare: (*world).question},
	"sett approve":                                               {where: running, prepare: (*world).gate},
	"sett approve --all":                                         {prepare: (*world).gate},
	"sett reject \"The changelog is missing.\"":                  {where: running, prepare: (*world).gate},
	"sett answer 7XK2ABCD \"The red one.\"":                      {prepare: (*world).question},
	"sett answer 7XK2ABCD - < answer.md":                         {prepare: (*world).question},
	"sett answer 7XK2ABCD":                                       {prepare: (*world).question, types: new("")},
	"sett approve 7XK2ABCD":                                      {prepare: (*world).gate},
	"sett reject 7XK2ABCD \"The changelog is missing.\"":         {prepare: (*world).gate},
	"sett reject 7XK2ABCD - < remarks.md":                        {prepare: (*world).gate},
	"sett review 7XK2ABCD --approve":                             {prepare: (*world).inReview},
	"sett review 7XK2ABCD --feedback \"Say how long it takes.\"": {prepare: (*world).inReview},
	"sett review 7XK2ABCD --feedback - < remarks.md":             {prepare: (*world).inReview},
	"sett cancel 7XK2ABCD \"It works on the wrong branch.\"":     {prepare: (*world).openClaim},
	"sett cancel @last \"No longer needed.\"":                    {prepare: (*world).question},
	"sett retry @last":                                           {prepare: (*world).failure},
	"sett retry 7XK2ABCD \"The disk was full.\"":                 {prepare: (*world).failure},
	"sett retry 7XK2ABCD --budget cost=5":                        {prepare: (*world).failure},
	"sett retry 7XK2ABCD --wait":                                 {prepare: (*world).failure},
	"sett wait --timeout 10m":                                    {prepare: (*world).goal},
	"sett wait 7XK2ABCD --for question -o json":                  {prepare: (*world).asking},
	"sett wait @last --for idle && sett questions":               {prepare: (*world).asking},
	"sett unearth 7XK2ABCD --diff | git apply":                   {prepare: (*world).commitUndone},
	"sett try linter --artefact 7XK2ABCD --as review -v":         {prepare: (*world).commit},
	"sett show 7XK2ABCD -o json":                                 {prepare: (*world).commit},
	"sett unearth 7XK2ABCD > draft.txt":                          {prepare: (*world).commit},
	"sett result":                                                {prepare: (*world).landable},
	"sett result 7XK2ABCD > report.md":                           {prepare: (*world).landable},
	"sett result -o json":                                        {prepare: (*world).landable},
	"sett why @result":                                           {prepare: (*world).landable},
	"sett unearth 7XK2ABCD --meta":                               {prepare: (*world).commit},
	"sett why 7XK2ABCD":                                          {prepare: (*world).commit},
	"sett why 7XK2ABCD -o json":                                  {prepare: (*world).commit},
	"sett graph 7XK2ABCD --depth 3":                              {prepare: (*world).commit},

	"sett land":                   {prepare: (*world).landable},
	"sett land 7XK2ABCD --rebase": {prepare: (*world).landable},
	"sett land @last --onto release --merge --dry-run": {prepare: (*world).landable},
	"sett diff":                           {prepare: (*world).landable},
	"sett diff 7XK2ABCD --stat":           {prepare: (*world).landable},
	"sett diff @last | git apply --check": {prepare: (*world).landable},

	"sett checkout 7XK2ABCD":                           {prepare: (*world).landable},
	"sett checkout @last ../look":                      {prepare: (*world).landable},
	"sett checkout 7XK2ABCD --branch review/sing":      {prepare: (*world).landable},
	"sett leftovers show 7XK2ABCD":                     {prepare: (*world).leftover},
	"sett leftovers show 7XK2ABCD/writer-1 --stat":     {prepare: (*world).leftover},
	"sett leftovers restore 7XK2ABCD":                  {prepare: (*world).leftover},
	"sett leftovers restore 7XK2ABCD/writer-1 ../kept": {prepare: (*world).leftover},
	"sett leftovers drop 7XK2ABCD":                     {prepare: (*world).leftover, types: new("y\n")},

	"sett watch --since 1764150000000-0 -o jsonl": {endless: true},
	"sett ui":                           {endless: true},
	"sett board":                        {code: 2}, // there is no terminal
	"sett board --goal @last":           {code: 2},
	"sett ui --goal @last":              {endless: true, prepare: (*world).goal},
	"sett blame sett.yml":               {replace: map[string]string{"sett.yml": "../../sett.yml"}}, // examples are typed in a folder of their own
	"sett blame sett.yml:2-3 -o json":   {replace: map[string]string{"sett.yml": "../../sett.yml"}},
	"sett blame sett.yml --at 5175d51a": {code: 3}, // there is no such commit
	"sett ui --no-open --port 8080":     {endless: true, replace: map[string]string{"8080": "0"}},
	"sett report 7XK2ABCD -o md":        {prepare: (*world).commit},
	"sett ledger import ledger.jsonl --bundle commits.bundle": {where: running},
	"sett ledger import ledger.jsonl":                         {where: running},
	"gunzip < ledger.jsonl.gz | sett ledger import -":         {where: running},
	"sett ledger import --abort":                              {where: running, code: 3}, // none was left unfinished
	"sett man | man -l -":                                     {needs: "man"},
	"sett man pages && man -l pages/sett-up.1":                {needs: "man"},
}

// examplesOf returns what the examples of a command type, without the words some have
// beside them.
func examplesOf(n *grammar.Command) []string {
	_, lines := manual.SplitExamples(n.Detail)
	for i, line := range lines {
		lines[i] = exampleRemark.ReplaceAllString(line, "")
	}
	return lines
}

var exampleRemark = regexp.MustCompile(`\s{2,}\S.*$`)

// TestExamples runs every example of every command's help.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	whole, _, err := grammarFor(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	var collect func(nodes []*grammar.Command)
	collect = func(nodes []*grammar.Command) {
		for _, n := range nodes {
			examples := examplesOf(n)
			if len(examples) == 0 {
				t.Errorf("the help of sett %s has no example", n.Path())
			}
			for _, line := range examples {
				if !strings.Contains(line, "sett ") {
					t.Errorf("the help of sett %s has an example of something else: %s", n.Path(), line)
				}
				if !slices.Contains(all, line) {
					all = append(all, line)
				}
			}
			collect(n.Commands)
		}
	}
	collect(whole.Commands)
	for line := range stagings {
		if !slices.Contains(all, line) {
			t.Errorf("stagings has what no help says: %s", line)
		}
	}
	shared := newWorld(t, running)
	shared.history()
	for _, line := range all {
		name := strings.ReplaceAll(line, "/", "|") // a slash would make subtests of it
		t.Run(name, func(t *testing.T) { shared.runExample(t, line, stagings[line]) })
	}
}
