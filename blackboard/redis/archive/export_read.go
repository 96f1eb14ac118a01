package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// read takes the reply of the script export.
func (m *moment) read(r store.Reply) error {
	m.position = r.Text(0)
	for i, n := range []*int{&m.artefacts, &m.claims, &m.goals} {
		var err error
		if *n, err = strconv.Atoi(r.Text(1 + i)); err != nil {
			return fmt.Errorf("read counts: %w", err)
		}
	}
	if len(r.Rest) != 8 {
		return errors.New("read moment: the answer is not whole")
	}
	return errors.Join(
		eachOf(r.Rest[4], 3, func(parts []rueidis.RedisMessage) error {
			l, err := readClaimLine(parts)
			m.changedClaims[l.ID] = l
			return err
		}),
		eachOf(r.Rest[5], 3, func(parts []rueidis.RedisMessage) error {
			id, err1 := parts[0].ToString()
			stored, err2 := parts[1].AsStrMap()
			spending, err3 := parts[2].AsStrMap()
			m.changedWorkflows[id] = newWorkflowLine(id, stored, spending)
			return errors.Join(err1, err2, err3)
		}),
		eachOf(r.Rest[6], 3, m.readOpen),
		m.readCalls(r.Rest[7]))
}

// eachOf calls f with the parts of each element of an answer.
func eachOf(all rueidis.RedisMessage, parts int, f func([]rueidis.RedisMessage) error) error {
	elements, err := all.ToArray()
	if err != nil {
		return fmt.Errorf("read moment: %w", err)
	}
	for _, element := range elements {
		p, err := element.ToArray()
		if err == nil && len(p) != parts {
			err = errors.New("the answer is not whole")
		}
		if err == nil {
			err = f(p)
		}
		if err != nil {
			return fmt.Errorf("read moment: %w", err)
		}
	}
	return nil
}

func readClaimLine(parts []rueidis.RedisMessage) (ClaimLine, error) {
	id, err := parts[0].ToString()
	if err != nil {
		return ClaimLine{}, err
	}
	return newClaimLine(id, parts[1].AsStrMap, parts[2].AsStrMap)
}

// newClaimLine puts a claim together from its two keys. Its line has the usual values, too.
func newClaimLine(id string, stored, bids func() (map[string]string, error)) (ClaimLine, error) {
	hash, err1 := stored()
	b, err2 := bids()
	r := store.ReadClaim(id, hash).WithGrants()
	delete(r.Fields, "course") // of this board
	l := ClaimLine{Kind: LineClaim, ID: id, Fields: fieldsOf(r.Fields), Bids: r.Bids(b), Grants: fieldsOf(r.Grants)}
	return l, errors.Join(err1, err2)
}

// readOpen takes one index of open work.
func (m *moment) readOpen(parts []rueidis.RedisMessage) error {
	index, err1 := parts[0].ToString()
	agent, err2 := parts[1].ToString()
	members, err3 := parts[2].AsStrSlice()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for i := 0; i+1 < len(members); i += 2 {
		since, err := strconv.ParseFloat(members[i+1], 64)
		if err != nil {
			return err
		}
		m.open = append(m.open, openLine{LineOpen, index, agent, members[i], strconv.FormatFloat(since, 'f', -1, 64)})
	}
	return nil
}

// readCalls takes the calls of models that are under way.
func (m *moment) readCalls(all rueidis.RedisMessage) error {
	calls, err := all.AsStrMap()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		var fields map[string]string
		if err := json.Unmarshal([]byte(calls[id]), &fields); err != nil {
			m.brokenCalls[id] = fmt.Errorf("read call %s: %w: %w", id, err, blackboard.ErrCorrupt)
			continue
		}
		m.calls = append(m.calls, callLine{LineCall, id, fieldsOf(fields)})
	}
	return nil
}

// claimLines reads claims in one round trip, in the order of the ids. One that is
// missing has no fields.
func (e *export) claimLines(ctx context.Context, ids []string) ([]ClaimLine, error) {
	lines := make([]ClaimLine, len(ids))
	err := e.c.Each(ctx, "read claims", ids, e.c.ClaimReads, func(i int, r []rueidis.RedisResult) (err error) {
		lines[i], err = newClaimLine(ids[i], r[0].AsStrMap, r[1].AsStrMap)
		return err
	})
	return lines, err
}

// workflowLines reads workflows and their accounts, in the order of the ids. One that is
// missing has no fields.
func (e *export) workflowLines(ctx context.Context, ids []string) ([]WorkflowLine, error) {
	lines := make([]WorkflowLine, len(ids))
	err := e.c.Hashes(ctx, "read spending", ids, e.c.Keys.Spending, func(i int, stored map[string]string) error {
		lines[i].Spending = fieldsOf(stored)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = e.c.Hashes(ctx, "read workflows", ids, e.c.Keys.Workflow, func(i int, stored map[string]string) error {
		lines[i] = newWorkflowLine(ids[i], stored, textOf(lines[i].Spending))
		return nil
	})
	return lines, err
}

// storedArtefacts reads artefacts in the order of the ids, no more at a time than
// there is room for.
func (e *export) storedArtefacts(ctx context.Context, ids []string, each func(id string, stored map[string]string) error) error {
	for len(ids) > 0 {
		n, err := e.readable(ctx, ids)
		if err != nil {
			return err
		}
		stored := make([]map[string]string, n)
		err = e.c.Hashes(ctx, "read artefacts", ids[:n], e.c.Keys.Artifact, func(i int, f map[string]string) error {
			stored[i] = store.WholeArtefact(ids[i], f)
			return nil
		})
		if err != nil {
			return err
		}
		for i, f := range stored {
			if err := each(ids[i], f); err != nil {
				return err
			}
			stored[i] = nil
		}
		ids = ids[n:]
	}
	return nil
}

// readable returns how many of the artefacts can be read at once, one at least.
func (e *export) readable(ctx context.Context, ids []string) (int, error) {
	n := 0
	err := e.c.Retry(ctx, "read sizes", func(ctx context.Context) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = e.c.Client.B().Hstrlen().Key(e.c.Keys.Artifact(id)).Field("payload").Build()
		}
		total := int64(0)
		n = 0
		for _, res := range e.c.Client.DoMulti(ctx, cmds...) {
			size, err := res.ToInt64()
			if err != nil {
				return err
			}
			if total += size; total > exportBytes && n > 0 {
				break
			}
			n++
		}
		return nil
	})
	return n, err
}

// eachPage reads the first so many ids of an index, page by page.
func (e *export) eachPage(ctx context.Context, index string, count int, f func(from int, ids []string) error) error {
	for from := 0; from < count; from += store.Page {
		ids, err := e.c.List(ctx, index, from, min(from+store.Page, count)-1)
		if err != nil {
			return err
		}
		if want := min(store.Page, count-from); len(ids) != want {
			return fmt.Errorf("read index %s: %d ids of %d: %w", index, from+len(ids), count, blackboard.ErrCorrupt)
		}
		if err := f(from, slices.Clip(ids)); err != nil {
			return err
		}
	}
	return nil
}
