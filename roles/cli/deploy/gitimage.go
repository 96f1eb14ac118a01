package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// defaultsRepository says whether sett.yml leaves the choice of the repository's image to Sett.
func (m *materials) defaultsRepository() bool {
	return m.l.j.c.Services.Repository.Image == config.DefaultRepositoryImage
}

// instead gets all images where only the repository's default one cannot be had: the repository then runs in the
// image of an agent that has git, if a person agrees. Whoever made that image writes the store. Without such an
// agent the error is the given one.
func (m *materials) instead(ctx context.Context, wants []imageWant, why error) (map[string]containerImage, error) {
	var missing *missingError
	if m.probe == nil || !m.defaultsRepository() || !errors.As(why, &missing) || len(missing.Images) != 1 || missing.Images[0].Name != runtime.ComponentRepository {
		return nil, why
	}
	var others []imageWant
	for _, w := range wants {
		if w.Name != runtime.ComponentRepository {
			others = append(others, w)
		}
	}
	shown := showImages(ctx, m.l.j.at.Terminal)
	got, err := m.supply.Images(ctx, others, shown.step)
	shown.end()
	if err != nil {
		return nil, err
	}
	j := m.l.j
	for _, agent := range j.c.Agents {
		own := got[agentImage(agent.Name)]
		has, err := m.probe(ctx, own.ID, "git", j.labels(runtime.ComponentRepository))
		if err != nil {
			return nil, role.Fail(role.Environment, err, "")
		}
		if !has {
			continue
		}
		reason, _, _ := strings.Cut(missing.Images[0].Reason, "\n")
		j.at.Sayf("sett: note: the image %s cannot be had: %s\n", role.Clean(missing.Images[0].Ref), role.Clean(reason))
		right := config.Right{Key: repositoryKey, Text: fmt.Sprintf("the repository runs in the image of agent %s, %s, which has git: whoever made that image writes the store", agent.Name, own.Ref)}
		consent := instance.Consent{Yes: j.options.Consent.Yes} // a digest is of sett.yml alone
		if err := consent.Settle(j.at, instance.Request{Rights: m.rights, Needs: []config.Right{right}, File: j.in.ConfigFile}); err != nil {
			return nil, err
		}
		got[runtime.ComponentRepository] = own
		m.replaced = true
		return got, nil
	}
	return nil, why
}

// noteDefault remembers which image the default name of the repository's stood for at its first use, and says
// aloud when it stands for another one.
func (m *materials) noteDefault(own containerImage) error {
	if m.probe == nil || m.replaced || !m.defaultsRepository() {
		return nil
	}
	j := m.l.j
	agreed, err := instance.AgreedFor(j.at, j.in.ConfigFile)
	if err != nil {
		return err
	}
	before := agreed.Images[own.Ref]
	if before == own.ID {
		return nil
	}
	if before != "" {
		j.at.Sayf("sett: warning: the image %s, in which the repository runs, is another one than before: it was %.19s, and is %.19s. %s in %s can name one by its digest\n",
			role.Clean(own.Ref), role.Clean(before), role.Clean(own.ID), repositoryKey, instance.ConfigName)
	}
	return role.Fail(role.Environment, agreed.AddImage(own.Ref, own.ID), "instances are kept below XDG_STATE_HOME, which has to be writable")
}
