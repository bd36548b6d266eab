package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"pasar"
	"pasar/attemptdir"
	"pasar/target"
)

// Names in the data directory.
const (
	jobsDir    = "jobs"
	persistDir = "persist" // of a job: where its checkpoints survive attempts
)

// Bounds of files that are read whole. A spec holds argv and environment (pasar.MaxArgv), and base64
// adds a third; a record holds a tail.
const (
	maxSpec    = 8 << 20
	maxRecord  = 1 << 20
	maxHolding = 64 << 10
)

func (m *Machine) jobDir(id pasar.JobID) string {
	return filepath.Join(m.o.DataDir, jobsDir, id.String())
}

func (m *Machine) attemptDir(k pasar.AttemptKey) string {
	return filepath.Join(m.jobDir(k.Job), strconv.Itoa(k.Attempt))
}

// A spec is what is written into an attempt's directory: the supervisor's part, and the boot in
// which it was written. Nothing here is synced before a launch, so after a power cut only the boot
// tells that a spec without a claim may have been launched after all.
type spec struct {
	pasar.AttemptSpec
	Boot string `json:"boot"`
}

// makeDirs makes an attempt's directory; fresh says that it wasn't there. One that another attempt
// with this key left behind (the data directory was taken over, its database wasn't) is moved
// aside, unless that attempt still runs.
func (m *Machine) makeDirs(h target.Handle) (fresh bool, err error) {
	dir, job := m.attemptDir(h.Key), m.jobDir(h.Key.Job)
	if err := makeJobDir(job); err != nil {
		return notThere(dir), fmt.Errorf("make job directory: %w", err)
	}
	err = os.Mkdir(dir, 0o700)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, os.ErrExist) {
		return notThere(dir), fmt.Errorf("make attempt directory: %w", err)
	}
	nonce, err := nonceOf(dir)
	if err != nil || nonce == "" || nonce == h.Nonce {
		return false, err
	}
	c, err := lookAt(dir)
	if err != nil {
		return false, err
	}
	if c.state == claimHeld {
		return false, target.Never(fmt.Errorf("%s is in use by another attempt %s, which runs", dir, h.Key))
	}
	aside := dir + ".of-" + fileName(nonce)
	if err := os.Rename(dir, aside); err != nil {
		return false, fmt.Errorf("move aside what another attempt %s left: %w", h.Key, err)
	}
	m.log.Warn("moved aside what another attempt with this key left", keyAttempt, h.Key.String(), "to", aside)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return true, fmt.Errorf("make attempt directory: %w", err)
	}
	return true, nil
}

// makeJobDir makes a job's directory and the one in which its checkpoints survive attempts. Both are new
// as a rule, so they are made rather than looked for.
func makeJobDir(job string) error {
	persist := filepath.Join(job, persistDir)
	if err := os.Mkdir(job, 0o700); err == nil {
		if os.Mkdir(persist, 0o700) == nil {
			return nil
		}
	}
	return os.MkdirAll(persist, 0o700)
}

func notThere(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// fileName keeps the letters, digits and dashes of a nonce, at most 64.
func fileName(nonce string) string {
	b := make([]byte, 0, 64)
	for i := 0; i < len(nonce) && len(b) < 64; i++ {
		switch c := nonce[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			b = append(b, c)
		}
	}
	return string(b)
}

// writeSpec puts the spec in place whole or not at all. It isn't synced: a power cut ends the
// attempt anyway, and the launch path waits for no disk.
func (m *Machine) writeSpec(a target.Attempt) error {
	dir := m.attemptDir(a.Spec.Key)
	job := m.jobDir(a.Spec.Key.Job)
	s := spec{AttemptSpec: a.Spec, Boot: m.boot}
	s.Surroundings.Env = target.Environment(a, target.Dirs{
		Attempt: dir, Job: job, Persist: filepath.Join(job, persistDir), Socket: m.o.Socket,
	})
	b, err := json.Marshal(&s)
	if err != nil {
		return fmt.Errorf("encode spec: %w", err)
	}
	if len(b) > maxSpec {
		return fmt.Errorf("spec of attempt %s is %s; at most %s", a.Spec.Key, pasar.Bytes(len(b)), pasar.Bytes(maxSpec))
	}
	// A name of its own, for there may be another launcher.
	tmp := filepath.Join(dir, pasar.SpecFile+"."+strconv.FormatUint(rand.Uint64(), 36))
	f, err := attemptdir.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write spec: %w", err)
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, pasar.SpecFile))
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write spec: %w", err)
	}
	return nil
}

// readBounded reads a whole file of at most max bytes.
func readBounded(path string, max int64) ([]byte, error) {
	f, err := attemptdir.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > max {
		return nil, fmt.Errorf("%s is larger than %s", path, pasar.Bytes(max))
	}
	return b, nil
}

// readSpec reads an attempt's spec; ok is false when there is none, or only a part of one, as after
// a power cut.
func readSpec(dir string) (s spec, ok bool, err error) {
	b, err := readBounded(filepath.Join(dir, pasar.SpecFile), maxSpec)
	if errors.Is(err, os.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read spec: %w", err)
	}
	if json.Unmarshal(b, &s) != nil || s.Nonce == "" {
		return spec{}, false, nil
	}
	return s, true, nil
}

// errDamaged is an exit record that can't be read as one.
var errDamaged = errors.New("damaged exit record")

// decodeRecord reads an exit record and checks that it is one.
func decodeRecord(b []byte) (*pasar.ExitRecord, error) {
	var r pasar.ExitRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%w: %v", errDamaged, err)
	}
	if r.Nonce == "" || r.Key.Job <= 0 || r.Key.Attempt <= 0 {
		return nil, fmt.Errorf("%w: it names no attempt", errDamaged)
	}
	return &r, nil
}

// readRecord reads an attempt's exit record, nil if there is none.
func readRecord(dir string) (*pasar.ExitRecord, error) {
	b, err := readBounded(filepath.Join(dir, pasar.ExitFile), maxRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read exit record: %w", err)
	}
	return decodeRecord(b)
}

// nonceOf is the nonce of the attempt that a directory belongs to: by its claim, its record or its
// spec. It is empty when none says.
func nonceOf(dir string) (string, error) {
	c, err := lookAt(dir)
	if err != nil {
		return "", err
	}
	if c.holding.Nonce != "" {
		return c.holding.Nonce, nil
	}
	r, err := readRecord(dir)
	if err != nil && !errors.Is(err, errDamaged) {
		return "", err
	}
	if r != nil {
		return r.Nonce, nil
	}
	s, _, err := readSpec(dir)
	return s.Nonce, err
}
