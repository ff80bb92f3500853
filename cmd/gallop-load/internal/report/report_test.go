package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/load/result"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s, line %d:\ngot  %q\nwant %q", name, i+1, g[i], w[i])
			return
		}
	}
	t.Errorf("%s: %d lines, not %d", name, len(g), len(w))
}

func TestJudge(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*result.Result)
		state  State
		reason string
	}{
		"good":      {func(*result.Result) {}, Passed, ""},
		"saturated": {func(r *result.Result) { r.Generator.Saturated = true }, Doubtful, "generator was saturated"},
		"by hand":   {func(r *result.Result) { r.ByHand = true }, Doubtful, "by hand"},
		"warning":   {func(r *result.Result) { r.Warnings = []string{"hm"} }, Doubtful, "hm"},
		"counts":    {func(r *result.Result) { r.Series[0].Sent++ }, Doubtful, "negotiate: 10 requests were sent, but 9 have an outcome"},
		"threshold": {func(r *result.Result) {
			r.Warnings = []string{"hm"}
			r.Thresholds = []result.Threshold{{Metric: "http_req_duration", Expr: "p(95)<1", Value: 1.25}}
		}, Failed, "threshold http_req_duration p(95)<1: the value is 1.25ms"},
		"threshold that holds": {func(r *result.Result) { r.Thresholds = []result.Threshold{{OK: true}} }, Passed, ""},
	} {
		r := &result.Result{Series: []*result.Series{{Name: "negotiate", Sent: 9, Done: 4, Failed: 3, Aborted: 2}}}
		row.change(r)
		if v := Judge(r); v.State != row.state || !strings.Contains(strings.Join(v.Reasons, "\n"), row.reason) || (row.reason == "") != (len(v.Reasons) == 0) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A reason that a warning explains is said once.
func TestJudgeOnce(t *testing.T) {
	r := &result.Result{ByHand: true, Generator: result.Generator{Saturated: true}, Warnings: []string{
		"the generator was late by 2ms at p99, which is more than a tenth of the p99 latency of 9ms: latencies include its own delays",
		"the run was paused or its rate was changed by hand",
	}}
	if v := Judge(r); v.State != Doubtful || len(v.Reasons) != 2 {
		t.Errorf("%+v", v)
	}
}
