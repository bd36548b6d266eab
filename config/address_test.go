package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnAddressOfEveryInterfaceServesTheFirstAsWell(t *testing.T) {
	for _, c := range []struct {
		variable, bind   string
		names, listeners []string
	}{
		{"", ``, []string{"127.0.0.1:8750"}, []string{"127.0.0.1:8750"}},
		{"", `"10.0.0.5:8750"`, []string{"127.0.0.1:8750", "10.0.0.5:8750"}, []string{"127.0.0.1:8750", "10.0.0.5:8750"}},
		{"", `"0.0.0.0:8750"`, []string{"127.0.0.1:8750", "0.0.0.0:8750"}, []string{"0.0.0.0:8750"}},
		{"", `"10.0.0.5:1", "0.0.0.0:8750", "[::]:8750"`, []string{"127.0.0.1:8750", "10.0.0.5:1", "0.0.0.0:8750", "[::]:8750"}, []string{"0.0.0.0:8750", "10.0.0.5:1", "[::]:8750"}},
		{"", `"0.0.0.0:8751"`, []string{"127.0.0.1:8750", "0.0.0.0:8751"}, []string{"127.0.0.1:8750", "0.0.0.0:8751"}},
		{"", `"[::]:8750"`, []string{"127.0.0.1:8750", "[::]:8750"}, []string{"127.0.0.1:8750", "[::]:8750"}}, // IPv6 alone
		{"[::1]:8750", `"[::]:8750", "127.0.0.1:8750"`, []string{"[::1]:8750", "[::]:8750", "127.0.0.1:8750"}, []string{"[::]:8750", "127.0.0.1:8750"}},
		{"localhost:9", `"0.0.0.0:9"`, []string{"localhost:9", "0.0.0.0:9"}, []string{"0.0.0.0:9"}},
		{"box.lan:9", `"0.0.0.0:9"`, []string{"box.lan:9", "0.0.0.0:9"}, []string{"box.lan:9", "0.0.0.0:9"}}, // of what a name stands for nothing is known
		{"off", `"0.0.0.0:9"`, nil, nil},
	} {
		env := home(t)
		env["PASAR_ADDRESS"] = c.variable
		file := filepath.Join(env["HOME"], "c.toml")
		write(t, file, "http = true\nbind = ["+c.bind+"]")
		got := mustLoad(t, file, env)
		if !slices.Equal(got.Addresses(), c.names) || !slices.Equal(got.Listeners(), c.listeners) || !slices.Equal(got.Addresses(), c.names) {
			t.Errorf("%q, [%s]: %q, listened on %q; want %q, %q", c.variable, c.bind, got.Addresses(), got.Listeners(), c.names, c.listeners)
		}
	}
}

func TestAnAddressOfTheEnvironmentMakesAnotherADuplicate(t *testing.T) {
	for variable, bind := range map[string]string{"10.0.0.5:8750": "10.0.0.5:8750", "0.0.0.0:8750": "127.0.0.1:8750", "[::]:9": "[fe80::1]:9"} {
		env := home(t)
		env["PASAR_ADDRESS"] = variable
		file := filepath.Join(env["HOME"], "c.toml")
		write(t, file, "\nbind = [\""+bind+"\"]")
		_, err := Load(file, env.get)
		want := file + `:2: bind: duplicate address "` + bind + `": HTTP is served on "` + variable + `" by environment PASAR_ADDRESS; leave it out`
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	env := home(t)
	env["PASAR_ADDRESS"] = "here"
	if _, err := Load("", env.get); err == nil || !strings.Contains(err.Error(), "environment PASAR_ADDRESS: \"here\" isn't an address") {
		t.Errorf("%v", err)
	}
}
