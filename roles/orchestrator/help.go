package orchestrator

// Help is the role's help page.
const Help = `Open a claim for every artefact and grant it to the agents that bid.

Usage: sett orchestrator

Each claim goes through phases: review, parallel, exclusive. The orchestrator
starts the agents of sett.yml, watches them and restarts them. Of several
orchestrators one leads; the others wait to take over.

sett up starts it. Environment:

  SETT_INSTANCE_NAME  the instance's name
  REDIS_URL           the blackboard: redis://[user:password@]host:port[/db]
  SETT_CONFIG         file with the resolved configuration (JSON)
  SETT_STATE_DIR      the instance's state directory; unset: somebody else
                      starts the agents
  SETT_BLACKBOARD_ADDR
                      where the keeper serves the blackboard, which may then
                      be ended with a script that has no end
  SETT_WORKSPACE      the repository of the agents
  SETT_LAND_INTO      git directory of the user's repository; a repository that
                      lands writes there
  SETT_STORE          the instance's store, a bare git repository
  SETT_TREES          directory of the agents' private trees
  SETT_REPOSITORY_URL, SETT_REPOSITORY_KEY
                      where cubs reach the role that prepares the trees, and
                      the secret of which their tokens are made
  SETT_PINS           directory on the agents' machine with the sets of pinned
                      files; needed where the configuration pins programs
  SETT_RUNTIME        docker or process, for the agents; with SETT_STATE_DIR the
                      default is process
  SETT_HEALTH_ADDR    of /healthz and /metrics; default :8080, "off" for none
  SETT_COURSES        off: it decides about every claim itself; else the scripts
                      on the blackboard follow what it has decided before
  SETT_LEADER_LEASE   time to lead without renewing; default 10s
  SETT_BOARD_MARK     the blackboard that it knows; on another it leads nothing.
                      What it saw since is in the file sight beside SETT_CONFIG
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_LOG_FORMAT     json or text
  SETT_LOG_LEVEL      debug, info, warn or error

For agents in containers:

  DOCKER_HOST            the engine
  SETT_CONTROL_IMAGE     the image with nothing but the sett binary
  SETT_AGENTS_REDIS_URL  the blackboard as containers see it; without a user in
                         it, each agent gets its own
  SETT_AGENTS_REDIS_CA   directory on the agents' machine with ca.pem, the
                         file of SETT_REDIS_CA_FILE, which containers mount
  SETT_AGENTS_USER       uid:gid of agents' containers; unset: their image's
  SETT_WORKSPACE_EXTRA   further directories that the workspace needs, mounted
                         at their own paths
  SETT_LOG_DIR           keeps the logs of removed containers

Exit codes: sett --help
`
