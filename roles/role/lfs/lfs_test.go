package lfs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func pointerTo(content string) Pointer {
	sum := sha256.Sum256([]byte(content))
	return Pointer{hex.EncodeToString(sum[:]), int64(len(content))}
}

// The example of the specification, and texts that look like it.
func TestParse(t *testing.T) {
	t.Parallel()
	const whole = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	p, ok := Parse(whole)
	if want := (Pointer{"4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393", 12345}); !ok || p != want || p.Text() != whole {
		t.Errorf("%v %t, as text %q", p, ok, p.Text())
	}
	for name, text := range map[string]string{
		"empty":            "",
		"no end":           strings.TrimSuffix(whole, "\n"),
		"more":             whole + "x 1\n",
		"another line end": strings.ReplaceAll(whole, "\n", "\r\n"),
		"another version":  strings.Replace(whole, "/v1", "/v2", 1),
		"another order":    "version https://git-lfs.github.com/spec/v1\nsize 1\noid sha256:" + p.Hash + "\n",
		"extension":        strings.Replace(whole, "oid", "ext-0-foo sha256:"+p.Hash+"\noid", 1),
		"large letters":    strings.Replace(whole, "4d7a", "4D7A", 1),
		"short":            strings.Replace(whole, "4d7a", "", 1),
		"a path":           strings.Replace(whole, "4d7a214614ab", "../../../../", 1),
		"a zero byte":      strings.Replace(whole, "4d7a", "4d7\x00", 1),
		"negative":         strings.Replace(whole, "size 1", "size -1", 1),
		"a sign":           strings.Replace(whole, "size 1", "size +1", 1),
		"nothing":          strings.Replace(whole, "12345", "0", 1),
		"zeros before":     strings.Replace(whole, "12345", "012345", 1),
		"huge":             strings.Replace(whole, "12345", strings.Repeat("9", 40), 1),
		"long":             whole + strings.Repeat("\n", MostText),
		"another hash":     strings.Replace(whole, "sha256:", "sha512:", 1),
	} {
		if p, ok := Parse(text); ok {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// A content comes back as it was stored, and no other file counts for it.
func TestObjects(t *testing.T) {
	t.Parallel()
	ctx, top := t.Context(), t.TempDir()
	o := Objects(filepath.Join(top, "lfs", "objects"))
	p, err := o.Put(ctx, strings.NewReader("content"))
	if err != nil || p != pointerTo("content") || !o.Has(p) {
		t.Fatal(p, err)
	}
	if _, err := os.Stat(filepath.Join(string(o), p.Hash[:2], p.Hash[2:4], p.Hash)); err != nil {
		t.Errorf("not where git-lfs has it: %v", err)
	}
	if got, err := read(ctx, o, p); got != "content" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if empty, err := o.Put(ctx, strings.NewReader("")); empty.Size != 0 || err != nil {
		t.Errorf("an empty file has pointer %v, %v", empty, err)
	}
	if err := o.Receive(ctx, strings.NewReader("contenu"), p); !errors.Is(err, ErrContent) {
		t.Errorf("another content of the same size: %v", err)
	}
	if err := o.Receive(ctx, strings.NewReader("content and more"), p); !errors.Is(err, ErrContent) {
		t.Errorf("a longer content: %v", err)
	}
	other := Objects(filepath.Join(top, "other"))
	for range 2 {
		if err := other.Bring(ctx, o, p); err != nil || !other.Has(p) {
			t.Fatal(err)
		}
	}
	for text, size := range map[string]int64{"cut": 4, "grown": 3} {
		if p, err := o.Put(ctx, Exactly(strings.NewReader(text), size)); !errors.Is(err, ErrContent) || o.Has(pointerTo(text)) || o.Has(pointerTo(text[:3])) {
			t.Errorf("%q as a content of %d bytes: %v, %v", text, size, p, err)
		}
	}
	if whole, err := o.Put(ctx, Exactly(iotest.OneByteReader(strings.NewReader("content")), 7)); whole != p || err != nil {
		t.Errorf("of its size: %v, %v", whole, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := o.Put(ended, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	left, err := os.ReadDir(string(o))
	if len(left) != 1 || err != nil {
		t.Errorf("files of nothing are left: %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(string(o), unfinished+"X"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Clean(); err != nil {
		t.Fatal(err)
	}
	if left, err = os.ReadDir(string(o)); len(left) != 1 || err != nil {
		t.Errorf("after cleaning: %v, %v", left, err)
	}
}

// Whoever wrote the directory, Sett reads no other file, waits for none, and writes nowhere else.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	const secret = "the secret of somebody"
	p := pointerTo(secret)
	folder, file := p.Hash[:2], filepath.Join(p.Hash[:2], p.Hash[2:4], p.Hash)
	for name, plant := range map[string]func(outside, objects string) error{
		"a link to a file": func(outside, objects string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(objects, file)), 0o700), os.Symlink(filepath.Join(outside, file), filepath.Join(objects, file)))
		},
		"a link to a folder": func(outside, objects string) error {
			return os.Symlink(filepath.Join(outside, folder), filepath.Join(objects, folder))
		},
		"a pipe": func(_, objects string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(objects, file)), 0o700), syscall.Mkfifo(filepath.Join(objects, file), 0o600))
		},
		"a folder": func(_, objects string) error { return os.MkdirAll(filepath.Join(objects, file), 0o700) },
		"another size": func(_, objects string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(objects, file)), 0o700), os.WriteFile(filepath.Join(objects, file), []byte("x"), 0o600))
		},
	} {
		top := t.TempDir()
		outside, objects := Objects(filepath.Join(top, "outside")), Objects(filepath.Join(top, "objects"))
		if err := errors.Join(outside.Receive(t.Context(), strings.NewReader(secret), p), os.Mkdir(string(objects), 0o700), plant(string(outside), string(objects))); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context(), objects, p); err == nil {
			t.Errorf("%s: read %q", name, got)
		}
		if err := Objects(filepath.Join(top, "to")).Bring(t.Context(), objects, p); err == nil {
			t.Errorf("%s: brought", name)
		}
		if name != "a link to a folder" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(string(outside), folder, p.Hash[2:4])); err != nil {
			t.Fatal(err)
		}
		if err := objects.Receive(t.Context(), strings.NewReader(secret), p); err == nil {
			t.Error("written through a link")
		}
		good := Objects(filepath.Join(top, "good"))
		if _, err := good.Put(t.Context(), strings.NewReader(secret)); err != nil {
			t.Fatal(err)
		}
		if err := objects.Bring(t.Context(), good, p); err == nil {
			t.Error("brought through a link")
		}
		if left, err := os.ReadDir(filepath.Join(string(outside), folder)); len(left) != 0 || err != nil {
			t.Errorf("outside there is %v, %v", left, err)
		}
	}
}

func read(ctx context.Context, o Objects, p Pointer) (string, error) {
	f, err := o.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b bytes.Buffer
	err = Copy(ctx, &b, f, p)
	return b.String(), err
}
