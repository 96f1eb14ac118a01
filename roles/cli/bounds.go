package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

// refuseNegative refuses flags below zero: 0 already means no bound.
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
