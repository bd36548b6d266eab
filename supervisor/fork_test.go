package supervisor

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestAJobIsNeverForkedByTheProcessesFirstThread(t *testing.T) {
	for range 300 {
		f := newForker()
		tid := make(chan int)
		f.ask <- func() { tid <- unix.Gettid() }
		if id := <-tid; id == unix.Getpid() {
			t.Fatal("its nice value would be the supervisor's")
		}
		close(f.ask)
	}
}
