package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// eraseStep is how many keys are looked at, and removed at most, by one command: a
// shared server serves its other users in between.
const eraseStep = 500

// Erase removes all keys of the instance from the server, and no others. It can be
// repeated. Nobody may use the instance meanwhile.
func (b *Board) Erase(ctx context.Context) (removed int, err error) {
	for {
		n, err := b.erasePass(ctx)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("erase instance %s: %w", b.Instance(), err)
		}
		if n == 0 { // else the listing may have gone on at another server, which has another order
			return removed, nil
		}
	}
}

// erasePass lists all keys once and removes the instance's.
func (b *Board) erasePass(ctx context.Context) (removed int, err error) {
	prefix, cursor := b.c.Keys.Prefix, "0"
	for {
		answer, err := b.c.AskHome(ctx, "list keys", "SCAN", cursor, "MATCH", prefix+"*", "COUNT", strconv.Itoa(eraseStep))
		if err != nil {
			return removed, err
		}
		page, err := answer.AsScanEntry()
		if err != nil {
			return removed, err
		}
		keys := slices.DeleteFunc(page.Elements, func(key string) bool { return !strings.HasPrefix(key, prefix) })
		for some := range slices.Chunk(keys, eraseStep) {
			n, err := b.c.Number(ctx, "remove keys", append([]string{"UNLINK"}, some...)...)
			removed += n
			if err != nil {
				return removed, err
			}
		}
		if cursor = strconv.FormatUint(page.Cursor, 10); cursor == "0" {
			return removed, nil
		}
	}
}
