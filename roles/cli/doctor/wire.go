package doctor

import (
	"sett/blackboard/redis"
	"sett/runtime/docker"
	"sett/runtime/docker/engine"
)

// containerEngine is the engine that the doctor asks for its facts.
type containerEngine = engine.Engine

var (
	findEngine  = engine.Find      // where the environment says that it is
	instancesOn = docker.Instances // all that it has parts of
)

// refusesRight says whether a server refused its user a command or a key.
func refusesRight(err error) bool { return redis.RefusalOf(err) == redis.RefusedRight }
