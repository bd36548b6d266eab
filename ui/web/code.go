package web

import (
	"net/http"

	"pasar"
)

// codeRoutes give out codes with which a link saves a file.
var codeRoutes = []route{
	{"POST /api/code", users, (*Server).code},
}

// code answers with a word that stands in, once and within saveFor, for the key of a page: what a browser saves as a file
// it asks for by itself, without the page's headers.
func (s *Server) code(w http.ResponseWriter, r *http.Request) error {
	if err := only(r.URL.Query()); err != nil {
		return err
	}
	var in struct{}
	if err := body(r, &in); err != nil {
		return err
	}
	return writeValue(w, struct {
		Schema int    `json:"schema"`
		Code   string `json:"code"`
	}{pasar.Schema, s.codes.make(s.Now())})
}
