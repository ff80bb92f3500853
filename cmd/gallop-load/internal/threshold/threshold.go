// Package threshold has conditions for the result of a run, in the grammar of k6: a metric, perhaps with tags, and an expression
// such as p(95)<500.
//
//	threshold.go   the grammar
//	metric.go      the metrics, and which aggregations each has
//	value.go       computing the value of a threshold from a result
package threshold

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Threshold is a condition for a metric.
type Threshold struct {
	Metric string            // as written, with its tags in braces
	Expr   string            // as written
	Abort  bool              // a violation ends the run
	Delay  time.Duration     // how long after the start violations cannot end the run
	Tags   map[string]string // requests must have these tags

	metric   *metric
	agg      string  // avg, min, max, med, p, count, rate, value
	quantile float64 // of p
	op       string
	limit    float64
}

var (
	metricShape = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\s*(?:\{(.*)\})?$`)
	exprShape   = regexp.MustCompile(`^(?:(avg|min|max|med|count|rate|value)|p\(\s*([0-9.]+)\s*\)|p([0-9.]+))\s*(<=|>=|===|==|!=|<|>)\s*([-+0-9.eE]+)\s*([A-Za-zµ%]*)$`)
)

// Parse parses a threshold. Values of durations are in milliseconds unless they have a unit.
func Parse(name, expr string) (*Threshold, error) {
	m := metricShape.FindStringSubmatch(strings.TrimSpace(name))
	if m == nil {
		return nil, fmt.Errorf("threshold %q: a metric looks like http_req_duration or http_req_duration{name:hello}", name)
	}
	t := &Threshold{Metric: strings.TrimSpace(name), Expr: strings.TrimSpace(expr)}
	if t.metric = metrics[m[1]]; t.metric == nil {
		return nil, fmt.Errorf("threshold %q: there is no metric %s; there are %s", name, m[1], strings.Join(Metrics(), ", "))
	}
	if err := t.parseTags(m[2]); err != nil {
		return nil, fmt.Errorf("threshold %q: %w", name, err)
	}
	if err := t.parseExpr(); err != nil {
		return nil, fmt.Errorf("threshold %s %q: %w", name, expr, err)
	}
	return t, nil
}

// ParseLine parses a threshold of a command line, METRIC:EXPR or METRIC EXPR.
func ParseLine(line string) (*Threshold, error) {
	end := strings.IndexByte(line, '}') + 1
	if brace := strings.IndexByte(line, '{'); brace < 0 || strings.ContainsAny(line[:brace], "<>=") {
		end = 0
	}
	i := strings.IndexAny(line[end:], ": ")
	if i < 0 {
		return nil, fmt.Errorf("threshold %q: write METRIC:EXPR, such as http_req_duration:p(95)<500", line)
	}
	return Parse(line[:end+i], strings.TrimLeft(line[end+i:], ": "))
}

// Metrics returns the names of all metrics.
func Metrics() []string { return slices.Sorted(maps.Keys(metrics)) }

// parseTags parses name:hello,scenario:browse.
func (t *Threshold) parseTags(source string) error {
	for pair := range strings.SplitSeq(source, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, ":")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		if !ok || key == "" {
			return fmt.Errorf("a tag looks like {name:hello}, not %q", pair)
		}
		if !t.metric.hasTag(key) {
			return fmt.Errorf("the metric has no tag %s", key)
		}
		if t.Tags == nil {
			t.Tags = map[string]string{}
		}
		t.Tags[key] = value
	}
	return nil
}

func (t *Threshold) parseExpr() error {
	m := exprShape.FindStringSubmatch(t.Expr)
	if m == nil {
		return fmt.Errorf("an expression is an aggregation, an operator and a value, such as p(95)<500 or rate<1%%")
	}
	t.agg, t.op = m[1], m[4]
	if percentile := m[2] + m[3]; percentile != "" {
		p, err := strconv.ParseFloat(percentile, 64)
		if err != nil || p < 0 || p > 100 {
			return fmt.Errorf("a percentile is a number from 0 to 100, not %s", percentile)
		}
		t.agg, t.quantile = "p", p/100
	}
	if known := t.metric.kind.aggregations(); !slices.Contains(known, t.agg) {
		return fmt.Errorf("the metric has %s, but not %s", strings.Join(known, ", "), t.agg)
	}
	value, err := strconv.ParseFloat(m[5], 64)
	unit, ok := t.metric.units()[m[6]]
	if err != nil || !ok {
		return fmt.Errorf("%q is no value of this metric", m[5]+m[6])
	}
	t.limit = value * unit
	return nil
}

// Holds reports whether a value meets the condition.
func (t *Threshold) Holds(value float64) bool {
	switch t.op {
	case "<":
		return value < t.limit
	case "<=":
		return value <= t.limit
	case ">":
		return value > t.limit
	case ">=":
		return value >= t.limit
	case "!=":
		return value != t.limit
	}
	return value == t.limit
}

// About reports whether the threshold is about a metric, whatever its tags.
func (t *Threshold) About(name string) bool { return t.metric == metrics[name] }

// Margin returns how far a value is from the limit, as a fraction of the limit. It is negative if the value violates the
// threshold.
func (t *Threshold) Margin(value float64) float64 {
	margin := math.Abs(t.limit - value)
	if t.limit != 0 {
		margin /= math.Abs(t.limit)
	}
	if !t.Holds(value) {
		margin = -margin
	}
	return margin
}
