package env

import (
	"slices"
	"strings"
)

// prefix begins the names that are Sett's own.
const prefix = "SETT_"

// Names lists all variables of Sett's own that one of its programs reads: those with
// SETT_, and RedisURL. A test of the root package holds it.
var Names = []string{
	Instance, Agent, RedisURL, PromptClaim, PromptExecution, Command,
	Role, Strategy, Adapter, Commits, Bids, Traces, BidScript, BidsRequired, Timeout, Grace, Workspace, WorkspaceMode, RepositoryURL, TreeToken, Tree, Slots,
	MaxSize, MaxTree, MinFree, Incarnation, Run, ConfigDigest, Pin, PinDigest, Lacks, Image, HealthAddr, RedisTimeout, RedisRetries, RedisGiveUp, RedisCAFile,
	BoardMark, LogFormat, LogLevel, StateDir, Pins, Config, ToolNetwork, ToolWalls, Courses, Lease, ClaimID, Attempt, Unit, Token, ListenAddr, DefaultName,
	OwnRedis, HostValues, Credentials,
	Runtime, AgentsRedisURL, AgentsRedisCA, AgentsUser, ControlImage, WorkspaceExtra, LogDir,
	ModelSocket, ModelName, ModelAPI, LLMSettings, ModelDoor, OnBudget,
	Models, ModelAddr, GatewayKey, ModelKeys, ModelSecrets, ModelAccount, ModelAnswers, ModelGateway, ModelToken,
	NotifyCommand, NotifyTimeout, NotifyWorkspace,
	RepositoryAddr, RepositoryKey, Store, Trees, Objects, LandInto, TreeGit,
	ClaimType, TargetID, TargetType, TargetVersion, TargetPayload, GoalID, GoalText, SlotNumber, SlotCount,
	"SETT_UNIT_LOG", "SETT_TOOL_RUN", "SETT_LINUX_BINARY", "SETT_USER", // of other packages
}

// Whole completes the variables of a container: each of Names that is not given is empty,
// which means "not set". Otherwise it would come from the container's image, and its maker
// may have set it. It does not change the given slice.
func Whole(environ []string) []string {
	given := map[string]bool{}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		given[name] = true
	}
	out := slices.Clone(environ)
	for _, name := range Names {
		if !given[name] {
			out = append(out, name+"=")
		}
	}
	return out
}

// unset says whether a variable is one of Sett's with the value for "not set".
func unset(name, value string) bool { return value == "" && strings.HasPrefix(name, prefix) }
