package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/runtime"
)

// inputs is a digest of all that a build depends on, and of its image. While both are the
// same, the build makes that image again, by the engine's cache. Empty: the build also
// depends on things that cannot be compared, such as a file that it fetches.
func (s *Store) inputs(ctx context.Context, w Want, src sources, files hash.Hash, id string) string {
	d := labelStages(src.dockerfile, "")
	bases := d.bases(w.Build.Args)
	if id == "" || d.fetches() || slices.ContainsFunc(d.parents(w.Build.Args), func(p string) bool { return strings.ContainsAny(p, "$") || p == "" }) {
		return ""
	}
	all := sha256.New()
	fmt.Fprintf(all, "%x %q %s\n", files.Sum(nil), []any{w.Build.Args, lasting(w.Labels)}, id)
	for _, base := range bases {
		i, err := s.present(ctx, base)
		if err != nil || i.ID == "" {
			return ""
		}
		fmt.Fprintf(all, "%s %s\n", base, i.ID)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// foreseen are the inputs that a build would have now, if its last image is this one.
func (s *Store) foreseen(ctx context.Context, w Want, src sources, id string) (string, error) {
	files := sha256.New()
	err := src.write(ctx, io.Discard, labelStages(src.dockerfile, stageLabel(w.Labels[runtime.LabelInstance])).text, files)
	if err != nil {
		return "", err
	}
	return s.inputs(ctx, w, src, files, id), nil
}

var (
	adds = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?im)^\\s*(ONBUILD\\s+)?ADD\\s(.*[\\\\`]\\s*\n)*.*") // with the lines that continue it
	})
	afar   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://|git@|\$`) })
	copied = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)--from=(\S+)`) })
)

// fetches says whether steps may take files from elsewhere than the context, the bases and
// other stages; in doubt, since an argument may be an address, it is true.
func (d dockerfile) fetches() bool {
	if slices.ContainsFunc(adds().FindAll(d.text, -1), afar().Match) {
		return true
	}
	for _, m := range copied().FindAllSubmatch(d.text, -1) {
		from := string(m[1])
		stage := slices.ContainsFunc(d.stages, func(s string) bool { return strings.EqualFold(s, from) })
		if !stage && strings.Trim(from, "0123456789") != "" {
			return true
		}
	}
	return false
}
