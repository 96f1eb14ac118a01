package cli

import (
	"strings"
	"testing"

	"sett/roles/role"
	"sett/roles/role/words"
)

// Records that are gone or corrupt do not hide the others, in any form, and the
// command says that the list is not whole.
func TestListsGoOnWithoutBrokenRecords(t *testing.T) {
	s := newStage(t)
	good, gone, corrupt := s.Goal("a good goal"), s.Goal("gone"), s.Goal("corrupt")
	_, _, question := s.asks("a goal with a question", "Which colour?")
	s.Send("DEL", "sett:{stage}:artifact:"+gone)
	s.Send("HDEL", "sett:{stage}:workflow:"+corrupt, "created_at")
	s.Send("DEL", "sett:{stage}:artifact:"+question)
	for command, broken := range map[string]string{"goals": "2 records", "hoard": "2 records", "hoard --type Question": "a record"} {
		for _, form := range []string{"table", "json", "jsonl", "yaml"} {
			stdout, _, err := s.run(append(strings.Fields(command), "-o", form)...)
			if err == nil || role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), broken+" cannot be read") {
				t.Errorf("%s -o %s ends with %v", command, form, err)
			}
			if !strings.HasSuffix(command, "Question") && !strings.Contains(stdout, words.Short(good)) {
				t.Errorf("%s -o %s leaves out what is sound:\n%s", command, form, stdout)
			}
		}
	}
	if _, _, err := s.run("hoard", "--workflow", good); err != nil {
		t.Errorf("a list with nothing broken: %v", err)
	}
}
