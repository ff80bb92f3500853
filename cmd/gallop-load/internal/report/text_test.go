package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
)

func text(t *testing.T, r *result.Result, style figure.Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	golden(t, "closed.txt", []byte(text(t, resulttest.Closed(), false)))
	golden(t, "open.txt", []byte(text(t, resulttest.Open(), false)))
	golden(t, "open-color.txt", []byte(text(t, resulttest.Open(), true)))
}

// The lines of k6's summary, in its order.
func TestTextHasTheLinesOfK6(t *testing.T) {
	want := []string{"data_received", "data_sent", "http_req_blocked", "http_req_connecting", "http_req_duration",
		"{ expected_response:true }", "http_req_failed", "http_req_receiving", "http_req_sending", "http_req_tls_handshaking",
		"http_req_waiting", "http_reqs", "iteration_duration", "iterations", "vus", "vus_max"}
	out := text(t, resulttest.Closed(), false)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ {5,7}([a-z{].*?)\.*: `).FindAllStringSubmatch(out, len(want)) {
		names = append(names, m[1])
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("lines %q", names)
	}
	for _, line := range []string{
		"\n     http_req_failed................: 40.00% ✓ 12000       ✗ 18000\n",
		"\nrunning (0m30.0s), 00/25 VUs, 30000 complete and 0 interrupted iterations\n",
		"\n     latency from: send (closed loop: waiting is not counted)\n",
		"\ndefault ✓ [======================================] 25 VUs  30s\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}

// Percentiles that the number of requests does not resolve are left out.
func TestTextShowsResolvedPercentiles(t *testing.T) {
	for n, want := range map[int]string{50: "p90 max", 500: "p90 p99 max", 5_000: "p90 p99 p99.9 max", 50_000: "p90 p99 p99.9 p99.99 max"} {
		r := resulttest.Closed()
		s := result.NewSeries("default", "one")
		for i := range n {
			s.Response.Add(time.Duration(i+1) * time.Microsecond)
		}
		r.Series = []*result.Series{s}
		head := regexp.MustCompile(`LATENCY +min +p50 +(.*)\n`).FindStringSubmatch(text(t, r, false))
		if head == nil || strings.Join(strings.Fields(head[1]), " ") != want {
			t.Errorf("%d requests: columns %q, not %s", n, head, want)
		}
	}
}

func TestTextWithoutRequests(t *testing.T) {
	r := &result.Result{Schema: result.Schema, Tool: result.Tool{Engine: "raw"}}
	out := text(t, r, false)
	if strings.Contains(out, "NaN") || strings.Contains(out, "Inf") || !strings.Contains(out, "running (0m00.0s), 0/0 VUs, 0 complete") {
		t.Error(out)
	}
}

// Nothing that a target sends reaches the terminal as a control character.
func TestTextFromAHostileTarget(t *testing.T) {
	out := text(t, hostile(), false)
	for _, c := range out {
		if c != '\n' && (c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u202e') {
			t.Fatalf("control character %q in\n%q", c, out)
		}
	}
	if !strings.Contains(out, `\x1b]0;owned\a`) {
		t.Error("the example is not shown with escapes")
	}
}

const attack = "<script>alert(1)</script>\x1b]0;owned\a\"'><img src=x onerror=alert(2)>\u202e\x9b2J{{.}}</style></svg>\r\n"

// hostile returns a result with an attack in every string.
func hostile() *result.Result {
	r := resulttest.Open()
	r.Tool = result.Tool{Name: attack, Version: attack, Go: attack, Engine: "raw"}
	r.Host.OS, r.Host.Kernel, r.Host.CPU = attack, attack, attack
	r.Target = result.Target{URL: "javascript:alert(3)//" + attack, Proto: attack, TLS: attack, Peer: attack}
	r.Plan.Name = attack
	for _, s := range r.Series {
		s.Name += attack
		s.Method, s.Proto, s.Tags = attack, attack, map[string]string{attack: attack}
		for i := range s.Errors {
			s.Errors[i].Kind, s.Errors[i].Example = attack, attack
		}
		for i := range s.Checks {
			s.Checks[i].Name, s.Checks[i].Example = attack, attack
		}
	}
	r.Scenarios[0].Name, r.Scenarios[0].Executor = attack, attack
	r.Thresholds[0].Metric, r.Thresholds[0].Expr = attack, attack
	r.Warnings = []string{attack}
	return r
}
