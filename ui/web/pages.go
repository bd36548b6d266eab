package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"

	"pasar/ipc"
)

//go:embed assets
var assets embed.FS

// pageRoutes are the pages for people, and what they are made of. Which page it is the script reads from the address.
var pageRoutes = []route{
	{"GET /{$}", visitors, index},
	{"GET /jobs/{id}", visitors, index},
	{"GET /assets/signin.css", anybody, func(_ *Server, w http.ResponseWriter, r *http.Request) error { return asset(w, r, "signin.css") }},
	{"GET /assets/{file...}", visitors, func(_ *Server, w http.ResponseWriter, r *http.Request) error { return asset(w, r, r.PathValue("file")) }},
}

func index(_ *Server, w http.ResponseWriter, r *http.Request) error { return asset(w, r, "index.html") }

// asset answers with an embedded file: there is nothing beside them to reach.
func asset(w http.ResponseWriter, r *http.Request, name string) error {
	b, err := assets.ReadFile("assets/" + name) // what isn't a plain path it has not
	if err != nil {
		writeError(w, http.StatusNotFound, refuse(ipc.CodeBadRequest, "", "there is no such file"))
		return nil
	}
	serveFile(w, r, b, mime.TypeByExtension(path.Ext(name)))
	return nil
}

// serveFile answers with a file, or with nothing if the browser has it.
func serveFile(w http.ResponseWriter, r *http.Request, b []byte, kind string) {
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // kept, and asked about: a new daemon's page is never half the old one's
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", kind)
	_, _ = w.Write(b)
}
