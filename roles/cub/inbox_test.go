package cub

import (
	"slices"
	"strconv"
	"testing"
)

func TestInbox(t *testing.T) {
	t.Parallel()
	b := newInbox()
	b.add("a", "b", "a")
	b.add("b", "c")
	<-b.signal
	if ids := b.take(2); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("took %v", ids)
	}
	b.add("a", "c")
	if ids := b.take(9); !slices.Equal(ids, []string{"c", "a"}) || len(b.take(9)) > 0 {
		t.Errorf("took %v", ids)
	}
	<-b.signal
	b.add()
	select {
	case <-b.signal:
		t.Error("a signal for nothing")
	default:
	}
}

// What is remembered is bounded, and the oldest goes first.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	if !r.add("first") || r.add("first") {
		t.Error("the first claim is new once")
	}
	for i := range mostRecent {
		if !r.add(strconv.Itoa(i)) {
			t.Fatalf("%d is not new", i)
		}
	}
	if r.add("0") || r.add(strconv.Itoa(mostRecent-1)) || !r.add("first") || len(r.known) != mostRecent {
		t.Errorf("%d are remembered", len(r.known))
	}
}
