package local

import (
	"path/filepath"
	"testing"

	"pasar"
	"pasar/target"
)

// BenchmarkLaunch is from the call to the claim: what stands between a decision and its effect.
func BenchmarkLaunch(b *testing.B) {
	o := Options{DataDir: b.TempDir(), RunDir: filepath.Join(b.TempDir(), "run"), Supervisor: supervisorPath}
	m, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	job := pasar.JobID(0)
	for b.Loop() {
		b.StopTimer()
		job++
		a := shell(job, "exit 0")
		w := <-m.pool.ready // it is warm: what is measured isn't its start
		b.StartTimer()
		go func() { m.pool.ready <- w }()
		h, err := m.Launch(b.Context(), a)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := m.Watch(b.Context(), h, func(target.Observation) error { return nil }); err != nil {
			b.Fatal(err)
		}
		if err := m.Acknowledge(b.Context(), h); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
