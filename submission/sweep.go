package submission

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"pasar"
)

// A Param is a parameter of a sweep, and the values that it takes in turn.
type Param struct {
	Name   string
	Values []string
}

// ParseParams reads each NAME=V1,V2. Values are split at commas by the rules of CSV, so that one in double
// quotes may hold a comma; a name that comes again has more values.
func ParseParams(words []string) ([]Param, error) {
	const form = `write --param lr=1e-5,3e-5; a value with a comma stands in double quotes: --param 'layers="2,4",8'`
	var params []Param
	for _, w := range words {
		name, list, ok := strings.Cut(w, "=")
		if !ok {
			return nil, refusef("--param %q has no values", pasar.Clean(w)).with(form)
		}
		if err := ParamName("--param", name); err != nil {
			return nil, err
		}
		values := []string{""}
		if list != "" {
			r := csv.NewReader(strings.NewReader(list))
			r.LazyQuotes = true
			var err error
			if values, err = r.Read(); err != nil {
				return nil, refusef("--param %s: the values can't be read", name).with(form)
			}
			if _, err := r.Read(); !errors.Is(err, io.EOF) {
				return nil, refusef("--param %s: a value with a line break stands in double quotes", name)
			}
		}
		i := indexParam(params, name)
		if i < 0 {
			i = len(params)
			params = append(params, Param{Name: name})
		}
		params[i].Values = append(params[i].Values, values...)
	}
	return params, nil
}

// ParamName says what is wrong with a parameter's name, and where it stands.
func ParamName(where, name string) error {
	switch {
	case name == "index":
		return refusef("%s: index is the index of an --array", where).with("give the parameter another name")
	case !pasar.IsParamName(name):
		return refusef("%s: %q can't be a parameter's name", where, pasar.Clean(name)).with("a name has letters, digits and _, and doesn't begin with a digit")
	}
	return nil
}

func indexParam(params []Param, name string) int {
	return slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
}

// Points is the cross product of an array's indices, a file's rows and each parameter's values, in the order
// given: what comes last changes fastest. None of them: no points, and one job.
func Points(indices []int, rows [][]pasar.Param, params []Param) ([]pasar.Point, error) {
	if len(indices) == 0 && len(rows) == 0 && len(params) == 0 {
		return nil, nil
	}
	n := max(1, len(indices)) * max(1, len(rows)) // each is at most MaxPoints
	for _, p := range params {
		if len(p.Values) == 0 {
			return nil, refusef("--param %s has no values", p.Name)
		}
		if n *= len(p.Values); n > pasar.MaxPoints {
			break
		}
	}
	if n > pasar.MaxPoints {
		return nil, refusef("more than %d jobs in one submit", pasar.MaxPoints).with("a sweep has a job for each combination of its values")
	}
	if len(rows) > 0 {
		for _, p := range rows[0] {
			if indexParam(params, p.Name) >= 0 {
				return nil, refusef("%s comes from --param and from --param-file", p.Name)
			}
		}
		if len(rows[0])+len(params) > pasar.MaxParams {
			return nil, refusef("more than %d parameters", pasar.MaxParams)
		}
	}
	if len(rows) == 0 {
		rows = [][]pasar.Param{nil}
	}
	out := make([]pasar.Point, 0, n)
	each := func(index *int) {
		for _, row := range rows {
			out = cross(out, pasar.Point{Index: index, Params: row}, params)
		}
	}
	if len(indices) == 0 {
		each(nil)
	}
	for i := range indices {
		each(&indices[i])
	}
	return out, nil
}

func cross(out []pasar.Point, at pasar.Point, params []Param) []pasar.Point {
	if len(params) == 0 {
		return append(out, at)
	}
	for _, v := range params[0].Values {
		next := pasar.Point{Index: at.Index, Params: append(at.Params[:len(at.Params):len(at.Params)], pasar.Param{Name: params[0].Name, Value: v})}
		out = cross(out, next, params[1:])
	}
	return out
}
