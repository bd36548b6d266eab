package web

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"pasar/docs"
	"pasar/ipc"
)

// publicRoutes are open to everybody: they say nothing of jobs.
var publicRoutes = []route{
	{"GET /healthz", anybody, (*Server).healthz},
	{"GET /llms.txt", anybody, bare(guide(""))},
	{"GET /agents.md", anybody, bare(guide(""))},
	{"GET /llms-cloud.txt", anybody, bare(guide("cloud"))},
	{"GET /guide/{topic}", anybody, func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return bare(guide(r.PathValue("topic")))(s, w, r)
	}},
	{"GET /login", anybody, (*Server).login},
}

// healthz says whether the daemon answers, within two seconds.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c, err := s.Dial(ctx)
	if err == nil {
		_ = c.Close()
		_, _ = io.WriteString(w, "ok\n")
		return nil
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "the daemon doesn't answer\n")
	return nil
}

func guide(topic string) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request) error {
		text, err := docs.Guide(topic)
		if err != nil {
			e := refuse(ipc.CodeBadRequest, "", "%v", err)
			writeError(w, http.StatusNotFound, e)
			return nil
		}
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = io.WriteString(w, text)
		return nil
	}
}

// isOpened reports whether a browser opens an address for somebody to see, and doesn't fetch it beforehand or for another page.
// Programs that aren't browsers say nothing of it.
func isOpened(r *http.Request) bool {
	for _, purpose := range []string{"Sec-Purpose", "Purpose"} {
		if strings.Contains(strings.ToLower(r.Header.Get(purpose)), "prefetch") {
			return false
		}
	}
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "document"
}

// login takes the code of a link of `pasar web`, once, for a cookie and the key of a page. The code leaves the address bar
// at once, and the page takes the key out of it. What is behind # is sent to no server. A link in a page elsewhere, as in the
// file that `pasar web` has opened, leads to a page of ours first: a cookie of ours isn't sent where another's page redirects to.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead { // whoever looks at links before they are opened doesn't use them up
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if !isOpened(r) {
		writeError(w, http.StatusForbidden, refuse(ipc.CodeNotAllowed, "", "this link signs in who opens it as a page"))
		return nil
	}
	if !s.links.use(r.URL.Query().Get("code"), s.Now()) {
		// Who comes back to a link, or follows it again, has what it gave: the pages, which the cookie alone is enough for.
		if cookie, _ := s.keys.shown(r, s.Now()); cookie && visits(r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return nil
		}
		s.sendAway(w, r, http.StatusForbidden, refuse(ipc.CodeNotAllowed, "`pasar web` makes another", "this link was used already, or is too old"))
		return nil
	}
	cookie, key, err := s.keys.signIn(s.Now().Add(cookieFor))
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie)
	to := "/#key=" + key
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		return goOn.Execute(w, to)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
