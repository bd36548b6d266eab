package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pasar"
)

// DefaultAddress is where HTTP is served: on this machine alone.
const DefaultAddress = "127.0.0.1:8750"

// addressVariable replaces DefaultAddress; addressOff in it turns HTTP off.
const (
	addressVariable = "PASAR_ADDRESS"
	addressOff      = "off"
)

// Addresses are where HTTP is served, the first one first; none if it is turned off.
func (c *Config) Addresses() []string {
	if !c.HTTP {
		return nil
	}
	return append([]string{c.Address}, c.Bind...)
}

// Listeners are those of Addresses that are listened on, the one that serves the first address first: one of Bind that
// is every address of this machine serves it as well, and both can't be had.
func (c *Config) Listeners() []string {
	all := c.Addresses()
	for i, a := range all {
		if i > 0 && endpointOf(a).covers(endpointOf(c.Address)) {
			return append([]string{a}, slices.Delete(all[1:], i-1, i)...)
		}
	}
	return all
}

// findAddress takes what the environment says of the first address. It comes before the file, where another may be the same.
func (c *Config) findAddress(env func(string) string) error {
	a := env(addressVariable)
	if a == "" || a == addressOff {
		return nil
	}
	if err := checkAddress(a); err != nil {
		return fmt.Errorf("environment %s: %w; or write %s", addressVariable, err, addressOff)
	}
	c.Address = a
	c.sources["address"] = "environment " + addressVariable
	return nil
}

// turnOff turns HTTP off if the environment says so, whatever the file does.
func (c *Config) turnOff(env func(string) string) {
	if env(addressVariable) == addressOff {
		c.HTTP = false
		c.sources["http"] = "environment " + addressVariable
	}
}

// An endpoint is an address as far as it is known without asking for what a name stands for.
type endpoint struct {
	host string // lower case; of an IP address its usual form
	ip   netip.Addr
	port uint64
}

func endpointOf(address string) endpoint {
	host, port, _ := net.SplitHostPort(address)
	e := endpoint{host: strings.TrimSuffix(strings.ToLower(host), ".")}
	e.port, _ = strconv.ParseUint(port, 10, 16)
	if e.host == "localhost" {
		e.host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(e.host); err == nil {
		e.ip = ip.Unmap()
		e.host = e.ip.String()
	}
	return e
}

// covers reports whether who listens at e has o with it: 0.0.0.0 is every IPv4 address, [::] every IPv6 one.
func (e endpoint) covers(o endpoint) bool {
	if e.port != o.port {
		return false
	}
	return e.host == o.host || e.ip.IsValid() && e.ip.IsUnspecified() && o.ip.IsValid() && e.ip.Is4() == o.ip.Is4()
}

// checkDuplicates wants each of some further addresses to be one that nothing else has.
func (c *Config) checkDuplicates(bind []string) error {
	for i, a := range bind {
		one := endpointOf(a)
		if endpointOf(c.Address).covers(one) {
			why := "in any case"
			if c.Source("address") != Default {
				why = "by " + string(c.Source("address"))
			}
			return fmt.Errorf("duplicate address %q: HTTP is served on %q %s; leave it out", pasar.Clean(a), pasar.Clean(c.Address), why)
		}
		for k, b := range bind {
			if k != i && endpointOf(b).covers(one) && (k < i || !one.covers(endpointOf(b))) {
				return fmt.Errorf("duplicate address %q: %q has it already; leave one of them out", pasar.Clean(a), pasar.Clean(b))
			}
		}
	}
	return nil
}

// checkAddress wants a host and a port. Nothing is resolved: a name may be known later.
func checkAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || !isHost(host) {
		return fmt.Errorf("%q isn't an address; write host:port, such as 127.0.0.1:8751 or [::1]:8751", pasar.Clean(s))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q has no port from 1 to 65535", pasar.Clean(s))
	}
	return nil
}

// isHost reports whether s is an IP address, or may be a name.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return s != "" && s[0] != '-' && s[0] != '.' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(".-_", r))
	})
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

// addresses takes a list of addresses beside the first one.
func addresses(at func(*Config) *[]string) func(*Config, any) error {
	read := stringList(at, checkAddress)
	return func(c *Config, v any) error {
		if err := read(c, v); err != nil {
			return err
		}
		return c.checkDuplicates(*at(c))
	}
}

// hostNames are names or addresses without a port.
func hostNames(at func(*Config) *[]string) func(*Config, any) error {
	return stringList(at, func(s string) error {
		if !isHost(s) {
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
