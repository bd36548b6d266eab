package main

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/jobfile"
)

// maxParamFile bounds a --param-file, in bytes: a submit has to fit one frame.
const maxParamFile = 2 << 20

// A sweepParam is one --param: a name and the values that it takes in turn.
type sweepParam struct {
	name   string
	values []string
}

// parseParams reads each NAME=V1,V2. Values are split at commas by the rules of CSV, so that one in double
// quotes may hold a comma; a name that comes again has more values.
func parseParams(words []string) ([]sweepParam, error) {
	const form = `write --param lr=1e-5,3e-5; a value with a comma stands in double quotes: --param 'layers="2,4",8'`
	var params []sweepParam
	for _, w := range words {
		name, list, ok := strings.Cut(w, "=")
		if !ok {
			return nil, usagef("--param %q has no values", pasar.Clean(w)).hint(form)
		}
		if !pasar.IsParamName(name) {
			return nil, badParamName("--param", name)
		}
		values := []string{""}
		if list != "" {
			r := csv.NewReader(strings.NewReader(list))
			r.LazyQuotes = true
			var err error
			if values, err = r.Read(); err != nil {
				return nil, usagef("--param %s: the values can't be read", name).hint(form)
			}
			if _, err := r.Read(); !errors.Is(err, io.EOF) {
				return nil, usagef("--param %s: a value with a line break stands in double quotes", name)
			}
		}
		i := indexParam(params, name)
		if i < 0 {
			i = len(params)
			params = append(params, sweepParam{name: name})
		}
		params[i].values = append(params[i].values, values...)
	}
	return params, nil
}

func badParamName(where, name string) error {
	if name == "index" {
		return usagef("%s: index is the index of an --array", where).hint("give the parameter another name")
	}
	return usagef("%s: %q can't be a parameter's name", where, pasar.Clean(name)).hint("a name has letters, digits and _, and doesn't begin with a digit")
}

func indexParam(params []sweepParam, name string) int {
	for i, p := range params {
		if p.name == name {
			return i
		}
	}
	return -1
}

// readParamFile reads a CSV file: a heading with names, then a row of values for each point.
func readParamFile(path string) ([][]pasar.Param, error) {
	f, err := jobfile.Open(path)
	if err != nil {
		return nil, badFile(path, 0, fileFault(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxParamFile+1))
	switch {
	case err != nil:
		return nil, badFile(path, 0, fileFault(err))
	case len(b) > maxParamFile:
		return nil, badFile(path, 0, "it is larger than "+pasar.Bytes(maxParamFile).String())
	}
	return parseParamFile(path, string(b))
}

func parseParamFile(path, text string) ([][]pasar.Param, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	r.TrimLeadingSpace, r.Comment = true, '#'
	names, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, badFile(path, 1, "it is empty; the first line names the parameters")
	}
	if err != nil {
		return nil, badCSV(path, err)
	}
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
		if !pasar.IsParamName(names[i]) {
			return nil, badFile(path, 1, badParamName("the heading", names[i]).Error())
		}
		if indexOf(names[:i], names[i]) >= 0 {
			return nil, badFile(path, 1, names[i]+" is there twice")
		}
	}
	if len(names) > pasar.MaxParams {
		return nil, badFile(path, 1, "more parameters than "+pasar.JobID(pasar.MaxParams).String())
	}
	var rows [][]pasar.Param
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badCSV(path, err)
		}
		row := make([]pasar.Param, len(rec))
		for i, v := range rec {
			if strings.IndexByte(v, 0) >= 0 {
				line, _ := r.FieldPos(i)
				return nil, badFile(path, line, names[i]+" holds a NUL byte")
			}
			row[i] = pasar.Param{Name: names[i], Value: v}
		}
		if rows = append(rows, row); len(rows) > pasar.MaxPoints {
			line, _ := r.FieldPos(0)
			return nil, badFile(path, line, "more rows than "+pasar.JobID(pasar.MaxPoints).String())
		}
	}
	if len(rows) == 0 {
		return nil, badFile(path, 1, "there is no row under the heading")
	}
	return rows, nil
}

func indexOf(words []string, w string) int {
	for i, x := range words {
		if x == w {
			return i
		}
	}
	return -1
}

func badCSV(path string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return badFile(path, p.Line, p.Err.Error())
	}
	return badFile(path, 0, err.Error())
}

// badFile is a mistake in a file that the command line names.
func badFile(path string, line int, what string) error {
	if line > 0 {
		return problemf(ipc.CodeBadInput, "%s:%d: %s", pasar.Clean(path), line, what)
	}
	return problemf(ipc.CodeBadInput, "%s: %s", pasar.Clean(path), what)
}

// fileFault is an error of the file system without the path, which stands before it.
func fileFault(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// points is the cross product of an array's indices, a file's rows and each parameter's values, in the order
// given: what comes last changes fastest. None of them: no points, and one job.
func points(indices []int, rows [][]pasar.Param, params []sweepParam) ([]pasar.Point, error) {
	if len(indices) == 0 && len(rows) == 0 && len(params) == 0 {
		return nil, nil
	}
	n := max(1, len(indices)) * max(1, len(rows)) // each is at most MaxPoints
	for _, p := range params {
		if n *= len(p.values); n > pasar.MaxPoints {
			break
		}
	}
	if n > pasar.MaxPoints {
		return nil, usagef("more than %d jobs in one submit", pasar.MaxPoints).hint("a sweep has a job for each combination of its values")
	}
	if len(rows) > 0 {
		for _, p := range rows[0] {
			if indexParam(params, p.Name) >= 0 {
				return nil, usagef("%s comes from --param and from --param-file", p.Name)
			}
		}
		if len(rows[0])+len(params) > pasar.MaxParams {
			return nil, usagef("more than %d parameters", pasar.MaxParams)
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

func cross(out []pasar.Point, at pasar.Point, params []sweepParam) []pasar.Point {
	if len(params) == 0 {
		return append(out, at)
	}
	for _, v := range params[0].values {
		next := pasar.Point{Index: at.Index, Params: append(at.Params[:len(at.Params):len(at.Params)], pasar.Param{Name: params[0].name, Value: v})}
		out = cross(out, next, params[1:])
	}
	return out
}
