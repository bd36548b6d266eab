package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "pasar/"+pasar.Version)
	res, err := c.http.Do(r)
	if err != nil {
		var u *url.Error // it names the whole address and the method, which say nothing here
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxAnswer {
		return nil, errTooLong
	}
	found, err := decode(b)
	if err != nil && res.StatusCode != http.StatusOK {
		var said *saidError
		if !errors.As(err, &said) { // a page of something else
			err = fmt.Errorf("it answers %s", pasar.Clean(res.Status))
		}
	}
	return found, err
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
		return nil, &saidError{text}
	case a.Status != "success" || a.Data.Type != "matrix":
		return nil, errors.New("the answer isn't that of a Prometheus")
	}
	return a.Data.Result, nil
}
