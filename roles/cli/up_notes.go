package cli

import (
	"fmt"
	"path/filepath"
)

// conclude says what there is to know about an instance that is up.
func (u *upping) conclude() error {
	a := u.a
	if notes := u.launch.notes(); !u.in.Told && len(notes) > 0 {
		a.sayf("\n")
		for _, note := range notes {
			u.note("%s", note)
		}
		u.in.Told = true
		if err := u.in.save(); err != nil {
			return err
		}
	}
	if text := u.noRepository(); text != "" {
		a.sayf("\n")
		u.note("%s", text)
	}
	a.sayf("\nNext:\n  sett forage --goal \"…\" --wait%s\n", u.nameFlag())
	return nil
}

// noRepository says what a workspace without git lacks; empty: it has a repository.
func (u *upping) noRepository() string {
	if exists(filepath.Join(u.in.Workspace, ".git")) {
		return ""
	}
	return u.a.tilde(u.in.Workspace) + " is no git repository; sett forage wants one: git init"
}

// note says what there is to know, and warn what is not as it should be: on stderr,
// or in a dry run as part of what that prints.
func (u *upping) note(format string, args ...any) { u.say("sett: note: ", "", format, args...) }
func (u *upping) warn(format string, args ...any) {
	u.say("sett: warning: ", "warning: ", format, args...)
}

func (u *upping) say(before, planned, format string, args ...any) {
	text := cleanText(fmt.Sprintf(format, args...))
	if u.plan != nil {
		u.plan.Notices = append(u.plan.Notices, planned+text)
		return
	}
	u.a.sayf("%s%s\n", before, text)
}
