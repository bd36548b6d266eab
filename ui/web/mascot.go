package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// mascotRoutes show the stall-keeper, who wears the market's mood.
var mascotRoutes = []route{
	{"GET /api/mascot", users, (*Server).mascot},
	{"GET /favicon.ico", anybody, bare((*Server).favicon)},
	{"GET /mascot/{file}", visitors, bare((*Server).face)},
}

// Bounds of what a mood is made of. However many jobs there are, these are few: it goes by what has just happened and
// by the first that waits, and the status counts the rest.
const (
	moodJobs  = 200              // jobs that run or of which an attempt has just ended
	moodNext  = 10               // jobs that wait
	moodSince = 10 * time.Minute // no mood lasts longer than that after an end
)

// mascot answers with the mood.
func (s *Server) mascot(w http.ResponseWriter, r *http.Request) error {
	if err := only(r.URL.Query()); err != nil {
		return err
	}
	return s.view(w, r, func(ctx context.Context, c *ipc.Client) ([]byte, error) {
		now := s.Now()
		snap, err := glance(ctx, c, now)
		if err != nil {
			return nil, err
		}
		mood, why, until := ui.MoodOf(snap, now)
		v := pasar.MascotView{Schema: pasar.Schema, Mood: string(mood), Headline: ui.Headline(snap, now), Why: why, Image: "/mascot/" + s.faces.name(s, mood)}
		if !until.IsZero() {
			until = until.UTC()
			v.Until = &until
		}
		return json.Marshal(v)
	})
}

// glance is a snapshot of what a mood and a headline need.
func glance(ctx context.Context, c *ipc.Client, now time.Time) (*ui.Snapshot, error) {
	s := &ui.Snapshot{At: now, Partial: true}
	b, err := c.Status(ctx)
	if err == nil {
		err = json.Unmarshal(b, &s.Status)
	}
	if err != nil {
		return nil, err
	}
	lately, err := jobs(ctx, c, ipc.ListRequest{Lately: now.Add(-moodSince), Limit: moodJobs})
	if err != nil {
		return nil, err
	}
	next, err := jobs(ctx, c, ipc.ListRequest{States: []pasar.State{pasar.Queued}, Limit: moodNext})
	if err != nil {
		return nil, err
	}
	// Those that wait come in their order, so that the first of them is the next.
	s.Jobs = next
	for _, v := range lately {
		if !slices.ContainsFunc(next, func(n *pasar.JobView) bool { return n.ID == v.ID }) {
			s.Jobs = append(s.Jobs, v)
		}
	}
	if s.Status.Jobs[pasar.Awaiting] > 0 || slices.ContainsFunc(lately, func(v *pasar.JobView) bool { return v.Cloud != nil && v.State.Active() }) {
		b, err := c.Approvals(ctx)
		var e *ipc.Error
		if errors.As(err, &e) && e.Code == ipc.CodeUnsupported {
			return s, nil
		}
		if err == nil {
			err = json.Unmarshal(b, &s.Approvals)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func jobs(ctx context.Context, c *ipc.Client, r ipc.ListRequest) (all []*pasar.JobView, err error) {
	err = c.List(ctx, r, func(lines []byte) error {
		for line := range bytes.Lines(lines) {
			var v pasar.JobView
			if err := json.Unmarshal(line, &v); err != nil {
				return fmt.Errorf("read the daemon's answer: %w", err)
			}
			all = append(all, &v)
		}
		return nil
	})
	return all, err
}

// pictures are the kinds of picture that may stand in for the mascot's, the one that is taken first, first. One of those
// that aren't text may have the name of another of them: a browser sees which it is, and so do we.
var pictures = []struct{ ext, kind string }{
	{".svg", "image/svg+xml"}, {".png", "image/png"}, {".webp", "image/webp"}, {".gif", "image/gif"}, {".jpg", "image/jpeg"},
}

// maxPicture bounds a picture, in bytes.
const maxPicture = 2 << 20

// pictureCSP keeps a picture that somebody opens by itself from doing anything: an SVG is a document.
const pictureCSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

// face answers with the picture of a mood: /mascot/busy.svg, or one that stands in for it.
func (s *Server) face(w http.ResponseWriter, r *http.Request) error {
	file := r.PathValue("file")
	mood := ui.Mood(strings.TrimSuffix(file, path.Ext(file)))
	if slices.Contains(ui.Moods, mood) {
		for _, p := range pictures {
			if p.ext != path.Ext(file) {
				continue
			}
			b, kind := s.faces.read(s, file)
			if b == nil && p.ext == ".svg" {
				b, _ = assets.ReadFile("assets/mascot/" + file)
				kind = p.kind
			}
			if b != nil {
				w.Header().Set("Content-Security-Policy", pictureCSP)
				serveFile(w, r, b, kind)
				return nil
			}
		}
	}
	writeError(w, http.StatusNotFound, refuse(ipc.CodeBadRequest, "`image` of /api/mascot names one", "there is no such picture"))
	return nil
}

// favicon is what browsers ask for by themselves. It is the same in every mood, and so for everybody.
func (s *Server) favicon(w http.ResponseWriter, r *http.Request) error {
	b, err := assets.ReadFile("assets/mascot/" + string(ui.MoodHappy) + ".svg")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", pictureCSP)
	serveFile(w, r, b, "image/svg+xml")
	return nil
}

// faces are the pictures of the user's own. They are looked for each time, so that one that is put there is seen.
type faces struct {
	mu   sync.Mutex // guards said
	said map[string]bool
}

// maxSaid bounds what is remembered of what the log was told.
const maxSaid = 100

// name is the file of a mood: the first there is that stands in, else our own.
func (f *faces) name(s *Server, m ui.Mood) string {
	root := f.open(s)
	if root != nil {
		defer root.Close()
		for _, p := range pictures {
			if file, _, err := picture(root, string(m)+p.ext); err == nil {
				_ = file.Close()
				return string(m) + p.ext
			} else if !errors.Is(err, fs.ErrNotExist) {
				f.say(s, err)
			}
		}
	}
	return string(m) + ".svg"
}

// read is a picture of the user's own and its kind; nil: there is none, or none that can be had.
func (f *faces) read(s *Server, name string) ([]byte, string) {
	root := f.open(s)
	if root == nil {
		return nil, ""
	}
	defer root.Close()
	file, kind, err := picture(root, name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.say(s, err)
		}
		return nil, ""
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxPicture))
	if err != nil {
		f.say(s, err)
		return nil, ""
	}
	return b, kind
}

// open is the directory with the user's own pictures; nil: there is none.
func (f *faces) open(s *Server) *os.Root {
	dir := ""
	if s.Mascots != nil {
		dir = s.Mascots()
	}
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.say(s, fmt.Errorf("mascot_dir: %w", err))
		return nil
	}
	return root
}

