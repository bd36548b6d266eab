package prometheus

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pasar"
)

// maxAnswer bounds an answer, in bytes: all points, each with its time and value in some forty.
const maxAnswer = 4 << 20

// An answer is what Prometheus says to a query over a range.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string   `json:"resultType"`
		Result []series `json:"result"`
	} `json:"data"`
}

// A series is one GPU's.
type series struct {
	Labels struct {
		UUID string `json:"uuid"`
	} `json:"metric"`
	Values []value `json:"values"`
}

// A value is one of a series.
type value struct {
	at float64 // Unix time
	v  float64 // not a number: there is none
}

// UnmarshalJSON reads [1435781430.781, "12"].
func (v *value) UnmarshalJSON(b []byte) error {
	var word string
	pair := []any{&v.at, &word}
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a value isn't a time and a number")
	}
	var err error
	if v.v, err = strconv.ParseFloat(word, 64); err != nil {
		return fmt.Errorf("the value %q is no number", pasar.Clean(word[:min(len(word), 40)]))
	}
	return nil
}

// ask makes one query.
func (c *Client) ask(ctx context.Context, base, query string, g grid) ([]series, error) {
	form := url.Values{"query": {query}, "start": {stamp(g, 0)}, "end": {stamp(g, g.n-1)}, "step": {strconv.FormatFloat(g.step.Seconds(), 'f', -1, 64)},
		"timeout": {strconv.Itoa(int(answerTime.Seconds())) + "s"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(base, "/")+"/api/v1/query_range", strings.NewReader(form.Encode()))
	if err != nil || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, errors.New("that is no address that can be asked")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "pasar/"+pasar.Version)
	res, err := c.http.Do(r)
	if err != nil {
		return nil, inWords(err)
	}
	defer res.Body.Close()
	answers := strings.TrimSpace(fmt.Sprintf("it answers %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	if res.StatusCode/100 == 3 {
		return nil, errors.New(answers + ", which isn't followed")
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, inWords(err)
	}
	if len(b) > maxAnswer {
		return nil, errTooLong
	}
	found, err := decode(b)
	if err != nil && res.StatusCode != http.StatusOK {
		var said *saidError
		if !errors.As(err, &said) { // a page of something else
			err = errors.New(answers)
		}
	}
	return found, err
}

// inWords says plainly why nothing could be asked. What the other end sent isn't repeated: it may be anything.
func inWords(err error) error {
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var op *net.OpError
	is := func(list ...error) bool {
		return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case is(context.Canceled, context.DeadlineExceeded):
		return err
	case is(syscall.ECONNREFUSED):
		return errors.New("it refused the connection")
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		return errors.New("it broke the connection off")
	case errors.As(err, &name):
		return errors.New("there is no address for its name")
	case is(http.ErrSchemeMismatch):
		return errors.New("it answers HTTP, not HTTPS")
	case errors.As(err, &cert):
		return errors.New("its certificate can't be trusted")
	case errors.As(err, &record), errors.As(err, &alert):
		return errors.New("it answers no HTTPS")
	case errors.As(err, &op):
		return errors.New("it can't be reached")
	}
	return errors.New("it answers no HTTP")
}

// stamp is the time of a point as Prometheus reads it.
func stamp(g grid, i int) string {
	return strconv.FormatFloat(float64(g.at(i).UnixMilli())/1000, 'f', 3, 64)
}

// A saidError is Prometheus's own.
type saidError struct{ text string }

func (e *saidError) Error() string { return "it says: " + e.text }

// maxSaid bounds what is passed on of an error, in bytes.
const maxSaid = 300

// decode reads an answer. It comes from elsewhere and may be anything.
func decode(b []byte) ([]series, error) {
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, errors.New("the answer isn't that of a Prometheus")
	}
	switch {
	case a.Status == "error":
		text := pasar.Clean(strings.ToValidUTF8(a.Error[:min(len(a.Error), maxSaid)], ""))
		return nil, &saidError{strings.ToValidUTF8(text[:min(len(text), maxSaid)], "")}
	case a.Status != "success" || a.Data.Type != "matrix":
		return nil, errors.New("the answer isn't that of a Prometheus")
	}
	return a.Data.Result, nil
}
