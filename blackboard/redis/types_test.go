package redis

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// The keys of which an instance has one each have the types that the table says, and none is missing in it.
func TestKeyTypes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.openGoal()
		w.hello("a", blackboard.Worker{Incarnation: "w1"})
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "ann"}))
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, []string{"*"}, ""))
		w.goal()
		kinds, found := map[string]string{}, 0
		for _, one := range store.KeyTypes(w.b.c.Keys) {
			kinds[one.Key] = one.Kind
		}
		keys := reflect.ValueOf(w.b.c.Keys)
		for i := range keys.NumMethod() {
			if keys.Method(i).Type().NumIn() > 0 {
				continue
			}
			key := keys.Method(i).Call(nil)[0].String()
			has := w.raw("TYPE", key)[0]
			if has == "none" {
				continue
			}
			if found++; kinds[key] != has {
				t.Errorf("%s is %s, and the table says %q", key, has, kinds[key])
			}
		}
		if found < 12 {
			t.Errorf("only %d keys were there", found)
		}
	})
}

// A key of another type is named with both types, by moves and by reads, and its error has the way on.
func TestForeignKey(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.openGoal()
		if seen := w.b.Foreign(w.ctx); seen != nil {
			t.Errorf("a usual board: %v", seen)
		}
		w.raw("SET", w.b.c.Keys.Events(), "garbage")
		_, look := w.b.Look(w.ctx)
		for name, err := range map[string]error{
			"look": look, "goal": w.b.People.PostGoal(w.ctx, goal("another"), "ann"),
			"agent": w.b.Cub.Hello(w.ctx, "a", blackboard.Presence{Incarnation: "i"}, 0),
		} {
			var foreign *blackboard.KeyTypeError
			if !errors.As(err, &foreign) || foreign.Key != "sett:{test}:events" || foreign.Has != "string" || foreign.Want != "stream" {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if strings.Contains(err.Error(), "WRONGTYPE") || !strings.Contains(foreign.Remedy(), "RENAME 'sett:{test}:events' 'foreign:{test}:events'") {
				t.Errorf("%s: %v; %s", name, err, foreign.Remedy())
			}
		}
		w.raw("DEL", w.b.c.Keys.Events())
		w.raw("SET", w.b.c.Keys.Claims(), "garbage")
		_, err := w.b.Index.ClosedCount(w.ctx)
		if seen := w.b.Foreign(w.ctx); seen == nil || seen.Key != "sett:{test}:claims" {
			t.Errorf("asked: %v", seen)
		}
		if foreign := (*blackboard.KeyTypeError)(nil); !errors.As(err, &foreign) || foreign.Key != "sett:{test}:claims" {
			t.Errorf("open work: %v", err)
		}
	})
}
