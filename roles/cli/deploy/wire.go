package deploy

import (
	"sett/blackboard/redis"
	"sett/runtime/docker"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
	"sett/runtime/process"
)

// Deploy uses Redis, or sett's own blackboard behind the same client.
const adminUser = redis.AdminUser

var (
	aclFile = redis.ACLFile
)

// aclUsers are the users of that Redis.
type aclUsers = redis.Users

// Deploy uses a container engine and its images.
type (
	containerEngine = engine.Engine
	endpoint        = engine.Endpoint
	containerImage  = image.Image
	executable      = image.Executable
	foreseen        = image.Foreseen
	imageBuild      = image.Build
	imageFault      = image.Fault
	imageProgress   = image.Progress
	imageWant       = image.Want
	missingImage    = image.Missing
	missingError    = image.MissingError
)

// The reasons why it has no image.
const (
	faultPull       = image.FaultPull
	faultFiles      = image.FaultFiles
	faultDockerfile = image.FaultDockerfile
	faultBuildKit   = image.FaultBuildKit
	faultBase       = image.FaultBase
	faultStep       = image.FaultStep
)

var (
	engineInstances = docker.Instances
	newStore        = image.New
	errPort         = engine.ErrPort
	errLocked       = process.ErrLocked
)

// namesOf returns the names of an instance's things on an engine.
func namesOf(e *containerEngine, instance string) containerNames {
	return docker.New(e, docker.Options{Instance: instance})
}
