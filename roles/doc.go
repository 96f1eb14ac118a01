// Package roles holds no code. Its folders are the parts of Sett that run, and this
// page is the map of all rooms.
//
// # A goal's way through the code
//
//  1. main.go starts a role by its first argument or the binary's name; the CLI is the default (roles/cli).
//  2. `sett up` reads sett.yml (contract/config), looks at the machine, plans and starts the parts (roles/cli/deploy).
//  3. A runtime starts them: containers (runtime/docker) or processes (runtime/process).
//  4. `sett forage` brings HEAD into the instance's store (roles/role/store) and posts the goal as an artefact: one move
//     of the board (blackboard/redis), atomic in a Lua script.
//  5. The orchestrator opens a claim on each new artefact (roles/orchestrator).
//  6. The cub beside each agent reads the claim and bids (roles/cub).
//  7. The arbiter decides from the bids: grant a phase, complete or terminate (roles/orchestrator/arbiter, pure).
//  8. A granted cub assembles the input (roles/cub/assemble), has the role repository prepare a tree
//     (roles/repository), runs the tool there (roles/cub/toolrun), checks the output (contract/tool) and records the result.
//  9. The result is an artefact, so step 5 begins again. A Terminal, Review or Failure gets no claim.
//     Where steps 5 to 7 follow from sett.yml alone, the leader has put them on the board as a course
//     (roles/orchestrator/course.go), and the script that stores the result takes them (blackboard/redis/lua/_course.lua).
//  10. Every move adds an entry to the ledger; `sett watch` and the notifier (roles/notifier) follow it.
//
// # Imports
//
//   - blackboard, contract and runtime are words and rules without I/O. Nobody below roles imports a role.
//   - One folder owns each technology: blackboard/redis, blackboard/embedded, runtime/docker, runtime/process.
//     Only main.go, files called wire.go and roles/cli/instance import them.
//   - A role imports roles/role, and no other role. roles/view is lent to all; leaves of roles/cub are lent to `sett try`.
//   - roles/cli → doctor, landing, shell, starter, trial → chart, commit, deploy, ledger, manual, status → instance, logline →
//     term, grammar, pin, act → roles/role. All draw from roles/view, which knows no terminal. Only roles/cli imports kong;
//     the others read the command line as a plain value (roles/cli/grammar).
//
// The tests of the root package hold all of this (imports_test.go, house_test.go).
//
// # Where a new thing goes
//
//   - A command: a struct with kong's tags and a Run method in roles/cli, one file; the text of things it shows in
//     roles/view. Its work goes to a room below roles/cli if it fills more than this file, or two commands need it.
//   - A picture, for a report or a page: roles/view/diagram, pure. How artefacts depend on each other: roles/view/lineage;
//     how a clan will work: roles/view/flow. A terminal draws both in roles/cli/chart.
//   - A view of the page, or what its API reads and does: roles/cli/ui; each is a command line of sett, which
//     roles/cli/act runs in the same process. The board on the terminal does the same: roles/cli/board. By whom lines
//     of files were written: roles/cli/blame.
//   - A check of sett doctor: roles/cli/doctor, a line in its list of checks. A state of instances: roles/cli/status.
//   - Values that a shell completes: roles/cli/shell, a line in its list of sources.
//   - A move on the board: a script in blackboard/redis/lua with a header, its Go function beside it, its rule in
//     blackboard. A test feeds Go and Lua the same cases.
//   - A kind of wait: blackboard/wait.go. All commands take it from there; the notifier goes by the ledger's entries,
//     which blackboard/event.go reads.
//   - A reason to end or restart a unit: roles/orchestrator/supervisor; a rule for workers: roles/orchestrator/pool; a
//     metric: roles/orchestrator/report; a span of traces: roles/orchestrator/trace, pure, sent by roles/role/otlp. Only wire.go
//     there connects them.
//   - Commits of one goal that do not merge: found by the role repository, reported by the cub (roles/cub/conflict.go), decided
//     about in roles/orchestrator/conflict.go by roles/orchestrator/arbiter; the words are in blackboard/conflict.go.
//   - Git for an instance's own store and its agents' private trees: roles/role/store; the role that serves them to
//     cubs: roles/repository, with its words in roles/role/repository. Where a tree starts: roles/cub/assemble.
//   - Content of git LFS and its pointers: roles/role/lfs; in trees and commits: roles/role/store.
//   - The way to models: roles/gateway, the role with the keys; its words with cubs are in roles/role/gateway, the connection to a
//     provider (proxy, certificates, remedies) in roles/role/provider; how a proxy is found: roles/cli/deploy/proxy.go. Tests talk to
//     the models of roles/role/modeltest.
//   - Programs that do not know the contract: an adapter in contract/tool.
//   - An example of sett init --example: agents/examples, a YAML file and its programs; its kind in roles/cli/starter.
//   - A place where agents run: a folder in runtime that implements runtime.Runtime, a line in main.go, and its choice
//     in roles/cli/instance.
//   - A key of sett.yml: contract/config; contract/README.md must show it.
//   - A variable of tools: contract/env. A secret of a part: the list Secret there; runtime/credentials hands it over.
package roles
