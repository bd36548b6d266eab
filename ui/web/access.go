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
	anybody  who = iota // the guides, and whether there is life
	visitors            // as users, and a browser with the cookie alone: what pages are made of, and nothing of a job
	users               // this user's processes on this machine, who has the token, and a page that `pasar web` signed in
	savers              // as users, and a browser with the cookie and a code: what a link saves as a file
	person              // a page that `pasar web` signed in: what costs money wants somebody to have looked
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

// quoted is foreign text within a sentence. %q would escape the escapes of Clean.
func quoted(s string) string { return `"` + pasar.Clean(s) + `"` }

// check says why a request isn't looked at, whoever makes it, and with which status.
func (g *gate) check(r *http.Request) (int, *ipc.Error) {
	if !g.hosts[hostName(r.Host)] {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "`allowed_hosts` in the configuration lists further names",
			"this server isn't asked as %s", quoted(r.Host))
	}
	plain := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	if plain {
		// Pages elsewhere can't read the answer; that they can have it made is no use to anybody.
		if site := r.Header.Get("Sec-Fetch-Site"); strings.HasPrefix(r.URL.Path, "/api/") && (site == "cross-site" || site == "same-site") {
			return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of another origin may not ask for this")
		}
		return 0, nil
	}
	switch o := r.Header["Origin"]; {
	case len(o) > 1:
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "the request has %d headers Origin, and a page sends one", len(o))
	case len(o) == 1 && !strings.EqualFold(o[0], "http://"+r.Host) && !strings.EqualFold(o[0], "https://"+r.Host):
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of the origin %s may not do this", quoted(o[0]))
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "a page of another origin may not do this")
	}
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge, refuse(ipc.CodeOverLimit, "", "the body has %s; at most %s", pasar.Bytes(r.ContentLength), pasar.Bytes(maxBody))
	}
	if r.ContentLength != 0 {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return http.StatusUnsupportedMediaType, refuse(ipc.CodeBadRequest, "send it with Content-Type: application/json",
				"the body is %s; only JSON is read", quoted(r.Header.Get("Content-Type")))
		}
	}
	return 0, nil
}

// errNoKey is for a browser that has the cookie and whose page has lost its key.
var errNoKey = refuse(ipc.CodeNotAllowed, "open the link of `pasar web` anew", "this page isn't signed in any more: `pasar web` opens one that is")

// admit says why somebody may not, and with which status; and of who may, whether it is by the token or what was made
// from it. A cookie shows who a browser is to every server of this host, also to those of other users: it is enough for
// what says nothing of a job, and for all else a page shows its key with it, which no other origin has.
func (s *Server) admit(r *http.Request, need who) (byToken bool, status int, e *ipc.Error) {
	if need == anybody {
		return false, 0, nil
	}
	cookie, key := s.keys.shown(r, s.Now())
	switch {
	case key, cookie && need == visitors:
		return true, 0, nil
	case need == person && cookie:
		return false, http.StatusForbidden, errNoKey
	case need == person:
		return false, http.StatusForbidden, refuse(ipc.CodeNotAllowed, "`pasar web` opens a page in which a person can", "only a person whom `pasar web` signed in may approve or reject")
	}
	if a := r.Header.Get("Authorization"); a != "" {
		kind, word, _ := strings.Cut(a, " ")
		if strings.EqualFold(kind, "Bearer") && s.keys.is(strings.TrimSpace(word)) {
			return true, 0, nil
		}
		return false, http.StatusUnauthorized, refuse(ipc.CodeNotAllowed, "`pasar token` prints it", "that isn't the token")
	}
	switch {
	case peerOf(r.Context()).ours:
		return false, 0, nil
	case cookie && need == savers && r.Method == http.MethodGet && s.codes.use(r.URL.Query().Get("code"), s.Now()):
		return true, 0, nil
	case cookie:
		return false, http.StatusUnauthorized, errNoKey
	}
	hint := "send `Authorization: Bearer` with what `pasar token` prints, or open the link of `pasar web`"
	if peerOf(r.Context()).hidden() {
		hint = "if they are yours, don't close your side before the answer is there: of such a connection nobody can tell whose it is; or " + hint
	}
	return false, http.StatusUnauthorized, refuse(ipc.CodeNotAllowed, hint, "this needs the token of the user whose jobs these are")
}
