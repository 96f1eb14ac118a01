package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/contract/model"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
	"sett/runtime"
)

// asksByWget is asksModel for an image without curl. The rest of the world is out of reach.
const asksByWget = `
if timeout 3 wget -q -O /dev/null http://1.1.1.1/ 2>/dev/null; then say Failure Out "it reached the world"; exit; fi
said=$(wget -q -O - --header "Authorization: Bearer $OPENAI_API_KEY" --header "Content-Type: application/json" \
  --post-data "{\"model\":\"$SETT_MODEL\",\"messages\":[{\"role\":\"user\",\"content\":\"a word\"}]}" "$OPENAI_BASE_URL/chat/completions" |
  sed 's/.*"content":"\([^"]*\)".*/\1/')
`

// In containers a script of the internal network reaches its model through the door, and
// nothing else outside; the key is in the gateway's container alone. The provider has a
// certificate of a company's own CA.
func TestDockerDoor(t *testing.T) {
	t.Parallel()
	needEngine(t)
	provider := modeltest.Start(t)
	provider.Key, provider.Play = modelKey, func(modeltest.Request) modeltest.Step { return modeltest.Text("a word of the model") }
	url, certificate := secured(t, provider.URL)
	clan := thinker(t, url, asksByWget+`say Terminal Done "$said"`, "", "")
	clan.extra = strings.Replace(clan.extra, "api: chat", fmt.Sprintf("api: chat, ca_file: %q", certificate), 1)
	clan.agents[0].more += "\nnetwork: internal"
	o := inContainers(clan)
	o.name = "e2e-" + strings.ToLower(rand.Text()[:8])
	gateway := "http://" + line.Host(o.name) + ":" + strconv.Itoa(line.Port)
	o.clan.agents[0].tool = `
for header in "X: y" "Authorization: Bearer $OPENAI_API_KEY"; do
  if wget -q -O /dev/null --header "$header" --header "Sett-Agent: solo" ` + gateway + `/v1/models; then say Failure In "the gateway let it in"; exit; fi
done
` + o.clan.agents[0].tool
	in := start(t, o)
	goal := in.post("x")
	in.await(goal, enough)
	if got := in.payloadOf(goal, "Done"); got != "a word of the model" {
		t.Errorf("the result is %q", got)
	}
	if last := provider.Last(); last.Header.Get("Authorization") != "Bearer "+modelKey || last.Model != "real-name" {
		t.Errorf("the provider got %v for %s", last.Header, last.Model)
	}
	in.holdsNoKey()
	all := strings.Fields(in.docker("ps", "-aq", "--filter", "label=sett.instance="+in.name))
	if len(all) < 4 {
		t.Errorf("containers %v", all)
	}
	if said := in.docker(append([]string{"inspect"}, all...)...); strings.Contains(said, modelKey) {
		t.Error("the key is in what docker inspect says")
	}
}

// secured makes a server of the loopback interface reachable from containers by TLS, with a
// certificate of its own, and returns its address, as sett.yml has it, and the file.
func secured(t *testing.T, url string) (base, certificate string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost", runtime.HostName},
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	to, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(to))
	_ = s.Listener.Close()
	s.Listener, s.TLS = l, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	certificate = filepath.Join(t.TempDir(), "company.pem")
	file(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port, certificate
}

// An agent that is nothing but a model needs no image, and no network: it has the socket.
func TestDockerPureModel(t *testing.T) {
	t.Parallel()
	needEngine(t)
	finish := modeltest.Calls(modeltest.Tool("finish", map[string]any{"summary": "done", "payload": "p", "artefact_type": "Word"}))
	provider := modeltest.Start(t)
	provider.Key, provider.Play = modelKey, func(modeltest.Request) modeltest.Step { return finish }
	in := prepare(t, inContainers(thinker(t, everywhere(t, provider.URL), "", "", "")))
	key := filepath.Join(t.TempDir(), "key")
	file(t, key, modelKey, 0o600)
	file(t, filepath.Join(in.repo, "sett.yml"), `
agents: {pure: {llm: {model: m}, network: none, workspace: {mode: none}, makes: Word, terminal: true, bids: {GoalDefined: exclusive}, prompts: {execution: Say a word.}}}
models: {m: {api: chat, model: real-name, base_url: "`+everywhere(t, provider.URL)+`", api_key_file: "`+key+`"}}
`, 0o644)
	in.git("commit", "-qam", "a model alone")
	in.up()
	goal := in.post("x")
	in.await(goal, enough)
	if got := in.payloadOf(goal, "Word"); got != "p" {
		t.Errorf("the result is %q", got)
	}
}

