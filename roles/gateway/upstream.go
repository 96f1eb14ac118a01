package gateway

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/provider"
)

// upstream is a model with its provider's key.
type upstream struct {
	env.Model
	key     string
	way     provider.Way
	client  *http.Client
	slots   chan struct{}
	retries int
	headers time.Duration // until an answer's headers
	idle    time.Duration // between two parts of an answer
	ignore  []*regexp.Regexp
	record  *tape // nil: nothing is recorded
	replay  *tape // nil: the provider is asked
}

const (
	usualRetries     = 3
	usualConcurrency = 64
	mostAnswerHeader = 256 << 10
)

func newUpstream(m env.Model, key string, proxy *url.URL, p pace) (*upstream, error) {
	u := &upstream{Model: m, key: key, retries: usualRetries, headers: cmp.Or(m.Timeout, p.header), idle: cmp.Or(m.Idle, p.idle), slots: make(chan struct{}, cmp.Or(m.Concurrency, usualConcurrency))}
	if m.Retries != nil {
		u.retries = *m.Retries
	}
	for _, pattern := range m.Ignore {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, role.Fail(role.Usage, fmt.Errorf("model %s: ignore %q: %w", m.Name, pattern, err), "")
		}
		u.ignore = append(u.ignore, re)
	}
	var err error
	if m.Record != "" {
		if u.record, err = openTape(m.Record, true); err != nil {
			return nil, role.Fail(role.Environment, fmt.Errorf("model %s: record: %w", m.Name, err), "")
		}
	}
	if m.Replay != "" {
		if u.replay, err = openTape(m.Replay, false); err != nil {
			return nil, role.Fail(role.Environment, fmt.Errorf("model %s: replay: %w", m.Name, err), "record: DIR makes a recording")
		}
	}
	var trusted *x509.CertPool // nil: the usual certificates
	if m.CAFile != "" {
		text, err := os.ReadFile(m.CAFile)
		if err == nil {
			trusted, err = role.Certificates(text)
		}
		if err != nil {
			return nil, role.Fail(role.Environment, fmt.Errorf("model %s: ca_file: %w", m.Name, err), "")
		}
	}
	u.way = provider.Way{Proxy: proxy, Trusted: trusted}
	u.client = u.way.Client()
	t := u.client.Transport.(*http.Transport)
	t.ResponseHeaderTimeout, t.MaxResponseHeaderBytes, t.IdleConnTimeout, t.MaxIdleConnsPerHost = u.headers, mostAnswerHeader, time.Minute, 64
	return u, nil
}

// enter waits for one of the calls under way to end, where there are as many as may be.
func (u *upstream) enter(ctx context.Context) (leave func(), err error) {
	select {
	case u.slots <- struct{}{}:
		return func() { <-u.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isTimeout says whether no answer began in time.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// isRefused says whether the provider never got the request.
func isRefused(err error) bool {
	var unsent *provider.Unsent
	return errors.As(err, &unsent)
}

// isLasting says whether a repetition would fail in the same way.
func isLasting(err error) bool {
	var unsent *provider.Unsent
	return errors.As(err, &unsent) && unsent.Lasting
}
