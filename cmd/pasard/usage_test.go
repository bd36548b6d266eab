package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/target"
)

func TestUsageFilesLieWithTheOutputAndNothingElseDoes(t *testing.T) {
	jobs := t.TempDir()
	u, k := usageFiles(jobs), pasar.AttemptKey{Job: 7, Attempt: 2}
	dir := filepath.Join(jobs, "7", "2")
	if _, err := u.Read(k); !errors.Is(err, target.ErrRemoved) {
		t.Errorf("without a directory: %v", err)
	}
	if err := u.Write(k, []byte("x")); !errors.Is(err, target.ErrRemoved) {
		t.Errorf("written without a directory: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a directory that was let go is there again")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Read(k); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, target.ErrRemoved) {
		t.Errorf("without a file: %v", err)
	}
	file := filepath.Join(dir, pasar.UsageFile)
	if err := os.WriteFile(file+".new", []byte("of a daemon that was killed, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := u.Write(k, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := u.Read(k); string(b) != text || err != nil {
			t.Errorf("%q %v", b, err)
		}
	}
	if fi, err := os.Stat(file); err != nil || fi.Mode() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

func TestAUsageFileThatAJobPutThereIsNone(t *testing.T) {
	jobs := t.TempDir()
	u, k := usageFiles(jobs), pasar.AttemptKey{Job: 1, Attempt: 1}
	dir := filepath.Join(jobs, "1", "1")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(secret, []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, pasar.UsageFile)
	for what, put := range map[string]func() error{
		"a link":      func() error { return os.Symlink(secret, file) },
		"a FIFO":      func() error { return unix.Mkfifo(file, 0o600) },
		"a directory": func() error { return os.Mkdir(file, 0o700) },
	} {
		if err := errors.Join(os.RemoveAll(file), put(), os.RemoveAll(file+".new"), os.Symlink(secret, file+".new")); err != nil {
			t.Fatal(err)
		}
		if b, err := u.Read(k); len(b) > 0 || err != nil {
			t.Errorf("%s: %q %v", what, b, err)
		}
		if err := u.Write(k, []byte("mine")); (err != nil) != (what == "a directory") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := os.ReadFile(secret); string(b) != "secret" || err != nil {
		t.Errorf("what a link led to is %q", b)
	}
	if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, []byte(strings.Repeat("x", maxUsageFile+5)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if b, err := u.Read(k); len(b) != maxUsageFile || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
