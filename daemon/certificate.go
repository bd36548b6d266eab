package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pasar"
	"pasar/autopsy"
)

// A Certificate is all that a verdict rests on, as it is kept: attribution of its evidence gives its verdict again.
type Certificate struct {
	Schema   int              `json:"schema"`
	Version  string           `json:"version"` // of the pasar that made it
	Key      pasar.AttemptKey `json:"key"`
	Nonce    string           `json:"nonce"`
	At       time.Time        `json:"at"`
	Evidence autopsy.Evidence `json:"evidence"`
	Verdict  pasar.Verdict    `json:"verdict"`
}

const (
	// certificatePatience is how long an end waits for its certificate to be on the disk. It goes on without one.
	certificatePatience = 5 * time.Second
	certificateWriters  = 4
)

// judge attributes an end, and has the certificate kept before the end is told: of one that did not complete,
// for nobody asks why a job succeeded.
func (d *Daemon) judge(ctx context.Context, t *tender, e autopsy.Evidence) (v pasar.Verdict, certified bool) {
	e = e.Portable()
	v = autopsy.Attribute(e)
	if d.Certify == nil || v.Reason == pasar.CodeCompleted {
		return v, false
	}
	body, err := json.Marshal(Certificate{Schema: pasar.Schema, Version: pasar.Version, Key: t.handle.Key, Nonce: t.handle.Nonce,
		At: d.Clock.Now().UTC(), Evidence: e, Verdict: v})
	if err == nil {
		err = d.writers.do(ctx, func(context.Context) error { return d.Certify(t.handle.Key, append(body, '\n')) })
	}
	if err != nil {
		d.Log.Warn("certificate not kept", "job", t.job, "attempt", t.attempt, "error", err)
	}
	return v, err == nil
}

// CertifyIn keeps certificates in the directories of jobs: whole or not at all, and safe from a power cut.
func CertifyIn(dataDir string) func(pasar.AttemptKey, []byte) error {
	return func(k pasar.AttemptKey, body []byte) error {
		path := certificatePath(dataDir, k)
		dir := filepath.Dir(path)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("keep certificate: %w", err)
		}
		// One name, so that what a daemon that was killed left is written over by the next.
		f, err := os.OpenFile(filepath.Join(dir, "."+filepath.Base(path)+".new"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("keep certificate: %w", err)
		}
		_, err = f.Write(body)
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			_ = os.Remove(f.Name())
			return fmt.Errorf("keep certificate: %w", err)
		}
		return syncDir(dir)
	}
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

func certificatePath(dataDir string, k pasar.AttemptKey) string {
	return filepath.Join(dataDir, "jobs", k.Job.String(), pasar.CertificateFile(k.Attempt))
}
