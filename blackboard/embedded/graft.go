package embedded

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/alicebob/miniredis/v2"
)

// tables are the maps within miniredis that a snapshot reads and a start fills.
// Its public accessors take a lock, several map lookups and often a sort for
// each single field: with them a start with 100,000 artefacts takes 3 s and a
// snapshot holds up writers for 2. So these maps are reached past its exported
// names. miniredis is pinned, and graft compares names and types with those
// of this version, so that another version is an error and no
// surprise. They are pointers because FLUSHALL puts new maps in place.
type tables struct {
	keys    *map[string]string // key to type
	hashes  *map[string]map[string]string
	streams *map[string]*streamState
}

// streamState has the memory layout of miniredis' streamKey.
type streamState struct {
	entries []miniredis.StreamEntry
	//lint:ignore U1000 keeps the place of miniredis' field
	groups          map[string]*struct{}
	lastAllocatedID string
	//lint:ignore U1000 keeps the place of miniredis' field
	mu sync.Mutex
}

// graft finds the tables of a database.
func graft(db *miniredis.RedisDB) (tables, error) {
	v := reflect.ValueOf(db).Elem()
	keys, err1 := tableOf(v, "keys", reflect.TypeFor[map[string]string]())
	hashes, err2 := tableOf(v, "hashKeys", reflect.TypeFor[map[string]map[string]string]())
	streams, err3 := tableOf(v, "streamKeys", reflect.TypeFor[map[string]*streamState]())
	if err := errors.Join(err1, err2, err3); err != nil {
		return tables{}, err
	}
	return tables{
		keys:    (*map[string]string)(keys),
		hashes:  (*map[string]map[string]string)(hashes),
		streams: (*map[string]*streamState)(streams),
	}, nil
}

// tableOf is the address of one field, when its layout is the one wanted.
func tableOf(db reflect.Value, name string, want reflect.Type) (unsafe.Pointer, error) {
	f := db.FieldByName(name)
	if !f.IsValid() || !sameLayout(f.Type(), want) {
		return nil, fmt.Errorf("use miniredis: its field %s is not what this version of sett was made for", name)
	}
	return f.Addr().UnsafePointer(), nil
}

// sameLayout compares types by structure and field names; type names do not matter.
func sameLayout(a, b reflect.Type) bool {
	if a == b {
		return true
	}
	if a.Kind() != b.Kind() || a.Size() != b.Size() {
		return false
	}
	switch a.Kind() {
	case reflect.Map:
		return sameLayout(a.Key(), b.Key()) && sameLayout(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			x, y := a.Field(i), b.Field(i)
			if x.Name != y.Name || x.Offset != y.Offset || !sameLayout(x.Type, y.Type) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		// The elements' sizes may differ where the wanted one is opaque.
		return b.Elem().Kind() == reflect.Struct && b.Elem().NumField() == 0 || sameLayout(a.Elem(), b.Elem())
	case reflect.Slice:
		return sameLayout(a.Elem(), b.Elem())
	default:
		return true
	}
}
