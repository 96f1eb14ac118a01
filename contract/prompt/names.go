package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/contract/tool"
)

// names gives the artefacts and commits of an input running numbers.
type names struct {
	artefacts map[string]int // by id
	commits   map[string]int // by hash
	others    map[string]string
}

// number counts artefacts as they stand in the context, the target last, and commits as
// the artefacts name them, then those of the workspace.
func number(in tool.Input) *names {
	n := &names{artefacts: map[string]int{}, commits: map[string]int{}, others: map[string]string{}}
	all := append(slices.Clone(in.ContextChain), in.Target)
	for _, a := range all {
		if n.artefacts[a.ID] == 0 && a.ID != "" {
			n.artefacts[a.ID] = len(n.artefacts) + 1
		}
		n.commit(a.CommitHash())
	}
	for _, a := range all {
		n.other(a.ClaimID, "[a claim]")
		n.other(a.WorkflowID, "[the goal]")
		n.other(a.LogicalID, "[an earlier artefact]")
		for _, id := range a.SourceArtefacts {
			n.other(id, "[an earlier artefact]")
		}
	}
	if w := in.Workspace; w != nil {
		n.commit(w.Base)
		n.commit(w.Before)
		n.commit(w.Commit)
		for _, u := range w.Unmerged {
			n.commit(u.Commit)
		}
	}
	return n
}

func (n *names) commit(hash string) {
	if hash != "" && n.commits[hash] == 0 {
		n.commits[hash] = len(n.commits) + 1
	}
}

func (n *names) other(id, name string) {
	if id != "" && n.artefacts[id] == 0 {
		n.others[id] = cmp.Or(n.others[id], name)
	}
}

// clean puts names in place of the ids and hashes that the input has, and makes the text
// valid UTF-8 with plain line ends.
func (n *names) clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	var b strings.Builder
	written := 0
	for at := 0; at < len(s); at++ {
		from := at
		for at < len(s) && inWord(s[at]) {
			at++
		}
		if at-from < leastHash {
			continue
		}
		if name := n.nameOf(s[from:at]); name != "" {
			b.WriteString(s[written:from])
			b.WriteString(name)
			written = at
		}
	}
	b.WriteString(s[written:])
	return b.String()
}

// inWord says whether a byte is part of a word. A regular expression took ten times as long.
func inWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || c == '_'
}

// The lengths of a commit's hash or its beginning.
const leastHash, mostHash = 7, 64

// nameOf is the name of a word that is an id, or the hash of a commit, or its beginning;
// empty: it is another word.
func (n *names) nameOf(word string) string {
	isHash := len(word) <= mostHash && strings.Trim(word, "0123456789abcdef") == ""
	if !isHash && len(word) != blackboard.IDLength {
		return ""
	}
	if number := n.artefacts[word]; number > 0 {
		return "artefact " + strconv.Itoa(number)
	}
	if name := n.others[word]; name != "" {
		return name
	}
	if number := n.ofCommit(word); isHash && number > 0 {
		return "commit " + strconv.Itoa(number)
	}
	return ""
}

// ofCommit returns the number of a commit by its hash or its beginning; 0: it is none, or
// more than one.
func (n *names) ofCommit(word string) (number int) {
	for hash, i := range n.commits {
		if strings.HasPrefix(hash, word) {
			if number > 0 {
				return 0
			}
			number = i
		}
	}
	return number
}

// artefact shows one artefact.
func (n *names) artefact(a blackboard.Artefact) *part {
	name := fmt.Sprintf("artefact %d (%s)", n.artefacts[a.ID], a.Type)
	var b strings.Builder
	fmt.Fprintf(&b, "## Artefact %d: %s\n\n", n.artefacts[a.ID], line(n.about(a)))
	if hash := a.CommitHash(); hash != "" {
		fmt.Fprintf(&b, "It is, or is about, commit %d.\n\n", n.commits[hash])
	}
	if a.Summary != "" && a.Summary != a.Payload && a.StructuralType != blackboard.Failure {
		fmt.Fprintf(&b, "Summary: %s\n\n", line(n.clean(a.Summary)))
	}
	p := &part{name: line(name), head: b.String(), shrink: true}
	switch {
	case a.StructuralType == blackboard.Failure:
		p.body = []string{n.clean(failure(a.Payload))}
	case a.CommitHash() == "" || strings.TrimSpace(a.Payload) != a.CommitHash():
		p.body = []string{n.clean(a.Payload)}
	}
	p.build()
	return p
}

// about names the kind and the maker of an artefact in one line.
func (n *names) about(a blackboard.Artefact) string {
	by := ", by " + a.ProducedByRole
	version := ""
	if a.Version > 1 {
		version = ", version " + strconv.Itoa(a.Version)
	}
	switch a.StructuralType {
	case blackboard.Review:
		verdict := "a Review that asks for changes"
		if blackboard.VerdictOf(a.Payload) == blackboard.Approve {
			verdict = "a Review that approves"
		}
		return verdict + n.of(a) + by
	case blackboard.Question:
		return "a Question" + by
	case blackboard.Answer:
		return "the Answer to a Question" + by
	case blackboard.Failure:
		return a.Type + ", a Failure" + by
	}
	return a.Type + version + by
}

// of names the artefact that a Review is about.
func (n *names) of(a blackboard.Artefact) string {
	for _, id := range a.SourceArtefacts {
		if number := n.artefacts[id]; number > 0 {
			return " of artefact " + strconv.Itoa(number)
		}
	}
	return ""
}

// mostOutput is the part of a failed program's output that is shown, in bytes.
const mostOutput = 4 << 10

// failure shows the payload of a Failure without its times and numbers.
func failure(payload string) string {
	var r blackboard.FailureReport
	if err := json.Unmarshal([]byte(payload), &r); err != nil || r.Reason == "" {
		return payload
	}
	text := r.Reason
	for _, out := range []struct{ name, text string }{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		if strings.TrimSpace(out.text) != "" {
			text += "\n\n" + out.name + ":\n" + Middle(out.text, mostOutput)
		}
	}
	return text
}

// cutMark stands for the bytes that were cut out.
const cutMark = "\n[… %d bytes are left out here …]\n"

// Middle cuts a text in the middle if it is longer than so many bytes.
func Middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	from, to := most/2, len(s)-(most-most/2)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + fmt.Sprintf(cutMark, to-from) + s[to:]
}

// fenced puts a text between fences that it cannot close.
func fenced(s string) string {
	longest, run := 2, 0
	for _, c := range []byte(s) {
		if run++; c != '~' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("~", longest+1)
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return fence + "\n" + s + fence + "\n"
}

// line makes one line of a text.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// ranges joins runs of artefacts in a list of names.
func ranges(left []string) []string {
	numberOf := func(s string) int {
		var n int
		if _, err := fmt.Sscanf(s, "artefact %d (", &n); err != nil {
			return 0
		}
		return n
	}
	var out []string
	for i := 0; i < len(left); {
		j := i + 1
		for from := numberOf(left[i]); from > 0 && j < len(left) && numberOf(left[j]) == from+j-i; {
			j++
		}
		if j-i > 2 {
			out = append(out, fmt.Sprintf("artefacts %d to %d", numberOf(left[i]), numberOf(left[j-1])))
		} else {
			out = append(out, left[i:j]...)
		}
		i = j
	}
	return out
}
