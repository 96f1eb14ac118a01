package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// convertRecords is how many records a call converts, so that none takes long.
const convertRecords = 100

// Converted is what a conversion had to do: nothing, or the records that there are.
type Converted struct{ Artefacts, Claims int }

// Older says whether the records have an older schema, or are being converted.
func (b *Board) Older(ctx context.Context) (bool, error) {
	has, err := b.c.Text(ctx, "read schema", "HGET", b.c.Keys.Instance(), "schema")
	return store.Convertible(has), err
}

// Convert brings the records of an older schema into the form of this sett, once. It waits
// until no orchestrator, agent or worker of before is at work. One that was interrupted goes
// on where it was. The board has to be open for that: see Options.Convert.
func (b *Board) Convert(ctx context.Context) (Converted, error) {
	for {
		done, waits, err := b.convertStep(ctx)
		if err != nil || done != nil {
			if err != nil {
				return Converted{}, fmt.Errorf("convert the records of instance %s: %w", b.c.Options.Instance, err)
			}
			return *done, nil
		}
		if waits == "" {
			continue
		}
		select {
		case <-ctx.Done():
			return Converted{}, fmt.Errorf("convert the records of instance %s: %s is still at work: %w", b.c.Options.Instance, waits, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// convertStep makes one call: it is done, or waits for somebody, or neither, and goes on.
func (b *Board) convertStep(ctx context.Context) (done *Converted, waits string, err error) {
	r, err := b.c.Do(ctx, "convert", store.SchemaVersion, strconv.Itoa(convertRecords))
	switch {
	case err != nil:
		return nil, "", err
	case r.Status == "more":
		return nil, "", nil
	case r.Status == "wait":
		return nil, r.Text(0), nil
	case r.Status == "refused":
		return nil, "", &blackboard.RefusedError{Reason: r.Text(0)}
	}
	var n Converted
	n.Artefacts, _ = strconv.Atoi(r.Text(0)) // none where there was nothing to do
	n.Claims, _ = strconv.Atoi(r.Text(1))
	return &n, "", nil
}
