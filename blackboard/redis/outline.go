package redis

import (
	"context"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// outlined are the fields of an artefact that are always short enough to read.
var outlined = []string{
	"id", "logical_id", "version", "structural_type", "type", "source_artefacts", "produced_by_role",
	"produced_by_agent", "claim_id", "workflow_id", "summary", "metadata", "created_at", "commit",
}

// Outlines reads artefacts without their payloads, some hundreds in a round trip,
// in the order of the ids. There is an error for each that is missing or corrupt,
// so that the others can be shown without it.
func (b Records) Outlines(ctx context.Context, ids []string) ([]blackboard.Outline, []error, error) {
	out, each := make([]blackboard.Outline, len(ids)), make([]error, len(ids))
	err := b.c.Each(ctx, "read artefacts", ids, func(id string) rueidis.Commands {
		c, key := b.c.Client.B(), b.c.Keys.Artifact(id)
		return rueidis.Commands{c.Hmget().Key(key).Field(outlined...).Build(), c.Hstrlen().Key(key).Field("payload").Build()}
	}, func(i int, res []rueidis.RedisResult) error {
		values, err := res[0].ToArray()
		if err != nil {
			return err
		}
		size, err := res[1].ToInt64()
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
		out[i].Artefact, each[i] = store.DecodeArtefact(ids[i], fields)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return out, each, nil
}

// OutlinesWithTexts is Outlines with the payloads of those that have at most so many
// bytes.
func (b Records) OutlinesWithTexts(ctx context.Context, ids []string, most int) ([]blackboard.Outline, []error, error) {
	all, each, err := b.Outlines(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	texts := make([]*blackboard.Outline, 0, len(all))
	for i := range all {
		if each[i] == nil {
			texts = append(texts, &all[i])
		}
	}
	return all, each, b.ReadPayloads(ctx, texts, most)
}

// ReadPayloads reads the payloads that have at most so many bytes. The others' stay empty.
func (b Records) ReadPayloads(ctx context.Context, all []*blackboard.Outline, most int) error {
	var wanted []*blackboard.Outline
	var ids []string
	for _, o := range all {
		if o.PayloadSize > 0 && o.PayloadSize <= most {
			wanted, ids = append(wanted, o), append(ids, o.ID)
		}
	}
	return b.c.Each(ctx, "read payloads", ids, func(id string) rueidis.Commands {
		return rueidis.Commands{b.c.Client.B().Hget().Key(b.c.Keys.Artifact(id)).Field("payload").Build()}
	}, func(i int, res []rueidis.RedisResult) (err error) {
		wanted[i].Payload, err = res[0].ToString()
		return store.NotFound(err, "payload of artefact", ids[i])
	})
}

// WorkflowArtefacts returns the ids of a workflow's artefacts, oldest first.
func (b Index) WorkflowArtefacts(ctx context.Context, workflow string) ([]string, error) {
	return b.c.List(ctx, b.c.Keys.ArtefactsByWorkflow(workflow), 0, -1)
}

// Versions returns the ids of a logical thread's artefacts, the first version
// first.
func (b Index) Versions(ctx context.Context, logicalID string) ([]string, error) {
	ids, err := b.c.Sorted(ctx, b.c.Keys.Thread(logicalID))
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	var first bool
	err = b.c.Retry(ctx, "read thread", func(ctx context.Context) (err error) {
		first, err = isFirst(b.c.Client.Do(ctx, firstVersion(b.c, logicalID)))
		return err
	})
	if first {
		ids = []string{logicalID}
	}
	return ids, err
}
