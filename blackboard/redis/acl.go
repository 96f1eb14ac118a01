package redis

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"sett/blackboard/redis/internal/store"
	"strings"
)

// The users of a Redis that Sett starts. Each agent has one of its own, which
// reaches its instance's keys and channels with the commands a cub needs; the
// notifier reads them; the gateway of models reads them, too, and writes accounts; the
// administrator is the orchestrator and the command line; nobody else gets in.
//
// That keeps instances apart from each other, and agents from the settings of the
// server. It does not keep one cub apart from another: a script runs with the rights
// of its caller, so a user that may bid and finish through scripts may also change
// the same keys by other ones. It bounds no user's share of the server's time and
// memory. The tool beside a cub never sees its password.

// AdminUser is the user that may do everything.
const AdminUser = "sett"

// agentCommands are the commands a cub needs: those it sends, then those of its
// scripts (Redis asks for these too). Everything else is refused.
const agentCommands = "-@all +ping +client|setname +eval +evalsha +subscribe +unsubscribe +punsubscribe +discard +hgetall +zrevrange" +
	" +time +get +set +del +exists +hget +hset +hmget +hdel +hincrby +llen +rpush +zadd +zrange +zrem +xadd +publish"

// notifierCommands is all that the notifier needs: it reads, and stores up to where it has
// told, and how that goes.
const notifierCommands = "-@all +ping +client|setname +unsubscribe +punsubscribe +discard" +
	" +time +get +set +hgetall +llen +zscore +xread"

// gatewayCommands are those that the gateway of models needs.
const gatewayCommands = "-@all +ping +client|setname +eval +evalsha +unsubscribe +punsubscribe +discard" +
	" +time +get +hget +hmget +hset +hdel +hexists +hgetall +hincrby +sismember +sadd +zscore +xadd"

// Host is the name by which the containers of an instance find the blackboard that
// is one of them.
func Host(instance string) string { return "sett-" + instance + "-redis" }

// AgentUser returns the name of an agent's user. None is the administrator's.
func AgentUser(agent string) string { return store.AgentUser + agent }

// CubName returns the name of the connections of an agent's cubs.
func CubName(agent string) string { return store.CubName + agent }

// NotifierUser is the notifier's. It is no agent's: theirs have a prefix.
const NotifierUser = "notifier"

// GatewayUser is that of the gateway of models. It is no agent's either.
const GatewayUser = "gateway"

// AgentPassword derives an agent's password from the administrator's, which alone has
// to be stored. The agent's password tells nothing about it.
func AgentPassword(admin, agent string) string { return passwordOf(admin, AgentUser(agent)) }

func passwordOf(admin, user string) string {
	mac := hmac.New(sha256.New, []byte(admin))
	mac.Write([]byte(user))
	return hex.EncodeToString(mac.Sum(nil))
}

// AgentURL returns the URL by which an agent reaches the blackboard: base with the
// agent's user and password, which is made of the administrator's. A base that
// names a user or a password is returned as it is: that server has users of its
// own.
func AgentURL(base, admin, agent string) (string, error) {
	return userURL(base, admin, AgentUser(agent))
}

// NotifierURL is AgentURL for the notifier.
func NotifierURL(base, admin string) (string, error) { return userURL(base, admin, NotifierUser) }

// GatewayURL is AgentURL for the gateway of models.
func GatewayURL(base, admin string) (string, error) { return userURL(base, admin, GatewayUser) }

func userURL(base, admin, user string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("parse blackboard URL %q: want redis://host[:port]", store.Redact(base))
	}
	if u.User.String() != "" {
		return base, nil
	}
	u.User = url.UserPassword(user, passwordOf(admin, user))
	return u.String(), nil
}

// Users are those of an instance, besides the administrator.
type Users struct {
	Agents   []string
	Notifier bool // there is one
	Gateway  bool // of models
}

// ACLFile returns the file of users (aclfile) of a Redis that holds the instance
// alone. Passwords are in it as hashes only. The names are those of a valid
// configuration, which have none of the characters that would end a rule or stand
// for others in a pattern. The notifier reads the instance's keys and writes two, the
// gateway writes those of models' accounts, and of claims, which have the grants; a server before Redis 7 has no such rules.
func ACLFile(instance, adminPassword string, users Users) []byte {
	var b strings.Builder
	// No client can be the default user, which is off. But the server itself is when it
	// reads its log after a start: commands forbidden to that user would be left out.
	b.WriteString("user default off resetpass ~* &* +@all\n")
	fmt.Fprintf(&b, "user %s on %s ~* &* +@all\n", AdminUser, hashed(adminPassword))
	keys := store.KeysOf(instance)
	for _, agent := range users.Agents {
		fmt.Fprintf(&b, "user %s on %s resetkeys ~%s* resetchannels &%s* %s\n",
			AgentUser(agent), hashed(AgentPassword(adminPassword, agent)), keys.Prefix, keys.Prefix, agentCommands)
	}
	if users.Notifier {
		fmt.Fprintf(&b, "user %s on %s resetkeys %%R~%s* ~%s ~%s resetchannels %s\n",
			NotifierUser, hashed(passwordOf(adminPassword, NotifierUser)), keys.Prefix, keys.Notified(), notifierKey(keys), notifierCommands)
	}
	if users.Gateway {
		fmt.Fprintf(&b, "user %s on %s resetkeys %%R~%s* ~%s ~%s ~%s ~%s resetchannels %s\n",
			GatewayUser, hashed(passwordOf(adminPassword, GatewayUser)), keys.Prefix, keys.Events(), keys.PendingCalls(), keys.Spending("*"), keys.Claim("*"), gatewayCommands)
	}
	return []byte(b.String())
}

// hashed is how a rule gives a password without telling it.
func hashed(password string) string {
	sum := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(sum[:])
}

// ReloadACL makes the server read its file of users again. An agent that is no
// longer in it is cut off at once. Servers before Redis 7.2 cut off all other users
// as well; these connect again, repeat their calls and read anew. A file with a fault in it changes nothing.
func (b *Board) ReloadACL(ctx context.Context) error {
	_, err := b.c.Ask(ctx, "reload users", "ACL", "LOAD")
	if err != nil {
		return fmt.Errorf("reload users: %w", err)
	}
	return nil
}
