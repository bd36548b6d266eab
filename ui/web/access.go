package web

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"

	"pasar"
	"pasar/ipc"
)

// Who may make a request.
type who int

const (
	anybody who = iota // the guides, and whether there is life
	users              // this user's processes on this machine, and who has the token
	person             // a browser that `pasar web` signed in: what costs money wants somebody to have looked
)

// A gate keeps out what browsers can be made to send by other people's pages.
type gate struct {
	hosts map[string]bool
}

// allowedHosts are the names, without a port, under which the server may be asked: a page of another name that
// resolves to this machine (DNS rebinding) has its own name in Host.
func allowedHosts(addresses, more []string) map[string]bool {
	m := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	for _, a := range addresses {
		if host, _, err := net.SplitHostPort(a); err == nil && host != "" {
			m[strings.ToLower(host)] = true
		}
	}
	for _, h := range more {
		m[strings.ToLower(h)] = true
	}
	return m
}

// hostName is the name in a Host header: any port is as good, since names are what rebinding needs, and a forwarded
// port has another number.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func refuse(code ipc.Code, hint, format string, args ...any) *ipc.Error {
	return &ipc.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// check says why a request isn't looked at, whoever makes it, and with which status.
func (g *gate) check(r *http.Request) (int, *ipc.Error) {
	if !g.hosts[hostName(r.Host)] {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "`allowed_hosts` in the configuration lists further names",
			"this server isn't asked as %q", pasar.Clean(r.Host))
	}
	plain := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	if plain {
		// Pages elsewhere can't read the answer; that they can have it made is no use to anybody.
		if site := r.Header.Get("Sec-Fetch-Site"); strings.HasPrefix(r.URL.Path, "/api/") && (site == "cross-site" || site == "same-site") {
			return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of another origin may not ask for this")
		}
		return 0, nil
	}
	if o := r.Header["Origin"]; len(o) > 0 && (len(o) > 1 || !strings.EqualFold(o[0], "http://"+r.Host) && !strings.EqualFold(o[0], "https://"+r.Host)) {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of the origin %q may not do this", pasar.Clean(o[0]))
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of another origin may not do this")
	}
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge, refuse(ipc.CodeOverLimit, "", "the body has %s; at most %s", pasar.Bytes(r.ContentLength), pasar.Bytes(maxBody))
	}
	if r.ContentLength != 0 && r.Header.Get("Upgrade") == "" {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return http.StatusUnsupportedMediaType, refuse(ipc.CodeBadRequest, "send it with Content-Type: application/json",
				"the body is %q; only JSON is read", pasar.Clean(r.Header.Get("Content-Type")))
		}
	}
	return 0, nil
}

// cookieName is that of the cookie which shows that `pasar web` signed a browser in.
const cookieName = "pasar"

// admit says why somebody may not, and with which status.
func (s *Server) admit(r *http.Request, need who) (int, *ipc.Error) {
	if need == anybody {
		return 0, nil
	}
	signed := false
	if c, err := r.Cookie(cookieName); err == nil {
		signed = s.keys.isCookie(c.Value, s.Now())
	}
	if signed {
		return 0, nil
	}
	if need == person {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "`pasar web` opens a page in which a person can", "only a person whom `pasar web` signed in may approve or reject")
	}
	if a := r.Header.Get("Authorization"); a != "" {
		kind, word, _ := strings.Cut(a, " ")
		if strings.EqualFold(kind, "Bearer") && s.keys.is(strings.TrimSpace(word)) {
			return 0, nil
		}
		return http.StatusUnauthorized, refuse(ipc.CodeNotAllowed, "`pasar token` prints it", "that isn't the token")
	}
	if peerOf(r.Context()).ours {
		return 0, nil
	}
	return http.StatusUnauthorized, refuse(ipc.CodeNotAllowed, "send `Authorization: Bearer` with what `pasar token` prints, or open the link of `pasar web`",
		"this needs the token of the user whose jobs these are")
}
