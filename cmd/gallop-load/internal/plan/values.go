package plan

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// The types below are the values of scenario files and of flags. They parse both with the same function: Set takes the text of
// a flag, and UnmarshalYAML the text of a scalar (nodes.go).

// Duration is a duration with its unit, such as 500ms or 1m30s. A bare number is in seconds. Given says that it was set, even
// if to zero.
type Duration struct {
	time.Duration
	Given bool
}

// Of returns a Duration that was set.
func Of(d time.Duration) Duration { return Duration{d, true} }

func (d *Duration) String() string {
	if !d.Given {
		return ""
	}
	return shortDuration(d.Duration)
}

func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Set parses a duration.
func (d *Duration) Set(s string) error {
	parsed, err := parseDuration(s)
	if err != nil {
		return errors.New("must be a duration such as 30s, 1m30s or 500ms, not " + strconv.Quote(s))
	}
	*d = Duration{parsed, true}
	return nil
}

func parseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return d, err
}

func (d *Duration) UnmarshalYAML(node ast.Node) error { return unmarshal(d, node) }

// Span is a pause: a duration, or two for a random one between them, such as 1s-3s.
type Span struct{ Min, Max time.Duration }

func (p *Span) String() string {
	switch {
	case *p == Span{}:
		return ""
	case p.Min == p.Max:
		return shortDuration(p.Min)
	}
	return shortDuration(p.Min) + "-" + shortDuration(p.Max)
}

// Set parses a pause.
func (p *Span) Set(s string) error {
	low, high, ranged := strings.Cut(s, "-")
	if !ranged {
		high = low
	}
	from, err1 := parseDuration(low)
	to, err2 := parseDuration(high)
	if err1 != nil || err2 != nil || from > to {
		return errors.New("must be a duration such as 500ms, or two such as 1s-3s, not " + strconv.Quote(s))
	}
	*p = Span{from, to}
	return nil
}

func (p *Span) UnmarshalYAML(node ast.Node) error { return unmarshal(p, node) }

// Rate is a number of iterations per unit of time, such as 500, 500/s or 30/m. The unit is 1 s unless it is part of the rate.
type Rate struct {
	Count float64
	Unit  time.Duration // 0 if the rate has no unit
}

func (r *Rate) String() string {
	if r.Count == 0 {
		return ""
	}
	s := strconv.FormatFloat(r.Count, 'f', -1, 64)
	if r.Unit != 0 {
		s += "/" + strings.TrimPrefix(shortDuration(r.Unit), "1")
	}
	return s
}

// Set parses a rate.
func (r *Rate) Set(s string) error {
	number, unit, hasUnit := strings.Cut(s, "/")
	count, err := number64(number)
	parsed := Rate{Count: count}
	if hasUnit && err == nil {
		if unit = strings.TrimSpace(unit); unit == strings.TrimLeft(unit, "0123456789.") {
			unit = "1" + unit
		}
		parsed.Unit, err = time.ParseDuration(unit)
	}
	if err != nil || hasUnit && parsed.Unit <= 0 {
		return errors.New("must be a rate such as 500, 500/s, 2k or 30/m, not " + strconv.Quote(s))
	}
	*r = parsed
	return nil
}

// number64 parses a number with an SI unit, such as 2k.
func number64(s string) (float64, error) {
	s = strings.TrimSpace(s)
	factor := 1.0
	for unit, f := range map[string]float64{"k": 1e3, "M": 1e6} {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s, factor = rest, f
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && (n < 0 || math.IsNaN(n) || n*factor > 1e12) {
		err = errors.New("out of range")
	}
	return n * factor, err
}

func (r *Rate) UnmarshalYAML(node ast.Node) error { return unmarshal(r, node) }

// perSecond returns the rate per second. The default unit applies to rates without one.
func (r Rate) perSecond(unit time.Duration) float64 {
	if r.Unit != 0 {
		unit = r.Unit
	}
	return r.Count / unit.Seconds()
}

// Count is a whole number, perhaps with an SI unit, such as 10k.
type Count int64

func (c *Count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*c), 10)
}

// Set parses a number.
func (c *Count) Set(s string) error {
	n, err := number64(s)
	if err != nil || n != math.Trunc(n) {
		return errors.New("must be a whole number such as 100 or 10k, not " + strconv.Quote(s))
	}
	*c = Count(n)
	return nil
}

func (c *Count) UnmarshalYAML(node ast.Node) error { return unmarshal(c, node) }

// Stages are the stages of a ramp, such as 30s:100 or 1m:500/s.
type Stages []Stage

// Stage is a stage: until its end, the number of users or the rate moves to Target.
type Stage struct {
	Duration Duration `yaml:"duration"`
	Target   Rate     `yaml:"target"`
}

func (s *Stages) String() string {
	all := make([]string, len(*s))
	for i, st := range *s {
		target := cmpString(st.Target.String(), "0")
		all[i] = shortDuration(st.Duration.Duration) + ":" + target
	}
	return strings.Join(all, ",")
}

func cmpString(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Set adds a stage, or several that are separated by commas.
func (s *Stages) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		duration, target, ok := strings.Cut(part, ":")
		var st Stage
		if !ok || st.Duration.Set(duration) != nil || st.Target.Set(target) != nil {
			return errors.New("must be stages such as 30s:100 (users) or 30s:100/s (rate), not " + strconv.Quote(text))
		}
		*s = append(*s, st)
	}
	return nil
}

// Strings is a list of texts. A scenario file may have a single text instead of a list.
type Strings []string

func (l *Strings) String() string { return strings.Join(*l, ", ") }

// Set adds a text.
func (l *Strings) Set(s string) error { *l = append(*l, s); return nil }

// Pairs is an ordered list of names and values, such as headers. Names may repeat.
type Pairs []Pair

// Pair is a name with a value.
type Pair struct{ Name, Value string }

func (p *Pairs) String() string {
	all := make([]string, len(*p))
	for i, pair := range *p {
		all[i] = pair.Name + ": " + pair.Value
	}
	return strings.Join(all, ", ")
}

// Set adds a pair, NAME:VALUE or NAME=VALUE.
func (p *Pairs) Set(s string) error {
	i := strings.IndexAny(s, ":=")
	if i <= 0 {
		return errors.New("must be NAME:VALUE, not " + strconv.Quote(s))
	}
	*p = append(*p, Pair{strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])})
	return nil
}

// Map returns the pairs as a map. The map of an empty list is nil.
func (p Pairs) Map() map[string]string {
	if len(p) == 0 {
		return nil
	}
	m := make(map[string]string, len(p))
	for _, pair := range p {
		m[pair.Name] = pair.Value
	}
	return m
}
