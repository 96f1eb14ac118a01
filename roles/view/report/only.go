package report

import (
	"reflect"
	"slices"
	"strings"
)

// Fields returns the names of a report's fields, in their order.
func Fields() []string {
	var all []string
	for f := range reflect.TypeFor[Report]().Fields() {
		all = append(all, nameOf(f))
	}
	return all
}

// Only returns a value with some fields of the report, in the order that a report has.
func (r *Report) Only(fields []string) any {
	all := reflect.ValueOf(r).Elem()
	var types []reflect.StructField
	var values []reflect.Value
	for i := range all.NumField() {
		if f := all.Type().Field(i); slices.Contains(fields, nameOf(f)) {
			types, values = append(types, f), append(values, all.Field(i))
		}
	}
	of := reflect.New(reflect.StructOf(types)).Elem()
	for i, v := range values {
		of.Field(i).Set(v)
	}
	return of.Interface()
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
