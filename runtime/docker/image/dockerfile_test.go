package image

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

var dockerfiles = []struct {
	name, text, want string
	from             []string
}{
	{"one", "FROM a\nRUN b\n", "FROM a\nLABEL x\nRUN b\n", []string{"a"}},
	{"no newline at the end", "FROM a", "FROM a\nLABEL x\n", []string{"a"}},
	{"stages", "ARG B\nfrom --platform=linux/amd64 a:1 as b\nCOPY c d\nFROM $B\n", "ARG B\nfrom --platform=linux/amd64 a:1 as b\nLABEL x\nCOPY c d\nFROM $B\nLABEL x\n", []string{"a:1", "$B"}},
	{"continued", "FROM \\\n  # why\n\n  a\nRUN x\n", "FROM \\\n  # why\n\n  a\nLABEL x\nRUN x\n", []string{"\\"}},
	{"within another", "FROM a\nRUN select \\\nFROM b\nFROM c\n", "FROM a\nLABEL x\nRUN select \\\nFROM b\nFROM c\nLABEL x\n", []string{"a", "c"}},
	{"comments between", "FROM a\nRUN x \\\n# FROM q\nFROM b\n", "FROM a\nLABEL x\nRUN x \\\n# FROM q\nFROM b\n", []string{"a"}},
	{"escape", "# escape=`\nFROM a\nRUN dir c:\\\nFROM b\nRUN x `\nFROM c\n", "# escape=`\nFROM a\nLABEL x\nRUN dir c:\\\nFROM b\nLABEL x\nRUN x `\nFROM c\n", []string{"a", "b"}},
	{"no directive after a comment", "# hello\n# escape=`\nFROM a\nRUN x `\nFROM b\n", "# hello\n# escape=`\nFROM a\nLABEL x\nRUN x `\nFROM b\nLABEL x\n", []string{"a", "b"}},
	{"carriage returns", "FROM a\r\nRUN b \\\r\nFROM c\r\n", "FROM a\r\nLABEL x\nRUN b \\\r\nFROM c\r\n", []string{"a"}},
	{"byte order mark", "\ufeffFROM a\n", "\ufeffFROM a\nLABEL x\n", []string{"a"}},
	{"nothing", "", "", nil},
}

func TestLabelStages(t *testing.T) {
	for _, tt := range dockerfiles {
		t.Run(tt.name, func(t *testing.T) {
			d := labelStages([]byte(tt.text), "x")
			if string(d.text) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", d.text, tt.want)
			}
			if !slices.Equal(d.from, tt.from) {
				t.Errorf("from %q, want %q", d.from, tt.from)
			}
			if d := labelStages([]byte(tt.text), ""); string(d.text) != tt.text {
				t.Errorf("without a label got\n%s", d.text)
			}
		})
	}
}

// Every line of the original is found again, and nothing but labels was put in.
func FuzzLabelStages(f *testing.F) {
	for _, tt := range dockerfiles {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const label = "the=label"
		d := labelStages([]byte(text), label)
		out := strings.SplitAfter(string(d.text), "\n")
		var rest []string
		put := 0
		for i, line := range out {
			// The one that was put in is the line after its place in the original.
			if put < len(d.inserted) && i == d.inserted[put]+put {
				if line != "LABEL "+label+"\n" {
					t.Fatalf("line %d is %q", i+1, line)
				}
				put++
				continue
			}
			rest = append(rest, line)
			if got := d.original("line " + strconv.Itoa(i+1)); got != "line "+strconv.Itoa(len(rest)) {
				t.Fatalf("line %d of the result is called %s, want %d", i+1, got, len(rest))
			}
		}
		if got := strings.Join(rest, ""); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(text, "\n") || put != len(d.inserted) {
			t.Fatalf("the rest is %q", got)
		}
	})
}

func TestBuildLogSteps(t *testing.T) {
	var said []string
	l := buildLog{want: Want{Name: "agent", Ref: "x:latest"}, say: func(_, line string) { said = append(said, line) }, ours: 1, label: `LABEL sett.instance="i"`, added: 1}
	for _, s := range []string{
		"Step 1/7 : FROM a\n", " ---> 0123\n",
		"Step 2/7 : LABEL sett.instance=\"i\"\n", " ---> Running in 45\n", "Removing intermediate container 45\n", " ---> 67\n",
		"Step 3/7 : COPY x y\n", " ---> Using cache\n", " ---> 89\n",
		"Step 4/7 : COPY z y\n", " ---> 90\n",
		"Step 5/7 : RUN make\n", " ---> Running in ab\n", "\x1b[91mwarning\n\x1b[0m", "fine\n", " ---> cd\n",
		"Step 6/7 : CMD [\"x\"]\n", " ---> Using cache\n", " ---> cd\n",
		"Step 7/7 : LABEL sett.agent=a\n", " ---> Running in ef\n",
	} {
		l.see(message{Stream: s})
	}
	l.done()
	want := []string{"building x:latest", "step 3/5: COPY z y", "step 4/5: RUN make", "built x:latest"}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}
