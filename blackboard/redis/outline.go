package redis

import (
	"context"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Outline is an artefact whose payload is described instead of read, for those
// who look at many. Its payload may be read later, see ReadPayloads.
type Outline struct {
	blackboard.Artefact
	PayloadSize int // bytes
}

// outlined are the fields of an artefact that are always short enough to read.
var outlined = []string{
	"id", "logical_id", "version", "structural_type", "type", "source_artefacts", "produced_by_role",
	"produced_by_agent", "claim_id", "workflow_id", "summary", "metadata", "created_at",
}

// Outlines reads artefacts without their payloads, some hundreds in a round trip,
// in the order of the ids. There is an error for each that is missing or corrupt,
// so that the others can be shown without it.
func (b *Board) Outlines(ctx context.Context, ids []string) ([]Outline, []error, error) {
	out, each := make([]Outline, len(ids)), make([]error, len(ids))
	for from := 0; from < len(ids); from += page {
		to := min(from+page, len(ids))
		if err := b.outlines(ctx, ids[from:to], out[from:to], each[from:to]); err != nil {
			return nil, nil, err
		}
	}
	return out, each, nil
}

func (b *Board) outlines(ctx context.Context, ids []string, out []Outline, each []error) error {
	return b.retry(ctx, "read artefacts", func(ctx context.Context) error {
		cmds := make(rueidis.Commands, 0, 2*len(ids))
		for _, id := range ids {
			key := b.keys.artifact(id)
			cmds = append(cmds, b.client.B().Hmget().Key(key).Field(outlined...).Build(),
				b.client.B().Hstrlen().Key(key).Field("payload").Build())
		}
		res := b.share.do(ctx, cmds...)
		for i, id := range ids {
			values, err := res[2*i].ToArray()
			if err != nil {
				return err
			}
			size, err := res[2*i+1].ToInt64()
			if err != nil {
				return err
			}
			fields := map[string]string{}
			for j, v := range values {
				if s, err := v.ToString(); err == nil {
					fields[outlined[j]] = s
				}
			}
			if len(fields) > 0 {
				fields["payload"] = ""
			}
			out[i].PayloadSize = int(size)
			out[i].Artefact, each[i] = decodeArtefact(id, fields)
		}
		return nil
	})
}

// OutlinesWithTexts is Outlines with the payloads of those that have at most so many
// bytes.
func (b *Board) OutlinesWithTexts(ctx context.Context, ids []string, most int) ([]Outline, []error, error) {
	all, each, err := b.Outlines(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	texts := make([]*Outline, 0, len(all))
	for i := range all {
		if each[i] == nil {
			texts = append(texts, &all[i])
		}
	}
	return all, each, b.ReadPayloads(ctx, texts, most)
}

// ReadPayloads reads the payloads of those artefacts whose payload has at most
// so many bytes. The others' stay empty.
func (b *Board) ReadPayloads(ctx context.Context, all []*Outline, most int) error {
	var wanted []*Outline
	for _, o := range all {
		if o.PayloadSize > 0 && o.PayloadSize <= most {
			wanted = append(wanted, o)
		}
	}
	for from := 0; from < len(wanted); from += page {
		some := wanted[from:min(from+page, len(wanted))]
		err := b.retry(ctx, "read payloads", func(ctx context.Context) error {
			cmds := make(rueidis.Commands, len(some))
			for i, o := range some {
				cmds[i] = b.client.B().Hget().Key(b.keys.artifact(o.ID)).Field("payload").Build()
			}
			for i, res := range b.share.do(ctx, cmds...) {
				payload, err := res.ToString()
				if err != nil {
					return notFound(err, "payload of artefact", some[i].ID)
				}
				some[i].Payload = payload
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// WorkflowArtefacts returns the ids of a workflow's artefacts, oldest first.
func (b *Board) WorkflowArtefacts(ctx context.Context, workflow string) ([]string, error) {
	return b.list(ctx, b.keys.artefactsByWorkflow(workflow), 0, -1)
}

// Versions returns the ids of a logical thread's artefacts, the first version
// first.
func (b *Board) Versions(ctx context.Context, logicalID string) ([]string, error) {
	return b.wholeIndex(ctx, b.keys.thread(logicalID))
}
