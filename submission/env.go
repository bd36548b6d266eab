package submission

import (
	"slices"
	"strings"

	"pasar"
)

// Bare names what is left of the environment with --no-env.
const Bare = "PATH HOME USER LOGNAME SHELL LANG"

// ours are the variables that steer a pasar client. Every other PASAR_ variable belongs to the job in
// which this client may be running, and is not handed to another.
var ours = []string{"PASAR_SOCKET", "PASAR_CONFIG", "PASAR_URL", "PASAR_ADDRESS", "PASAR_TOKEN"}

// Env is the environment to record with a job: env, or with noEnv what is bare of it, and what add adds, KEY=VALUE, or
// KEY for the value in env; sorted, each variable once. It is at most pasar.MaxEnv.
func Env(env []string, noEnv bool, add []string) ([]pasar.Arg, error) {
	vars := map[string]string{}
	bare := strings.Fields(Bare)
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || noEnv && !slices.Contains(bare, k) {
			continue
		}
		if strings.HasPrefix(k, "PASAR_") && !slices.Contains(ours, k) {
			continue
		}
		if k == "XLA_PYTHON_CLIENT_MEM_FRACTION" && v == lookup(env, "PASAR_GPU_FRACTION") {
			continue // pasar set it, for the job we are in
		}
		vars[k] = v
	}
	if err := addTo(vars, env, add); err != nil {
		return nil, err
	}
	return listed(vars)
}

// Added is what add adds alone, for a job elsewhere that has another environment.
func Added(env, add []string) ([]pasar.Arg, error) {
	vars := map[string]string{}
	if err := addTo(vars, env, add); err != nil {
		return nil, err
	}
	return listed(vars)
}

func addTo(vars map[string]string, env, add []string) error {
	for _, kv := range add {
		k, v, ok := strings.Cut(kv, "=")
		if k == "" {
			return refusef("--env %q has no name", pasar.Clean(kv)).with("write --env KEY=VALUE, or --env KEY to pass yours on")
		}
		if !ok {
			if !slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, k+"=") }) {
				return refusef("--env %s: it is not set here", pasar.Clean(k)).with("write --env " + pasar.Clean(k) + "=VALUE")
			}
			v = lookup(env, k)
		}
		vars[k] = v
	}
	return nil
}

func listed(vars map[string]string) ([]pasar.Arg, error) {
	out := make([]pasar.Arg, 0, len(vars))
	size := 0
	for k, v := range vars {
		out = append(out, pasar.Arg(k+"="+v))
		size += len(k) + len(v) + 2
	}
	if size > pasar.MaxEnv {
		return nil, refusef("the environment is %s; at most %s", pasar.Bytes(size), pasar.Bytes(pasar.MaxEnv)).with("leave it out with --no-env, and name what the job needs with --env KEY")
	}
	slices.Sort(out)
	return out, nil
}

// lookup is the last value of a variable, as the C library would have it.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
