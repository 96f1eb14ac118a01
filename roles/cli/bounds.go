package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

// refuseNegative refuses bounds below zero, which everywhere stands for none.
func refuseNegative(flags []*kong.Flag) error {
	for _, f := range flags {
		v := f.Target
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Int && v.Kind() != reflect.Int64 || strings.HasPrefix(f.Default, "-") || v.Int() >= 0 {
			continue
		}
		return role.Fail(role.Usage, fmt.Errorf("--%s: %v is negative", f.Name, v.Interface()), "0 is for no limit")
	}
	return nil
}

// bounded is a context that ends after so long; 0: not before its parent. The cause is
// what tells its end from another's; nil where nobody asks.
func bounded(ctx context.Context, most time.Duration, cause error) (context.Context, context.CancelFunc) {
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, cause)
}
