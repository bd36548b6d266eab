package web

import (
	"net/http"
	"strings"

	"pasar"
)

// catalogueRoutes say what can be asked.
var catalogueRoutes = []route{
	{"GET /api", users, bare((*Server).catalogue)},
}

// A request is one of those that can be made.
type request struct {
	Method string  `json:"method"`
	Path   string  `json:"path"` // {id} is a job's number
	As     *string `json:"as"`   // the command that answers or does the same; null: there is none
}

// commands are those that do the same, of the patterns that have one.
var commands = map[string]string{
	"GET /api/status":             "status",
	"GET /api/gpus":               "gpus",
	"GET /api/gpu":                "gpus --history",
	"GET /api/stats":              "stats",
	"GET /api/plan":               "submit --dry-run",
	"GET /api/jobs":               "ls",
	"GET /api/jobs/{id}":          "show",
	"GET /api/jobs/{id}/why":      "why",
	"GET /api/jobs/{id}/wait":     "wait",
	"GET /api/jobs/{id}/events":   "events",
	"GET /api/jobs/{id}/logs":     "logs",
	"GET /api/jobs/{id}/screen":   "screen",
	"GET /api/jobs/{id}/attach":   "attach",
	"POST /api/jobs":              "submit",
	"PATCH /api/jobs/{id}":        "edit, bid",
	"POST /api/jobs/{id}/cancel":  "cancel",
	"POST /api/jobs/{id}/hold":    "hold",
	"POST /api/jobs/{id}/release": "release",
	"POST /api/jobs/{id}/pause":   "pause",
	"POST /api/jobs/{id}/resume":  "resume",
	"POST /api/jobs/{id}/promote": "promote",
	"POST /api/jobs/{id}/restart": "restart",
	"GET /llms.txt":               "guide",
	"GET /agents.md":              "guide",
	"GET /llms-cloud.txt":         "guide cloud",
	"GET /guide/{topic}":          "guide",
}

// requests are those of every route there is.
func requests() (all []request) {
	for _, list := range allRoutes() {
		for _, rt := range list {
			method, path, _ := strings.Cut(rt.pattern, " ")
			all = append(all, request{method, strings.ReplaceAll(path, "{$}", ""), pasar.Known(commands[rt.pattern])})
		}
	}
	return all
}

// catalogue answers with them.
func (s *Server) catalogue(w http.ResponseWriter, _ *http.Request) error {
	return writeValue(w, struct {
		Schema   int       `json:"schema"`
		Requests []request `json:"requests"`
	}{pasar.Schema, s.asked})
}
