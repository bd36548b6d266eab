package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"pasar"
)

func TestALogIsMadeOnlyWhenThereIsSomethingToSay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, pasar.SupLogFile)
	var l LogFile
	l.move(dir)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Fatalf("made for nothing: %v", err)
	}
	for _, s := range []string{"a\n", "b\n"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a\nb\n" {
		t.Errorf("%q, %v", b, err)
	}
	var nobody *LogFile
	nobody.move(dir) // a Warm without one
}
