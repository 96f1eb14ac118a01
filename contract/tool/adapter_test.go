package tool

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

func TestAdapters(t *testing.T) {
	const review, parallel, exclusive = blackboard.PhaseReview, blackboard.PhaseParallel, blackboard.PhaseExclusive
	check := config.Adapter{Kind: config.AdapterCheck, Makes: []string{"Checked"}}
	output := config.Adapter{Kind: config.AdapterCheck, FailOn: config.FailOnOutput, Makes: []string{"Checked"}}
	text := config.Adapter{Kind: config.AdapterText, Makes: []string{"Notes"}}
	final := config.Adapter{Kind: config.AdapterText, Makes: []string{"Notes"}, Terminal: true}
	json := config.Adapter{Makes: []string{"Plan", "Code"}}
	says := func(s string) End { return End{Stdout: []byte(s)} }
	for name, c := range map[string]struct {
		adapter config.Adapter
		phase   blackboard.Phase
		end     End
		want    string // structural type, type, payload; or the error
	}{
		"check approves":               {check, review, says("all fine\n"), "Review Review {}"},
		"check objects":                {check, review, End{ExitCode: 2, Stdout: []byte("a\n"), Stderr: []byte("b")}, `Review Review {"exit":2,"output":"a\nb"}`},
		"check without a program":      {check, review, End{ExitCode: 127}, "tool ended with exit code 127, there was no program to run"},
		"check that cannot run":        {check, review, End{ExitCode: 126}, "tool ended with exit code 126, there was no program to run"},
		"check killed":                 {check, review, End{ExitCode: -1, Signal: "SIGKILL"}, "tool was ended by SIGKILL"},
		"check too slow":               {check, review, End{ExitCode: -1, TimedOut: true, Timeout: time.Second}, "tool took longer than 1s"},
		"too slow in a call":           {text, exclusive, End{ExitCode: -1, TimedOut: true, Timeout: 15 * time.Second, Call: 14983 * time.Millisecond, Model: "m", Stderr: []byte("stopped")}, "tool took longer than 15s, with a call of model m open for 15s: stopped"},
		"too slow after a call":        {text, exclusive, End{ExitCode: -1, TimedOut: true, Timeout: time.Second, Call: time.Millisecond, Model: "m"}, "tool took longer than 1s"},
		"check out of memory":          {check, review, End{ExitCode: -1, OutOfMemory: true, MemoryKill: blackboard.KilledOfTool}, "tool was killed: out of memory"},
		"check lost a process":         {check, review, End{ExitCode: 1, MemoryKill: blackboard.KilledOfTool, Stderr: []byte("make: Error 1")}, "out of memory: a process of the tool was killed; tool ended with exit code 1: make: Error 1"},
		"work lost a process":          {check, exclusive, End{ExitCode: 1, MemoryKill: blackboard.KilledOfTool}, "out of memory: a process of the tool was killed; tool ended with exit code 1"},
		"check approves all the same":  {check, review, End{MemoryKill: blackboard.KilledOfTool}, `Review Review {} {"memory_kill":"tool"}`},
		"output objects all the same":  {output, review, End{MemoryKill: blackboard.KilledOfTool, Stdout: []byte("main.go")}, `Review Review {"exit":0,"output":"main.go"} {"memory_kill":"tool"}`},
		"check beside a kill":          {check, review, End{ExitCode: 137, MemoryKill: blackboard.KilledBeside, Stdout: []byte("slow")}, `Review Review {"exit":137,"output":"slow"} {"memory_kill":"beside"}`},
		"check killed beside a kill":   {check, review, End{ExitCode: -1, Signal: "SIGKILL", MemoryKill: blackboard.KilledBeside}, "out of memory: a process of the tool or beside it was killed; tool was ended by SIGKILL"},
		"text lost a process":          {text, exclusive, End{ExitCode: 2, MemoryKill: blackboard.KilledOfTool}, "out of memory: a process of the tool was killed; tool ended with exit code 2"},
		"too slow after a kill":        {text, exclusive, End{ExitCode: -1, TimedOut: true, Timeout: time.Second, MemoryKill: blackboard.KilledOfTool}, "out of memory: a process of the tool was killed; tool took longer than 1s"},
		"half of the contract":         {config.Adapter{}, exclusive, End{MemoryKill: blackboard.KilledOfTool}, "out of memory: a process of the tool was killed; parse tool output: stdout is empty, expected one JSON object"},
		"the contract all the same":    {config.Adapter{}, exclusive, End{MemoryKill: blackboard.KilledOfTool, Stdout: []byte(`{"artefact_type":"A","artefact_payload":"p","summary":"","metadata":{"n":1}}`)}, `Standard A p {"memory_kill":"tool","n":1}`},
		"check works":                  {check, parallel, says("ok"), `Standard Checked {"exit":0,"output":"ok"}`},
		"check fails":                  {check, exclusive, End{ExitCode: 1, Stdout: []byte("no")}, "tool ended with exit code 1"},
		"silence approves":             {output, review, says(" \n"), "Review Review {}"},
		"a word objects":               {output, review, says("main.go\n"), `Review Review {"exit":0,"output":"main.go\n"}`},
		"stderr does not":              {output, review, End{Stderr: []byte("note")}, "Review Review {}"},
		"a word fails":                 {output, exclusive, says("x\nmain.go\n"), `tool printed on stdout, and fail_on is output: "main.go"`},
		"text":                         {text, parallel, says("two\nlines\n\n"), "Standard Notes two\nlines"},
		"no text":                      {text, exclusive, says(""), "Standard Notes"},
		"text fails":                   {text, exclusive, End{ExitCode: 3, Stdout: []byte("x")}, "tool ended with exit code 3"},
		"too much text":                {text, exclusive, End{StdoutTruncated: true, StdoutSize: 99999999}, "tool wrote 99999999 bytes to stdout; at most 10485760 are read"},
		"not text":                     {text, exclusive, says("\xff"), "parse tool output: stdout is not UTF-8"},
		"text objects":                 {text, review, says("use tabs\n"), "Review Review use tabs"},
		"text approves":                {text, review, says("\n"), "Review Review {}"},
		"final":                        {final, exclusive, says("x"), "Terminal Notes x"},
		"final only under exclusive":   {final, parallel, says("x"), "Standard Notes x"},
		"a review is never final":      {final, review, says("x"), "Review Review x"},
		"the contract":                 {config.Adapter{}, exclusive, says(`{"artefact_type":"A","artefact_payload":"p","summary":""}`), "Standard A p"},
		"a type that it makes":         {json, exclusive, says(`{"artefact_type":"Code","artefact_payload":"p","summary":""}`), "Standard Code p"},
		"another type":                 {json, exclusive, says(`{"artefact_type":"Cod","artefact_payload":"p","summary":""}`), `check tool output: artefact_type "Cod" is not among those that the agent makes, did you mean "Code"? (expected one of Plan, Code)`},
		"a question is of no type":     {json, exclusive, says(`{"structural_type":"Question","payload":"?"}`), "Question Question ?"},
		"a review of another type":     {json, review, says(`{"artefact_type":"Opinion","artefact_payload":"{}","summary":""}`), "Review Opinion {}"},
		"a review by its grant":        {json, review, says(`{"artefact_payload":{}}`), "Review Review {}"},
		"a Standard by its grant":      {json, exclusive, says(`{"artefact_payload":{}}`), `parse tool output: field "artefact_type" is missing`},
		"a Standard in a review":       {json, review, says(`{"structural_type":"Standard","payload":{}}`), `parse tool output: field "artefact_type" is missing`},
		"the contract's exit code":     {config.Adapter{}, exclusive, End{ExitCode: 9}, "tool ended with exit code 9"},
		"with a complaint":             {config.Adapter{}, exclusive, End{ExitCode: 9, Stdout: []byte("x\n"), Stderr: []byte("first\n  no such file \n\n")}, "tool ended with exit code 9: no such file"},
		"a complaint of sett":          {config.Adapter{}, exclusive, End{ExitCode: 2, Stderr: []byte("step 1\nsett: error: no model (after 1 answer)\n  - a\n  + b\nsett: hint: sett llm --help\n")}, "tool ended with exit code 2: no model (after 1 answer)"},
		"with a long complaint":        {text, exclusive, End{ExitCode: 9, Stderr: []byte(strings.Repeat("ä", 201))}, "tool ended with exit code 9: " + strings.Repeat("ä", 100) + " … " + strings.Repeat("ä", 100)},
		"with a cause after much":      {text, exclusive, End{ExitCode: 9, Stderr: []byte("ask" + strings.Repeat(" the model", 99) + ": sett models resume")}, "tool ended with exit code 9: ask" + strings.Repeat(" the model", 19) + " the … " + strings.Repeat("the model ", 17) + "the model: sett models resume"},
		"a complaint before the end":   {check, review, End{ExitCode: -1, Signal: "SIGSEGV", Stderr: []byte("bad pointer")}, "tool was ended by SIGSEGV: bad pointer"},
		"no type at all in the config": {config.Adapter{Kind: config.AdapterText}, exclusive, says("x"), "check tool output: the result has no type: add makes to the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Read(c.adapter, c.phase, c.end)
			got := strings.TrimSpace(string(out.StructuralType) + " " + out.Type + " " + out.Payload + " " + string(out.Metadata))
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestCheckKeepsTheEnd: of a long output the last lines count, whole and valid.
func TestCheckKeepsTheEnd(t *testing.T) {
	long := strings.Repeat("ä line of a long log\n", 1000) + "the end\n"
	out, err := Read(config.Adapter{Kind: config.AdapterCheck}, blackboard.PhaseReview, End{ExitCode: 1, Stdout: []byte(long)})
	if err != nil || len(out.Payload) > mostOutput+600 || !strings.Contains(out.Payload, `"output":"ä line`) || !strings.HasSuffix(out.Payload, `the end\n"}`) || out.Summary != "the end" {
		t.Errorf("%d bytes, summary %q, %v: %.80s", len(out.Payload), out.Summary, err, out.Payload)
	}
}

func TestStdin(t *testing.T) {
	target := blackboard.Artefact{Payload: "p"}
	for kind, want := range map[string]string{"": "{}", config.StdinJSON: "{}", config.StdinPayload: "p", config.StdinNone: ""} {
		if got := string(Stdin(config.Adapter{Stdin: kind}, []byte("{}"), target)); got != want {
			t.Errorf("%q: %q", kind, got)
		}
	}
}
