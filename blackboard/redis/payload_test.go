package redis

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"sett/blackboard"
)

// Payloads come back byte by byte, whatever is in them.
func TestPayloads(t *testing.T) {
	random := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for name, payload := range map[string]string{
			"empty": "", "NUL": "\x00", "invalid UTF-8": "\xff\xfe\x80", "line ends": "a\r\nb\r\n$5\r\n", "quotes": `"\" \u0000`,
			"1 MB of anything": string(random), "10 MB": strings.Repeat("0123456789abcdef", 10<<20/16),
		} {
			g := goal(payload)
			must(t, w.b.People.PostGoal(w.ctx, g, "ann"))
			claim := w.open(g.ID, "a")
			w.grant(claim, blackboard.PhaseExclusive, "a")
			st, ref := w.start(claim, "a", "h")
			a := result(st.Claim, "a", blackboard.Standard, "Copy", st.Artefact.Payload)
			must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: a}))
			got, err := w.b.Records.Artefact(w.ctx, a.ID)
			must(t, err)
			if got.Payload != payload {
				t.Errorf("%s: %d bytes became %d: %.40q", name, len(payload), len(got.Payload), got.Payload)
			}
		}
	})
}

// Every other field of an artefact comes back, too.
func TestArtefactFields(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(claim, "a")
		a := result(c, "a", blackboard.Standard, "Type <&> \u2028 é \"'", "x")
		a.Summary, a.Metadata = "multi\nline \x7f \U0001F9A1", json.RawMessage(`{"deep":[{"n":12345678901234567890,"s":"\u0000"}],"e":{}}`)
		a.Commit = strings.Repeat("ab", 20)
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: a}))
		got, err := w.b.Records.Artefact(w.ctx, a.ID)
		must(t, err)
		if got.CreatedAt.IsZero() || got.CreatedAt.Location().String() != "UTC" {
			t.Errorf("created at %s", got.CreatedAt)
		}
		a.Version, a.LogicalID, a.CreatedAt = 1, a.ID, got.CreatedAt
		was, err := json.Marshal(a)
		must(t, err)
		is, err := json.Marshal(got)
		must(t, err)
		if !bytes.Equal(was, is) {
			t.Errorf("got\n%s\nwant\n%s", is, was)
		}
		list, err := w.b.Records.ListArtefacts(w.ctx, blackboard.Filter{Type: a.Type})
		must(t, err)
		wantList(t, "by type", ids(list), a.ID)
	})
}
