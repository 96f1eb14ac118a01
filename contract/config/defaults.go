package config

import (
	"time"

	"sett/blackboard"
)

// The defaults of sett.yml.
const (
	DefaultVersion             = "1.0"
	DefaultRedisImage          = "redis:7-alpine"
	DefaultRepositoryImage     = "alpine/git:v2.49.1"
	DefaultTimeout             = 5 * time.Minute
	DefaultMaxSize             = 1 << 30 // bytes
	DefaultMaxTree             = 10 << 30
	DefaultMinFree             = 1 << 30
	DefaultGrace               = 10 * time.Second
	DefaultMaxReviewIterations = 3
	DefaultMaxArtefacts        = 100
	DefaultRedisGiveUp         = 5 * time.Minute
	DefaultRedisTimeout        = 2 * time.Second
	DefaultRedisRetries        = 5
	DefaultNotifyTimeout       = 30 * time.Second
	DefaultModelHeaders        = 10 * time.Minute
	DefaultModelIdle           = 5 * time.Minute
	DefaultModelRetries        = 3
	DefaultConcurrency         = 64
	DefaultSteps               = 100
)

func defaultConfig() *Config {
	return &Config{
		Version:  DefaultVersion,
		Runtime:  RuntimeDocker,
		Approve:  []string{},
		Services: Services{Redis: RedisService{Image: DefaultRedisImage}, Repository: RepositoryService{Image: DefaultRepositoryImage}},
		Orchestrator: Orchestrator{
			MaxReviewIterations: DefaultMaxReviewIterations,
			MaxArtefacts:        DefaultMaxArtefacts,
			OnReviewLimit:       ReviewLimitFail,
		},
		Redis: Redis{
			GiveUp:  DefaultRedisGiveUp,
			Timeout: DefaultRedisTimeout,
			Retries: DefaultRedisRetries,
		},
	}
}

// defaultAgent leaves Role and Strategy open: they depend on other keys.
func defaultAgent(name string) Agent {
	return Agent{
		Name: name, Replicas: 1, Concurrency: 1,
		Workspace: Workspace{Mode: blackboard.ReadOnly, MaxSize: DefaultMaxSize, MaxTree: DefaultMaxTree, MinFree: DefaultMinFree},
		Timeout:   DefaultTimeout,
		Grace:     DefaultGrace,
		Network:   NetworkFull,
		ReadOnly:  true,
	}
}

func defaultHealthCheck() HealthCheck {
	return HealthCheck{Interval: 30 * time.Second, Timeout: 30 * time.Second, Retries: 3}
}

func defaultBuild() Build { return Build{Context: ".", Dockerfile: "Dockerfile"} }

func defaultNotify() Notify { return Notify{Timeout: DefaultNotifyTimeout} }
