//go:build race

package supervisor_test

func init() { buildFlags = append(buildFlags, "-race") }
