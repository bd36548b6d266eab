package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// DefaultAddress is where HTTP is served: on this machine alone.
const DefaultAddress = "127.0.0.1:8750"

// addressVariable replaces DefaultAddress; "off" turns HTTP off.
const addressVariable = "PASAR_ADDRESS"

// Addresses are where HTTP is served, the first one first; none if it is turned off.
func (c *Config) Addresses() []string {
	if !c.HTTP {
		return nil
	}
	out := []string{c.Address}
	for _, a := range c.Bind {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func (c *Config) findAddress(env func(string) string) error {
	switch a := env(addressVariable); {
	case a == "":
		return nil
	case a == "off":
		c.HTTP = false
		c.sources["http"] = "environment " + addressVariable
		return nil
	default:
		if err := checkAddress(a); err != nil {
			return fmt.Errorf("environment %s: %w; or write off", addressVariable, err)
		}
		c.Address = a
		return nil
	}
}

// checkAddress wants a host and a port. Nothing is resolved: a name may be known later.
func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, "/ ") {
		return fmt.Errorf("%q isn't an address; write host:port, such as 127.0.0.1:8751 or [::1]:8751", pasar.Clean(s))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q has no port from 1 to 65535", pasar.Clean(s))
	}
	return nil
}

// webURL takes where something is served over HTTP. It is shown by `pasar config`, so it holds no password.
func webURL(field func(*Config) *string) func(*Config, any) error {
	return func(c *Config, v any) error {
		s, _ := v.(string)
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return refuse(v, "a URL such as http://127.0.0.1:9090, without a name, password or query")
		}
		*field(c) = s
		return nil
	}
}

func addresses(at func(*Config) *[]string) func(*Config, any) error {
	return stringList(at, checkAddress)
}

// hostNames are names or addresses without a port.
func hostNames(at func(*Config) *[]string) func(*Config, any) error {
	return stringList(at, func(s string) error {
		if strings.ContainsAny(s, "/ *") || strings.Contains(s, ":") && net.ParseIP(s) == nil {
			return fmt.Errorf("%q isn't the name of a host, without a port", pasar.Clean(s))
		}
		return nil
	})
}

func stringList(at func(*Config) *[]string, check func(string) error) func(*Config, any) error {
	return func(c *Config, v any) error {
		if err := isWords(v); err != nil {
			return err
		}
		list := []string{}
		for _, w := range v.([]any) {
			if err := check(w.(string)); err != nil {
				return err
			}
			list = append(list, w.(string))
		}
		*at(c) = list
		return nil
	}
}
