package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pasar/target"
)

// daemonEnv makes this test binary a daemon that launches one attempt and stops at a step.
const daemonEnv = "PASAR_LOCAL_TEST_DAEMON"

// A daemonOrder is what such a daemon is told.
type daemonOrder struct {
	Data, Run, Supervisor string
	Step                  string
	Attempt               target.Attempt
}

// daemon is the child's main: it says when it has come to the step and then waits to be killed.
func daemon(order string) int {
	var o daemonOrder
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m, err := New(Options{DataDir: o.Data, RunDir: o.Run, Supervisor: o.Supervisor})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m.step = func(s string) error {
		if s == o.Step {
			fmt.Println("here")
			select {}
		}
		return nil
	}
	if _, err := m.Launch(context.Background(), o.Attempt); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("here")
	select {}
}

func TestADaemonKilledAtAnyStepOfALaunchLeavesAnAttemptThatRunsOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{stepDir, stepSpec, stepSent, stepClaimed, "returned"} {
		t.Run(step, func(t *testing.T) {
			p := newPlace(t)
			mark := filepath.Join(p.data, "mark")
			a := shell(1, "echo ran >> "+mark+"; echo output")
			order, err := json.Marshal(daemonOrder{p.data, p.run, supervisorPath, step, a})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), daemonEnv+"="+string(order))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "here\n" {
				t.Errorf("the daemon said %q, %v", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()

			m := p.open()
			h := launch(t, m, a)
			if o := end(t, m, h); o.Status != target.Ended {
				t.Errorf("%+v", o)
			}
			if b, err := os.ReadFile(mark); err != nil || string(b) != "ran\n" {
				t.Errorf("marks %q, %v", b, err)
			}
			if got := show(collect(t, m, h, 0)); !strings.HasPrefix(got, "0+0 output") {
				t.Errorf("output %s", got)
			}
		}) // and no supervisor stays, not even the one the dead daemon kept warm: see newPlace
	}
}
