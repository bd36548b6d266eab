package jobfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPipeWithoutAWriterHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(path); err != nil && !strings.Contains(err.Error(), "fifo") || err == nil && len(f.Settings) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := ReadScript(path); err != nil && !strings.Contains(err.Error(), "fifo") {
		t.Errorf("as a script: %v", err)
	}
}

func TestWhatAShellPipesInIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := w.WriteString("name = 'a'\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "name = 'a'\n" {
		t.Errorf("%q, %v", b, err)
	}
}
