package web

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pasar/ipc"
)

// TestATokenThatCannotBeMadeIsSaidInWords: on a full disk above all, where the old one goes on to hold.
func TestATokenThatCannotBeMadeIsSaidInWords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	k := &keys{file: filepath.Join(dir, "token")}
	write := func(en syscall.Errno) error {
		return errors.Join(&fs.PathError{Op: "write", Path: dir + "/.token-123", Err: en}, &fs.PathError{Op: "sync", Path: dir, Err: en})
	}
	for _, c := range []struct {
		err        error
		says, hint string
	}{
		{k.renew(), "no such file or directory", "see to that directory"},
		{k.unmade(write(syscall.ENOSPC)), "no space left on device", "free the disk"},
		{k.unmade(write(syscall.EDQUOT)), "disk quota exceeded", "free the disk"},
		{k.unmade(&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}), "read-only file system", "see to that directory"},
	} {
		var e *ipc.Error
		if !errors.As(c.err, &e) || e.Code != ipc.CodeUnavailable || e.Message != "can't write a token in "+dir+": "+c.says || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%+v, want %s", c.err, c.says)
		}
	}
}
