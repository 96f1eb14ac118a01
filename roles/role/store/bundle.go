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

// bundledRef is a ref that a bundle may bring: a goal's or an artefact's.
var bundledRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64}) (refs/sett/(?:goals|artefacts)/[0-9A-HJKMNP-TV-Z]{26})$`)
})

// Unbundle brings the commits of a bundle into the store and has its refs hold them. It
// returns their number. A ref that holds another commit already is an error, as is a
// bundle that is not whole. Each object is what its hash says, and no more is believed of it.
func Unbundle(ctx context.Context, s *Store, from io.Reader) (int, error) {
	r := bufio.NewReaderSize(from, mostHeader)
	held, err := bundleHeader(r)
	if err != nil {
		return 0, err
	}
	refs, commits := make([]string, 0, len(held)), []string{}
	for ref, commit := range held {
		refs, commits = append(refs, ref), append(commits, commit)
	}
	slices.Sort(refs)
	if err := s.fit(ctx, commits[0]); err != nil {
		return 0, err
	}
	before, err := s.Commits(ctx, refs)
	if err != nil {
		return 0, err
	}
	var updates strings.Builder
	for i, ref := range refs {
		if before[i] != "" && before[i] != held[ref] {
			return 0, fmt.Errorf("%w: %s holds another commit here", ErrBundle, ref)
		}
		fmt.Fprintf(&updates, "update %s %s\n", ref, held[ref])
	}
	pack, err := unpack(ctx, s, r)
	if err != nil {
		return 0, err
	}
	defer s.release(pack)
	if err := s.Whole(ctx, commits); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	_, err = s.run(ctx, command{args: []string{"update-ref", "--stdin"}, stdin: updates.String()})
	return len(refs), err
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

// bundleHeader reads the commits that a bundle has, by their refs.
func bundleHeader(r *bufio.Reader) (map[string]string, error) {
	first, err := headerLine(r)
	if err != nil {
		return nil, err
	}
	if first != "# v2 git bundle" && first != "# v3 git bundle" {
		return nil, ErrBundle
	}
	held := map[string]string{}
	for {
		row, err := headerLine(r)
		switch {
		case err != nil:
			return nil, err
		case row == "" && len(held) == 0:
			return nil, fmt.Errorf("%w: it holds none", ErrBundle)
		case row == "":
			return held, nil
		case strings.HasPrefix(row, "@object-format="):
			continue
		}
		m := bundledRef().FindStringSubmatch(row)
		if m == nil || len(held) == mostBundled {
			return nil, fmt.Errorf("%w: %.80q", ErrBundle, row)
		}
		held[m[2]] = m[1]
	}
}

func headerLine(r *bufio.Reader) (string, error) {
	row, err := r.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("%w: its header has no end", ErrBundle)
	}
	return strings.TrimSuffix(string(row), "\n"), nil
}
