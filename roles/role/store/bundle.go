package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrBundle says that a file is no bundle of a store's commits.
var ErrBundle = errors.New("no bundle of an instance's commits")

// Bundle writes a git bundle with the commits that refs hold, and their history.
func Bundle(ctx context.Context, s *Store, w io.Writer, refs []string) error {
	ends, err := Boundary(s.Dir)
	if err != nil {
		return err
	}
	if len(ends) > 0 {
		return fmt.Errorf("%w: the history is shallow, and a bundle has to be whole", ErrIncomplete)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	p := s.process(ctx, command{args: []string{"bundle", "create", "-q", "-", "--stdin"}, stdin: strings.Join(refs, "\n") + "\n"})
	p.cmd.Stdout = w
	if err := p.cmd.Run(); err != nil {
		return p.failure(ctx, err)
	}
	return nil
}

// Bounds of a bundle's header.
const (
	mostBundled = 1 << 20 // refs
	mostHeader  = 4 << 10 // bytes of a line
)

// bundledRef is a ref that a bundle may bring: a goal's, an artefact's or a leftover's.
var bundledRef = sync.OnceValue(func() *regexp.Regexp {
	const id = "[0-9A-HJKMNP-TV-Z]{26}"
	return regexp.MustCompile(`^refs/sett/(?:(?:goals|artefacts)/` + id + `|leftovers/` + id + `/[a-z0-9][a-z0-9-]{0,99}-[0-9]{1,9})$`)
})

// otherRef is a ref of Sett's own of a kind that this sett may not know, as a newer one may have it. Its words may begin with no
// dot and have no two of them.
var otherRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^refs/sett(?:/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+$`)
})

// InBundles says whether a ref is one that bundles bring.
func InBundles(ref string) bool { return bundledRef().MatchString(ref) }

// IsLeftover says whether a ref is a leftover's.
func IsLeftover(ref string) bool { return strings.HasPrefix(ref, leftoverRefs) }

// Unbundle brings the commits of a bundle into the store and has its refs hold them. It
// returns those refs, and others of Sett's own that it skipped, since it does not know their
// kind. A ref that holds another commit already is an error, as is a
// bundle that is not whole. Each object is what its hash says, and no more is believed of it.
func Unbundle(ctx context.Context, s *Store, from io.Reader) (refs, skipped []string, err error) {
	r := bufio.NewReaderSize(from, mostHeader)
	held, skipped, err := bundleHeader(r)
	if err != nil || len(held) == 0 {
		return nil, skipped, err
	}
	if refs, err = unbundle(ctx, s, r, held); err != nil {
		return nil, nil, err
	}
	return refs, skipped, nil
}

// unbundle stores the pack of a bundle, and has the refs hold their commits.
func unbundle(ctx context.Context, s *Store, r io.Reader, held map[string]string) ([]string, error) {
	refs, commits := make([]string, 0, len(held)), []string{}
	for ref, commit := range held {
		refs, commits = append(refs, ref), append(commits, commit)
	}
	slices.Sort(refs)
	if err := s.fit(ctx, commits[0]); err != nil {
		return nil, err
	}
	before, err := s.Commits(ctx, refs)
	if err != nil {
		return nil, err
	}
	var updates strings.Builder
	for i, ref := range refs {
		if before[i] != "" && before[i] != held[ref] {
			return nil, fmt.Errorf("%w: %s holds another commit here", ErrBundle, ref)
		}
		fmt.Fprintf(&updates, "update %s %s\n", ref, held[ref])
	}
	pack, err := unpack(ctx, s, r)
	if err != nil {
		return nil, err
	}
	defer s.release(pack)
	if err := s.Whole(ctx, commits); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	_, err = s.run(ctx, command{args: []string{"update-ref", "--stdin"}, stdin: updates.String()})
	if err != nil {
		return nil, err
	}
	return refs, nil
}

// unpack stores the pack of a bundle.
func unpack(ctx context.Context, s *Store, from io.Reader) (pack string, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	p := s.process(ctx, command{args: []string{"index-pack", "--stdin", "--fix-thin", "--keep=sett"}})
	var said strings.Builder
	p.cmd.Stdin, p.cmd.Stdout = from, &said
	if err := p.cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrBundle, p.failure(ctx, err))
	}
	if name, ok := strings.CutPrefix(line(said.String()), "keep\t"); ok { // else it was there before
		pack = name
	}
	return pack, nil
}

// bundleHeader reads the commits that a bundle has, by their refs. Those of a kind that this sett does not know are skipped.
func bundleHeader(r *bufio.Reader) (held map[string]string, skipped []string, err error) {
	first, err := headerLine(r)
	if err != nil {
		return nil, nil, err
	}
	if first != "# v2 git bundle" && first != "# v3 git bundle" {
		return nil, nil, ErrBundle
	}
	held = map[string]string{}
	for {
		row, err := headerLine(r)
		switch {
		case err != nil:
			return nil, nil, err
		case row == "" && len(held)+len(skipped) == 0:
			return nil, nil, fmt.Errorf("%w: it holds none", ErrBundle)
		case row == "":
			return held, skipped, nil
		case strings.HasPrefix(row, "@object-format="):
			continue
		}
		hash, ref, _ := strings.Cut(row, " ")
		known := InBundles(ref)
		if asHash(hash) == "" || !known && !otherRef().MatchString(ref) || len(held)+len(skipped) == mostBundled {
			return nil, nil, fmt.Errorf("%w: %.80q", ErrBundle, row)
		}
		if !known {
			skipped = append(skipped, ref)
			continue
		}
		held[ref] = hash
	}
}

func headerLine(r *bufio.Reader) (string, error) {
	row, err := r.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("%w: its header has no end", ErrBundle)
	}
	return strings.TrimSuffix(string(row), "\n"), nil
}
