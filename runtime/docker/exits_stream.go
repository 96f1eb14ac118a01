package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"sett/runtime"
)

// stream is the engine's events about the instance's containers.
type stream struct {
	messages <-chan events.Message
	errs     <-chan error
	close    context.CancelFunc
}

// connect asks for the events since the newest that is known, or from now on. It
// returns when the engine has answered.
func (s *subscription) connect(ctx context.Context) *stream {
	ctx, cancel := context.WithCancel(ctx)
	o := events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("event", string(events.ActionDie)), filters.Arg("event", string(events.ActionOOM)),
		filters.Arg("label", runtime.LabelInstance+"="+s.r.o.Instance))}
	if s.newest > 0 {
		since := s.newest + 1
		o.Since = fmt.Sprintf("%d.%09d", since/1e9, since%1e9)
	}
	late := time.AfterFunc(callTime, cancel)
	defer late.Stop()
	messages, errs := s.r.e.api.Events(ctx, o)
	return &stream{messages, errs, cancel}
}

// backOff is the pause before the next try to connect.
type backOff struct{ last time.Duration }

func (b *backOff) next() time.Duration {
	b.last = min(max(2*b.last, 50*time.Millisecond), relistTime)
	return b.last
}
