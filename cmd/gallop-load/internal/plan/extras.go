package plan

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/feed"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
)

// DataFile names a data file and how its rows are handed out.
type DataFile struct {
	File string
	Mode feed.Mode
}

func (d *DataFile) String() string {
	if d.File == "" || d.Mode == feed.Sequential {
		return d.File
	}
	return d.File + ":" + d.Mode.String()
}

// Set parses FILE or FILE:MODE.
func (d *DataFile) Set(s string) error {
	*d = DataFile{File: s}
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if mode, err := feed.ParseMode(s[i+1:]); err == nil {
			*d = DataFile{s[:i], mode}
		}
	}
	if d.File == "" {
		return errors.New("must be the name of a CSV or JSON file")
	}
	return nil
}

// UnmarshalYAML takes FILE, FILE:MODE, or an object with file and mode.
func (d *DataFile) UnmarshalYAML(n ast.Node) error {
	all, err := entries(n)
	if err != nil {
		return unmarshal(d, n)
	}
	for _, e := range all {
		name, _ := key(e)
		value, err := scalar(e.Value)
		switch {
		case err != nil:
		case name == "file":
			d.File = value
		case name == "mode":
			d.Mode, err = feed.ParseMode(value)
		default:
			err = errors.New("a data file has file and mode, but not " + name)
		}
		if err != nil {
			return at(e.Value, err)
		}
	}
	if d.File == "" {
		return at(n, errors.New("a data file needs the key file"))
	}
	return nil
}

// Thresholds are conditions for the result.
type Thresholds []*threshold.Threshold

func (t *Thresholds) String() string { return "" }

// Set adds a threshold, METRIC:EXPR.
func (t *Thresholds) Set(s string) error {
	parsed, err := threshold.ParseLine(s)
	if err != nil {
		return errors.New("is wrong: " + err.Error())
	}
	*t = append(*t, parsed)
	return nil
}

// UnmarshalYAML takes a list of METRIC:EXPR, or metrics with one or several expressions. An expression is a text or, as in k6,
// an object with threshold, abortOnFail and delayAbortEval.
func (t *Thresholds) UnmarshalYAML(n ast.Node) error {
	all, err := entries(n)
	if err != nil {
		for _, item := range items(n) {
			if err := unmarshal(t, item); err != nil {
				return err
			}
		}
		return nil
	}
	for _, e := range all {
		metric, err := key(e)
		if err != nil {
			return err
		}
		for _, item := range items(e.Value) {
			parsed, err := thresholdOf(metric, item)
			if err != nil {
				return at(item, err)
			}
			*t = append(*t, parsed)
		}
	}
	return nil
}

func thresholdOf(metric string, n ast.Node) (*threshold.Threshold, error) {
	all, err := entries(n)
	if err != nil {
		expr, err := scalar(n)
		if err != nil {
			return nil, err
		}
		return threshold.Parse(metric, expr)
	}
	var expr string
	var abort bool
	var delay Duration
	for _, e := range all {
		name, _ := key(e)
		value, err := scalar(e.Value)
		if err != nil {
			return nil, err
		}
		switch name {
		case "threshold":
			expr = value
		case "abortOnFail", "abort-on-fail":
			abort = value == "true"
		case "delayAbortEval", "delay-abort-eval":
			err = delay.Set(value)
		default:
			err = errors.New("a threshold has threshold, abortOnFail and delayAbortEval, but not " + name)
		}
		if err != nil {
			return nil, err
		}
	}
	parsed, err := threshold.Parse(metric, expr)
	if err == nil {
		parsed.Abort, parsed.Delay = abort, delay.Duration
	}
	return parsed, err
}
