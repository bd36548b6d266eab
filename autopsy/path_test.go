package autopsy

import (
	"fmt"
	"strings"
	"testing"

	"pasar"
)

// The names of files hold any word. Those that rules look for, or that keep them from what they know, are the ones
// to try.
func TestTheNameOfAFileSaysNothing(t *testing.T) {
	words := strings.Fields(`activate adapter attribute aws bucket cache checkpoint chips column conda config container corrupted
		cuda device digits display download driver error failed generate git gloo gpu grpc heap host iam index interpreter json
		kernel key killed locked loss master missing model module mount mysql nan nccl network nvidia oom package panic pinned
		pipeline port process python quota ranks rdma registry repo resource roles s3 server signal site-packages socket sql
		table timeout token tokens venv wandb warn warnings watch william worker yaml 401 403 404 429 503`)
	for text, want := range map[string]pasar.Code{
		"FileNotFoundError: [Errno 2] No such file or directory: '/data/%s/x.npy'": pasar.CodeFileMissing,
		"FileNotFoundError: [Errno 2] No such file or directory: '%s.npy'":         pasar.CodeFileMissing,
		"PermissionError: [Errno 13] Permission denied: '/data/%s/x.npy'":          pasar.CodePermission,
		"PermissionError: [Errno 13] Permission denied: '/data/%s'":                pasar.CodePermission,
		"OSError: [Errno 28] No space left on device: '/data/%s/x.npy'":            pasar.CodeDiskFull,
		"OSError: [Errno 5] Input/output error: '/data/%s.npy'":                    pasar.CodeIOError,
		"OSError: [Errno 24] Too many open files: '/data/%s/x.npy'":                pasar.CodeSysLimit,
		"ValueError: row 3 of /data/%s/x.csv has 4 columns":                        pasar.CodeException,
	} {
		for _, w := range words {
			line := fmt.Sprintf(text, w)
			v := Attribute(Evidence{Exit: code(1), Log: numbered("Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    main()", line)})
			if v.Reason != want {
				t.Errorf("%s: %s, want %s", line, v.Reason, want)
			}
		}
	}
}
