// Command english counts the words "what", "who", "whose", "whom", "whoever" and
// "whatever" in the comments of a tree's Go and Lua files, and fails where a
// package has more of them than its limit. Sentences that hang on these words have
// to be read twice; name the thing instead.
//
//	english -except exceptions.txt .
//	english -list 20 .                   # the files with most of them
//	english -lines roles/cli/term .      # each comment line with one, below a folder
//
// The limit counts words per 1,000 words of comment. An exception is a line
// "folder number": the folder and all below it may have that many per 1,000. An
// exception that nothing needs is an error, so the list only shrinks. Test files
// and folders called testdata are left out.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	limit := flag.Float64("limit", 3, "words per 1,000 that a package may have")
	except := flag.String("except", "", "`file` with the exceptions")
	list := flag.Int("list", 0, "print the `N` files with most of the words instead")
	lines := flag.String("lines", "", "print each line with one of the words below this `folder` instead")
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")
	files, err := read(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "english:", err)
		os.Exit(1)
	}
	switch {
	case *lines != "":
		printLines(os.Stdout, files, path.Clean(*lines))
		return
	case *list > 0:
		printWorst(os.Stdout, files, *list)
		return
	}
	exceptions := map[string]float64{}
	if *except != "" {
		text, err := os.ReadFile(*except)
		if err == nil {
			exceptions, err = parseExceptions(string(text))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "english:", err)
			os.Exit(1)
		}
	}
	if !check(os.Stdout, files, *limit, exceptions) {
		os.Exit(1)
	}
}

// read counts every product file of the tree.
func read(tree fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(base, "_test.go") || path.Ext(base) != ".go" && path.Ext(base) != ".lua" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		comments, err := commentLines(name, string(text))
		files = append(files, count(name, comments))
		return err
	})
	return files, err
}

// parseExceptions reads lines "folder number"; # begins a comment.
func parseExceptions(text string) (map[string]float64, error) {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var folder string
		var n float64
		if _, err := fmt.Sscan(line, &folder, &n); err != nil {
			return nil, fmt.Errorf("read exceptions: %q: %w", strings.TrimSpace(line), err)
		}
		all[folder] = n
	}
	return all, nil
}

// check prints a line per package, one for all of them, and each breach. It says
// whether there is none.
func check(w io.Writer, files []file, limit float64, exceptions map[string]float64) bool {
	packages := map[string]tally{}
	var sum tally
	for _, f := range files {
		packages[path.Dir(f.name)] = packages[path.Dir(f.name)].plus(f.tally)
		sum = sum.plus(f.tally)
	}
	ok, needed := true, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		t := packages[name]
		most, folder := limit, exception(name, exceptions)
		verdict := ""
		if t.rate() > limit && folder != "" {
			most, needed[folder] = max(limit, exceptions[folder]), true
		}
		if t.rate() > most {
			ok, verdict = false, "  TOO MANY"
		}
		fmt.Fprintf(w, "%-36s %5.1f per 1,000 (%3d of %5d), at most %g%s\n", name, t.rate(), t.hits, t.words, most, verdict)
	}
	fmt.Fprintf(w, "%-36s %5.1f per 1,000 (%3d of %5d)\n", "all", sum.rate(), sum.hits, sum.words)
	for _, folder := range slices.Sorted(maps.Keys(exceptions)) {
		if !needed[folder] {
			fmt.Fprintf(w, "%s: its exception is stale: remove it\n", folder)
			ok = false
		}
	}
	if !ok {
		fmt.Fprintln(w, "hint: name the thing instead of what, who, whose; go -C .tools run ./english -lines FOLDER .. prints the lines")
	}
	return ok
}

// exception returns the longest folder with an exception that a package is in.
func exception(name string, exceptions map[string]float64) string {
	best := ""
	for folder := range exceptions {
		if (name == folder || strings.HasPrefix(name, folder+"/")) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}

// printWorst prints the files with most of the words.
func printWorst(w io.Writer, files []file, n int) {
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(b.hits, a.hits) })
	for _, f := range files[:min(n, len(files))] {
		fmt.Fprintf(w, "%4d of %5d  %s\n", f.hits, f.words, f.name)
	}
}

// printLines prints each line with one of the words, below a folder or of a file.
func printLines(w io.Writer, files []file, folder string) {
	for _, f := range files {
		if folder != "." && f.name != folder && !strings.HasPrefix(f.name, folder+"/") {
			continue
		}
		for _, l := range f.lines {
			fmt.Fprintf(w, "%s:%d: %s\n", f.name, l.number, l.text)
		}
	}
}
