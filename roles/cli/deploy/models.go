package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/repofile"
)

// HostPath is the place of a file that sett.yml names: relative to sett.yml, or to the
// home directory after ~/.
func HostPath(at *instance.Locator, configFile, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && env.Home(at.Getenv) != "" {
		return filepath.Join(env.Home(at.Getenv), rest)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(configFile), name)
}

// noteModels reads the keys, and notes in the settings of the model gateway what it is
// started with: its sett or image is there already. Folders of records get their whole
// paths.
func noteModels(u *upRun) error {
	f := u.facts
	if len(f.desired.Models) == 0 {
		return nil
	}
	keys, err := readKeys(u.at, f.desired, f.file)
	if err != nil {
		return err
	}
	if f.desired.Runtime == config.RuntimeDocker {
		noteProxies(f, keys)
		proxiesForContainer(keys)
	}
	u.keys = keys
	if f.state.ValuesKey == "" {
		f.state.ValuesKey = rand.Text()
	}
	for i := range f.desired.Models {
		m := &f.desired.Models[i]
		if m.Replay != "" {
			m.CAFile = ""
		} else if m.CAFile != "" {
			m.CAFile = HostPath(u.at, f.file, m.CAFile)
		}
	}
	digest, err := keysDigest(u.at, f.state.ValuesKey, f.desired.Models, f.file, keys)
	if err != nil {
		return err
	}
	if r := f.desired.Services.ModelGateway.Resolved; r != nil {
		r.Values = digest
	}
	for i := range f.desired.Models {
		if err := placeRecords(u.at, f.file, f.root, &f.desired.Models[i]); err != nil {
			return err
		}
	}
	return nil
}

// placeRecords gives the folders of a model's records their whole paths.
func placeRecords(at *instance.Locator, configFile, root string, m *config.Model) error {
	for key, dir := range map[string]*string{"record": &m.Record, "replay": &m.Replay} {
		if *dir == "" {
			continue
		}
		place := HostPath(at, configFile, *dir)
		if instance.Within(place, root) { // links elsewhere are the person's own
			var err error
			if place, err = repofile.Place(root, place); err != nil {
				return role.Fail(role.Usage, fmt.Errorf("models.%s.%s: %s: %w", m.Name, key, role.Clean(*dir), err), "name the folder that is meant")
			}
		}
		*dir = place
	}
	return nil
}

// ModelOfTrial has what a model gateway for one agent is started with, and the keys for it. Without a
// model it has none.
func ModelOfTrial(at *instance.Locator, c *config.Config, a config.Agent, configFile, root string) (g env.Gateway, keys map[string]string, err error) {
	m, ok := c.ModelOf(a)
	if !ok {
		return g, nil, nil
	}
	one := *c
	one.Models, one.Agents = []config.Model{m}, []config.Agent{a}
	if keys, err = readKeys(at, &one, configFile); err != nil {
		return g, nil, err
	}
	its := &one.Models[0]
	if its.Replay != "" {
		its.CAFile = ""
	}
	if its.CAFile != "" {
		its.CAFile = HostPath(at, configFile, its.CAFile)
		if _, err := readCertificates(at, *its); err != nil {
			return g, nil, err
		}
	}
	if err := placeRecords(at, configFile, root, its); err != nil {
		return g, nil, err
	}
	if err := checkReplay(*its); err != nil {
		return g, nil, err
	}
	if its.Record != "" {
		if err := os.MkdirAll(its.Record, 0o700); err != nil {
			return g, nil, role.Fail(role.Environment, err, "")
		}
	}
	return env.GatewayOf(&one), keys, nil
}

// checkReplay is an error where a model is to replay from a folder that is not there.
func checkReplay(m config.Model) error {
	if m.Replay == "" {
		return nil
	}
	info, err := os.Stat(m.Replay)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("models.%s.replay: %w", m.Name, err), "record: in its place makes such a folder")
	}
	return nil
}

// makeModels makes what the model gateway works with: the secret of its tokens, its folders,
// and for a container the file with the keys. Without models nothing of it is there.
func makeModels(u *upRun) error {
	in := u.in
	if len(u.c.Models) == 0 {
		in.ModelGateway, in.GatewayKey = "", ""
		return instance.DropModelKeys(in)
	}
	if in.GatewayKey == "" {
		in.GatewayKey = rand.Text()
	}
	given, err := giveKeys(u)
	if err != nil {
		return err
	}
	own := []string{instance.ModelAnswersDir(in)}
	for _, m := range u.c.Models {
		if m.Record != "" {
			own = append(own, m.Record)
		}
		if err := checkReplay(m); err != nil {
			return err
		}
	}
	for _, dir := range own {
		_, err := os.Stat(dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return role.Fail(role.Environment, err, "")
		}
		if errors.Is(err, fs.ErrNotExist) {
			given = append(given, dir)
		}
	}
	if os.Geteuid() == 0 { // the workspace, and so the containers, may be another user's
		uid, gid := u.launch.owner()
		for _, name := range given {
			if err := os.Lchown(name, uid, gid); err != nil {
				return role.Fail(role.Environment, fmt.Errorf("give the model gateway its files: %w", err), "")
			}
		}
	}
	return nil
}

// modelEnviron has the orchestrator's variables about models.
func modelEnviron(j *job, url string) []string {
	if len(j.c.Models) == 0 {
		return nil
	}
	vars := []string{env.ModelGateway + "=" + url, env.GatewayKey + "=" + j.in.GatewayKey, env.ModelAnswers + "=" + instance.ModelAnswersDir(j.in)}
	if j.c.Runtime == config.RuntimeDocker {
		vars = append(vars, env.ModelKeys+"="+instance.ModelKeysPath(j.in))
	}
	return vars
}

// chooseGateway settles where processes reach the model gateway, as chooseRepository does.
func chooseGateway(ctx context.Context, j *job) error {
	if j.c.Runtime == config.RuntimeDocker || len(j.c.Models) == 0 {
		j.in.ModelGateway = ""
		return nil
	}
	units, err := j.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentModelGateway})
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if j.in.ModelGateway != "" && len(units) > 0 && units[0].Running {
		return nil
	}
	at, err := instance.FreeGateway(j.in)
	if err != nil {
		return err
	}
	j.in.ModelGateway = at
	return nil
}
