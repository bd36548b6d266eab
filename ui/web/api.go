package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
)

// apiRoutes tell how things are: the bytes of the commands' --json.
var apiRoutes = []route{
	{"GET /api/status", users, bare(func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.Status(ctx) })
	})},
	{"GET /api/gpus", users, bare(func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.GPUs(ctx) })
	})},
	{"GET /api/gpu", users, (*Server).gpuHistory}, // as `gpus --history --json`
	{"GET /api/cloud", users, bare(func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.Approvals(ctx) })
	})},
	{"GET /api/stats", users, (*Server).stats},
	{"GET /api/plan", users, (*Server).plan},
	{"GET /api/jobs/{id}", users, bare((*Server).show)},
	{"GET /api/jobs/{id}/why", users, bare((*Server).show)}, // as `why --json`
	{"GET /api/jobs/{id}/wait", users, (*Server).wait},
	{"GET /api/jobs/{id}/metrics", users, (*Server).metrics},
	{"GET /api/jobs/{id}/events", users, (*Server).events},
	{"GET /api/jobs/{id}/usage", users, (*Server).usage},
}

// jobID is the job that a path names.
func jobID(r *http.Request) (pasar.JobID, error) {
	word := r.PathValue("id")
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != word { // each has one address
		return 0, refuse(ipc.CodeUnknownJob, "a job is named by its number: /api/jobs/42", "there is no job %s", quoted(word))
	}
	return pasar.JobID(n), nil
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.Show(ctx, ipc.ShowRequest{Job: id}) })
}

// ofAttempt is the job that a path names, and the attempt that a query does, which says nothing else; 0: none is named.
func ofAttempt(r *http.Request) (id pasar.JobID, attempt int, err error) {
	if id, err = jobID(r); err != nil {
		return 0, 0, err
	}
	q := r.URL.Query()
	if err = only(q, "attempt"); err != nil {
		return 0, 0, err
	}
	attempt, err = count(q, "attempt")
	return id, attempt, err
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	id, attempt, err := ofAttempt(r)
	if err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) {
		return c.Metrics(ctx, ipc.MetricsRequest{Job: id, Attempt: attempt})
	})
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	id, attempt, err := ofAttempt(r)
	if err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) {
		return c.Events(ctx, ipc.EventsRequest{Job: id, Attempt: attempt})
	})
}

func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "attempt", "points"); err != nil {
		return err
	}
	req := ipc.UsageRequest{Job: id}
	if req.Attempt, err = count(q, "attempt"); err != nil {
		return err
	}
	if req.Points, err = pointsAsked(q); err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.Usage(ctx, req) })
}

// statsFor is how far back statistics go, if nothing is said.
const statsFor = 30 * 24 * time.Hour

func (s *Server) stats(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := only(q, "since", "by"); err != nil {
		return err
	}
	since, err := moment(q, "since", s.Now())
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = s.Now().Add(-statsFor)
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) {
		return c.Stats(ctx, ipc.StatsRequest{Since: since, By: q.Get("by")})
	})
}

// gpuHistory tells how GPUs were used.
func (s *Server) gpuHistory(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := only(q, "since", "until", "points"); err != nil {
		return err
	}
	var req ipc.GPUHistoryRequest
	var err error
	if req.Since, err = moment(q, "since", s.Now()); err != nil {
		return err
	}
	if req.Until, err = moment(q, "until", s.Now()); err != nil {
		return err
	}
	if req.Points, err = pointsAsked(q); err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) { return c.GPUHistory(ctx, req) })
}

// listRequest is what a query asks for, with the names of the flags of `pasar ls`.
func listRequest(q url.Values, now time.Time) (ipc.ListRequest, error) {
	req := ipc.ListRequest{Tag: strings.TrimPrefix(q.Get("tag"), "@"), By: q.Get("by"), Machine: q.Get("machine")}
	var err error
	if req.All, err = flag(q, "all"); err != nil {
		return req, err
	}
	for _, word := range q["state"] {
		for st := range strings.SplitSeq(word, ",") {
			if st = strings.ToLower(st); !slices.Contains(pasar.States, pasar.State(st)) {
				return req, refuse(ipc.CodeBadRequest, "states are "+stateNames(), "state: there is no %s", quoted(st))
			}
			req.States = append(req.States, pasar.State(st))
		}
	}
	if req.Since, err = moment(q, "since", now); err != nil {
		return req, err
	}
	if req.Until, err = moment(q, "until", now); err != nil {
		return req, err
	}
	if req.Limit, err = count(q, "limit"); err != nil {
		return req, err
	}
	group, err := count(q, "group")
	if err != nil {
		return req, err
	}
	req.Group = pasar.JobID(group)
	for _, word := range q["job"] {
		for id := range strings.SplitSeq(word, ",") {
			n, err := strconv.ParseInt(id, 10, 64)
			if errors.Is(err, strconv.ErrRange) && n > 0 {
				return req, refuse(ipc.CodeUnknownJob, "", "there is no job %s", pasar.Clean(id))
			}
			if err != nil || n < 1 {
				return req, refuse(ipc.CodeBadRequest, "", "job: %s is no number of a job", quoted(id))
			}
			if !slices.Contains(req.Jobs, pasar.JobID(n)) { // each once
				req.Jobs = append(req.Jobs, pasar.JobID(n))
			}
		}
	}
	return req, nil
}

