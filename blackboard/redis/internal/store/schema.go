package store

import (
	"context"
	"errors"
	"time"

	"sett/blackboard"
)

// converts is how often an orchestrator looks whether the records are converted.
const converts = 200 * time.Millisecond

// Convertible says whether records of a schema can be converted, or are about to be.
func Convertible(has string) bool { return has == "1" || has == "1 to "+SchemaVersion }

func schemaOf(ctx context.Context, c *Conn) (string, error) {
	fields, err := c.Hash(ctx, "read schema", c.Keys.Instance()) // each user may read a whole hash
	return fields["schema"], err
}

// checkSchema refuses a board whose records have another form than this sett knows: they
// would look broken or missing. A user that may not ask is not told. An orchestrator, which
// may be started while sett up converts the records, waits for the end of that. The hash of the
// instance is nil where it was not read yet.
func checkSchema(ctx context.Context, c *Conn, instance map[string]string) error {
	has, err := instance["schema"], error(nil)
	if instance == nil {
		has, err = schemaOf(ctx, c)
	}
	if c.Options.Mend && err == nil && Convertible(has) {
		has, err = awaitConversion(ctx, c, has)
	}
	switch {
	case err != nil && errors.Is(err, blackboard.ErrUnavailable):
		return err
	case err != nil || has == "" || has == SchemaVersion, c.Options.Convert && Convertible(has):
		return nil
	}
	return &blackboard.SchemaError{Instance: c.Options.Instance, Has: has, Wants: SchemaVersion, Older: Convertible(has), Begun: Convertible(has) && has != "1"}
}

// awaitConversion waits until the records are converted, or cannot be read, and returns the
// schema that they have then.
func awaitConversion(ctx context.Context, c *Conn, has string) (string, error) {
	tell := c.Options.Converting
	if tell == nil {
		tell = func(bool) {}
	}
	var err error
	for tell(true); err == nil && Convertible(has); {
		select {
		case <-ctx.Done():
			return has, nil
		case <-time.After(converts):
			has, err = schemaOf(ctx, c)
		}
	}
	if err == nil {
		tell(false)
	}
	return has, err
}
