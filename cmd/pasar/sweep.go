package main

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/jobfile"
	"pasar/submission"
)

// maxParamFile bounds a --param-file, in bytes: a submit has to fit one frame.
const maxParamFile = 2 << 20

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
		if err := submission.ParamName("the heading", names[i]); err != nil {
			return nil, badFile(path, 1, err.Error())
		}
		if slices.Contains(names[:i], names[i]) {
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