// listKeys are what listRequest reads.
var listKeys = []string{"all", "state", "tag", "by", "machine", "since", "until", "limit", "group", "job"}

func stateNames() string {
	names := make([]string, len(pasar.States))
	for i, st := range pasar.States {
		names[i] = string(st)
	}
	return strings.Join(names, ", ")
}

// only refuses what a query has beyond the keys that are known: it was meant to do something.
func only(q url.Values, keys ...string) error {
	for _, k := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(keys, k) {
			hint := "it takes none"
			if len(keys) > 0 {
				hint = "it takes " + strings.Join(keys, ", ")
			}
			return refuse(ipc.CodeBadRequest, hint, "the query has a %s, which isn't known", quoted(k))
		}
	}
	return nil
}

// bare is for what takes no query.
func bare(serve func(*Server, http.ResponseWriter, *http.Request) error) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		if err := only(r.URL.Query()); err != nil {
			return err
		}
		return serve(s, w, r)
	}
}

// query refuses a query that can't be read, one beside a body, and a key that is there twice where one is read. Which keys
// there are, each route says with only. Those of pages are for their scripts.
func query(r *http.Request, pattern string) error {
	if slices.ContainsFunc(pageRoutes, func(rt route) bool { return rt.pattern == pattern }) {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(ipc.CodeBadRequest, "write key=value, with & between them and other signs as %XX", "the query %s can't be read", quoted(r.URL.RawQuery))
	}
	keys := slices.Sorted(maps.Keys(q))
	if len(keys) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(ipc.CodeBadRequest, "send it in the body, as JSON", "%s takes no query, and this has a %s", r.Method, quoted(keys[0]))
	}
	for _, k := range keys {
		if len(q[k]) > 1 && k != "state" && k != "job" {
			return refuse(ipc.CodeBadRequest, "", "the query has %s twice", quoted(k))
		}
	}
	return nil
}

// flag is yes or no; a name alone is yes.
func flag(q url.Values, key string) (bool, error) {
	switch v := q.Get(key); {
	case !q.Has(key):
		return false, nil
	case v == "" || v == "1" || v == "true":
		return true, nil
	case v == "0" || v == "false":
		return false, nil
	default:
		return false, refuse(ipc.CodeBadRequest, "", "%s: %s is neither 1 nor 0", key, quoted(v))
	}
}

// count is a number from 0 on; 0 if it isn't there.
func count(q url.Values, key string) (int, error) {
	if !q.Has(key) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get(key), 10, 31)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		return 0, refuse(ipc.CodeBadRequest, "", "%s: at most %d, not %s", key, n, pasar.Clean(q.Get(key)))
	case n < 0:
		return 0, refuse(ipc.CodeBadRequest, "", "%s: 0 or more, not %s", key, pasar.Clean(q.Get(key)))
	case err != nil:
		return 0, refuse(ipc.CodeBadRequest, "", "%s: %s is no number", key, quoted(q.Get(key)))
	}
	return int(n), nil
}

// pointsAsked is how many points are asked for; 0 if nothing is said.
func pointsAsked(q url.Values) (int, error) {
	n, err := count(q, "points")
	if err == nil && n == 0 && q.Has("points") {
		return 0, refuse(ipc.CodeBadRequest, "", "points: 1 or more, not 0")
	}
	return n, err
}

// moment is a point in time, as of a flag, in the time zone of now. Zero if it isn't there.
func moment(q url.Values, key string, now time.Time) (time.Time, error) {
	v := q.Get(key)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := submission.ParseSince(v, now)
	if err != nil {
		what, hint := submission.Explain(err)
		return t, refuse(ipc.CodeBadRequest, hint, "%s: %s", key, pasar.Clean(what))
	}
	return t, nil
}