// picture opens a file of a directory, if it is a regular one of a size that a picture may have, and a picture by how it
// begins.
func picture(root *os.Root, name string) (*os.File, string, error) {
	lfi, err := root.Lstat(name)
	if err != nil {
		return nil, "", err
	}
	if !lfi.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s is not a regular file", name)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would hold us up
	if err != nil {
		return nil, "", err
	}
	fi, err := file.Stat()
	kind := ""
	switch {
	case err != nil:
	case !os.SameFile(lfi, fi):
		err = fmt.Errorf("%s was just replaced", name)
	case fi.Size() > maxPicture:
		err = fmt.Errorf("%s has %s; at most %s", name, pasar.Bytes(fi.Size()), pasar.Bytes(maxPicture))
	default:
		kind, err = kindOf(io.NewSectionReader(file, 0, maxPicture), name)
	}
	if err != nil {
		_ = file.Close()
		return nil, "", err
	}
	return file, kind, nil
}

// kindOf is the kind of picture that a file is by how it begins.
func kindOf(file io.Reader, name string) (string, error) {
	if path.Ext(name) == ".svg" {
		if !isSVG(file) {
			return "", fmt.Errorf("%s is no SVG, whose first element is svg with xmlns=%q", name, svgNamespace)
		}
		return "image/svg+xml", nil
	}
	head := make([]byte, 512) // what DetectContentType looks at
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	kind := http.DetectContentType(head[:n])
	for _, p := range pictures {
		if p.kind == kind {
			return kind, nil
		}
	}
	return "", fmt.Errorf("%s is no picture: it begins as %s does", name, kind)
}

// svgNamespace is that of SVG's elements. Without it a browser shows nothing of them.
const svgNamespace = "http://www.w3.org/2000/svg"

func isSVG(file io.Reader) bool {
	dec := xml.NewDecoder(file)
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		t, err := dec.RawToken()
		if err != nil {
			return false
		}
		switch t := t.(type) {
		case xml.CharData:
			if strings.TrimLeft(string(t), "\ufeff\t\r\n ") != "" {
				return false
			}
		case xml.StartElement:
			return t.Name.Local == "svg" && slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return a.Value == svgNamespace })
		}
	}
}

// say tells the log, once, why a picture isn't shown.
func (f *faces) say(s *Server, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.said[err.Error()] || len(f.said) >= maxSaid {
		return
	}
	if f.said == nil {
		f.said = map[string]bool{}
	}
	f.said[err.Error()] = true
	s.Log.Warn("pasar's own mascot is shown", "error", err)
}
