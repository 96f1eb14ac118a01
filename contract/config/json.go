package config

import (
	"encoding/json"
	"time"
)

// duration is a time.Duration that JSON writes as sett.yml does: "5m0s".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// Each type with durations has a twin without methods. The twin is embedded in a
// struct; its own fields are less deep, so they win over the durations within it.
type (
	plainAgent        Agent
	plainHealthCheck  HealthCheck
	plainNotify       Notify
	plainOrchestrator Orchestrator
	plainRedis        Redis
)

type agentJSON struct {
	*plainAgent
	Timeout *duration `json:"timeout"`
	Grace   *duration `json:"stop_grace_period"`
}

type healthCheckJSON struct {
	*plainHealthCheck
	Interval    *duration `json:"interval"`
	Timeout     *duration `json:"timeout"`
	StartPeriod *duration `json:"start_period"`
}

type notifyJSON struct {
	*plainNotify
	Timeout *duration `json:"timeout"`
}

type orchestratorJSON struct {
	*plainOrchestrator
	BidTimeout      *duration `json:"bid_timeout"`
	QuestionTimeout *duration `json:"question_timeout"`
}

type redisJSON struct {
	*plainRedis
	GiveUp  *duration `json:"give_up"`
	Timeout *duration `json:"timeout"`
}

func (a *Agent) json() agentJSON {
	return agentJSON{(*plainAgent)(a), (*duration)(&a.Timeout), (*duration)(&a.Grace)}
}

func (h *HealthCheck) json() healthCheckJSON {
	return healthCheckJSON{(*plainHealthCheck)(h),
		(*duration)(&h.Interval), (*duration)(&h.Timeout), (*duration)(&h.StartPeriod)}
}

func (n *Notify) json() notifyJSON {
	return notifyJSON{(*plainNotify)(n), (*duration)(&n.Timeout)}
}

func (o *Orchestrator) json() orchestratorJSON {
	return orchestratorJSON{(*plainOrchestrator)(o), (*duration)(&o.BidTimeout), (*duration)(&o.QuestionTimeout)}
}

func (r *Redis) json() redisJSON {
	return redisJSON{(*plainRedis)(r), (*duration)(&r.GiveUp), (*duration)(&r.Timeout)}
}

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (a Agent) MarshalJSON() ([]byte, error) { return json.Marshal(a.json()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (a *Agent) UnmarshalJSON(b []byte) error { v := a.json(); return json.Unmarshal(b, &v) }

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (h HealthCheck) MarshalJSON() ([]byte, error) { return json.Marshal(h.json()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (h *HealthCheck) UnmarshalJSON(b []byte) error { v := h.json(); return json.Unmarshal(b, &v) }

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (n Notify) MarshalJSON() ([]byte, error) { return json.Marshal(n.json()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (n *Notify) UnmarshalJSON(b []byte) error { v := n.json(); return json.Unmarshal(b, &v) }

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (o Orchestrator) MarshalJSON() ([]byte, error) { return json.Marshal(o.json()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (o *Orchestrator) UnmarshalJSON(b []byte) error { v := o.json(); return json.Unmarshal(b, &v) }

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (r Redis) MarshalJSON() ([]byte, error) { return json.Marshal(r.json()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (r *Redis) UnmarshalJSON(b []byte) error { v := r.json(); return json.Unmarshal(b, &v) }