// withCurl makes an image with this machine's curl, and the libraries that it needs, on top of
// the image of tests.
func withCurl(t *testing.T) (image string) {
	t.Helper()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("no curl here")
	}
	needed, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Skip("no ldd here, or curl is static")
	}
	dir := t.TempDir()
	loader := ""
	for _, path := range append(regexp.MustCompile(`(?m)/\S+`).FindAllString(string(needed), -1), program) {
		if strings.HasPrefix(filepath.Base(path), "ld-") {
			loader = filepath.Base(path)
		}
		file(t, filepath.Join(dir, "curl", filepath.Base(path)), string(readFile(t, path)), 0o755)
	}
	file(t, filepath.Join(dir, "run"), "#!/bin/sh\nexec /opt/curl/"+loader+" --library-path /opt/curl /opt/curl/curl \"$@\"\n", 0o755)
	file(t, filepath.Join(dir, "Dockerfile"), "FROM "+baseImage+"\nCOPY curl /opt/curl\nCOPY run /usr/local/bin/curl\n", 0o644)
	image = "sett-e2e-curl:" + strings.ToLower(rand.Text()[:8])
	if out, err := dockerSays("build", "--quiet", "--force-rm", "--tag", image, dir); err != nil {
		t.Fatal(out, err)
	}
	t.Cleanup(func() {
		if _, err := dockerSays("image", "rm", image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// The example byo in containers, by the commands of its page: sett up builds its image by the
// example's own Dockerfile, and its script asks by curl through the door.
func TestDockerByo(t *testing.T) {
	t.Parallel()
	needEngine(t)
	provider := modeltest.Start(t)
	provider.Key, provider.Play = personsKey, exampleModels(t)
	base := withCurl(t)
	p := typistOf(t, static.path)
	p.runtime, p.base = "docker", base
	p.example("byo", model.Chat, everywhere(t, provider.URL))
	rest := p.out.String()
	for _, part := range []string{"goal achieved", "It may say hello to the wrong person.", "byo"} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q is not in:\n%s", part, p.out.String())
		}
		rest = after
	}
	if last := provider.Last(); last.Header.Get("Authorization") != "Bearer "+personsKey || last.Model != "test-model" {
		t.Errorf("the provider got %v for %s", last.Header, last.Model)
	}
	p.out.Reset()
	p.run("sett try byo --container --yes --goal 'Say hello in a new file'")
	p.said("It may say hello to the wrong person.", "models   1 call of main")
	p.out.Reset()
	p.run("sett try llm-coder --container --yes --goal 'Say hello in a new file'") // it has no image of its own
	p.said("models   2 calls of main", "changed  A hello")
	p.edit("  makes: Risks", "  makes: Risks\n    network: none")
	p.edit("command: [agents/examples/byo.sh]", `command: [sh, -c, 'curl -sS --unix-socket "$SETT_MODEL_SOCKET" http://model/v1/models -H "Authorization: Bearer $OPENAI_API_KEY"; echo " at ${OPENAI_BASE_URL-none}"']`)
	p.out.Reset()
	p.run("sett try byo --container --yes --goal 'Say hello in a new file'")
	p.said(`"id":"test-model"`, " at none")
	p.out.Reset()
	p.run("docker inspect $(docker ps -aq --filter label=sett.workspace=$PWD) && sett logs && sett ledger export")
	if said := p.out.String(); strings.Contains(said, personsKey) || !strings.Contains(said, `"sett.agent": "byo"`) {
		t.Errorf("the key is in what the engine, the logs or the ledger say, or too little is there:\n%s", said)
	}
}
