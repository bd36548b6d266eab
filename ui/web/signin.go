package web

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"pasar/ipc"
)

// forPeople are the patterns of what a person opens in a browser.
var forPeople = []string{"GET /{$}", "GET /jobs/{id}", "GET /login"}

// visits reports whether a browser asks for a page to show, so that JSON is no answer.
func visits(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.Contains(forPeople, r.Pattern) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// It is made of itself and of one style sheet, the only file that who isn't signed in gets.
var sentAway = template.Must(template.New("sent away").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pasar</title>
<link rel="stylesheet" href="/assets/signin.css">
</head>
<body>
<main>
<h1>This is pasar</h1>
<p>{{.Message}}.</p>
<p>Run <code>pasar web</code> on the machine whose jobs these are: it opens this page signed in, or prints a link that does.</p>
<p>On another machine than this one, <code>ssh -L {{.Port}}:{{.Address}} that-machine</code> first brings its pages here; the link then opens in this browser.</p>
</main>
</body>
</html>
`))

// goOn leads to another page of ours.
var goOn = template.Must(template.New("go on").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>pasar</title>
</head>
<body>
<p><a href="{{.}}">On to pasar</a></p>
</body>
</html>
`))

// sendAway refuses who may not, in JSON like every refusal, and in a page where somebody opened one.
func (s *Server) sendAway(w http.ResponseWriter, r *http.Request, status int, e *ipc.Error) {
	if !visits(r) {
		writeError(w, status, e)
		return
	}
	message := "This browser isn't signed in"
	if status != http.StatusUnauthorized {
		message = strings.ToUpper(e.Message[:1]) + e.Message[1:]
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	address := s.Addresses[0] // there is one: we have been asked
	_ = sentAway.Execute(w, struct{ Message, Address, Port string }{message, address, address[strings.LastIndexByte(address, ':')+1:]})
}
