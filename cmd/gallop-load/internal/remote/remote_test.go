package remote

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// field is a field of a protocol buffer.
type field struct {
	number int
	bytes  []byte
	fixed  uint64
}

// fields reads a protocol buffer. It fails the test if the buffer is malformed.
func fields(t *testing.T, data []byte) (all []field) {
	t.Helper()
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			t.Fatal("malformed tag")
		}
		data = data[n:]
		f := field{number: int(tag >> 3)}
		switch tag & 7 {
		case 0:
			f.fixed, n = binary.Uvarint(data)
		case 1:
			f.fixed, n = binary.LittleEndian.Uint64(data), 8
		case 2:
			length, m := binary.Uvarint(data)
			f.bytes, n = data[m:m+int(length)], m+int(length)
		default:
			t.Fatalf("wire type %d", tag&7)
		}
		if n <= 0 {
			t.Fatal("malformed value")
		}
		data = data[n:]
		all = append(all, f)
	}
	return all
}

// decode reads a WriteRequest as samples by metric, written like name{label="value",…}.
func decode(t *testing.T, body []byte) map[string][]Sample {
	t.Helper()
	plain, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]Sample{}
	for _, series := range fields(t, plain) {
		var labels []Label
		var samples []Sample
		for _, f := range fields(t, series.bytes) {
			inner := fields(t, f.bytes)
			if f.number == 1 {
				labels = append(labels, Label{string(inner[0].bytes), string(inner[1].bytes)})
			} else {
				samples = append(samples, Sample{time.UnixMilli(int64(inner[1].fixed)).UTC(), math.Float64frombits(inner[0].fixed)})
			}
		}
		if !slices.IsSortedFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Errorf("labels %v are not sorted", labels)
		}
		if !slices.IsSortedFunc(samples, func(a, b Sample) int { return a.Time.Compare(b.Time) }) {
			t.Errorf("samples of %v are not in order", labels)
		}
		var name string
		var rest []string
		for _, l := range labels {
			if l.Name == "__name__" {
				name = l.Value
			} else {
				rest = append(rest, fmt.Sprintf("%s=%q", l.Name, l.Value))
			}
		}
		all[name+"{"+strings.Join(rest, ",")+"}"] = samples
	}
	return all
}

// receiver is an endpoint that answers with statuses in turn, then with 204.
type receiver struct {
	*httptest.Server
	statuses []int
	requests []*http.Request
	metrics  []map[string][]Sample
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	r := &receiver{statuses: statuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		r.requests = append(r.requests, request)
		if n := len(r.requests); n <= len(r.statuses) {
			w.WriteHeader(r.statuses[n-1])
			io.WriteString(w, "no\x1b[2J room")
			return
		}
		r.metrics = append(r.metrics, decode(t, body))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) writer(t *testing.T, o Options) *Writer {
	t.Helper()
	o.URL, o.Wait = r.URL+"/api/v1/write", time.Millisecond
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTimeline(t *testing.T) {
	r := resulttest.Open()
	line := NewTimeline(r.Started)
	to := newReceiver(t)
	w := to.writer(t, Options{Labels: map[string]string{"job": "load", "instance": "a"}, Username: "me", Password: "secret"})
	for i := range r.Seconds {
		line.Add(&r.Seconds[i])
		if i == 9 || i == 19 {
			if err := w.Write(t.Context(), line.Take()); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := to.requests[0].Header
	if user, password, ok := to.requests[0].BasicAuth(); !ok || user != "me" || password != "secret" {
		t.Error("no basic authentication")
	}
	if h.Get("Content-Encoding") != "snappy" || h.Get("Content-Type") != "application/x-protobuf" || h.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
		t.Errorf("header %v", h)
	}
	if len(to.metrics) != 2 {
		t.Fatalf("%d requests", len(to.metrics))
	}
	for _, row := range []struct {
		request int
		name    string
		index   int
		want    Sample
	}{
		{0, `gallop_load_requests_due_total{instance="a",job="load"}`, 0, Sample{r.Started.Add(time.Second), 500}},
		{1, `gallop_load_requests_due_total{instance="a",job="load"}`, 9, Sample{r.Started.Add(20 * time.Second), 10_000}},
		{1, `gallop_load_responses_total{instance="a",job="load"}`, 9, Sample{r.Started.Add(20 * time.Second), 9_940}},
		{0, `gallop_load_latency_seconds{instance="a",job="load",quantile="0.5"}`, 4, Sample{r.Started.Add(5 * time.Second), r.Seconds[4].P50.Seconds()}},
		{0, `gallop_load_users{instance="a",job="load"}`, 4, Sample{r.Started.Add(5 * time.Second), 340}},
		{0, `gallop_load_generator_lag_seconds{instance="a",job="load"}`, 0, Sample{r.Started.Add(time.Second), 90e-6}},
	} {
		samples := to.metrics[row.request][row.name]
		if len(samples) != 10 || samples[row.index] != row.want {
			t.Errorf("%s: %v, not %v at %d", row.name, samples, row.want, row.index)
		}
	}
}

func TestTotals(t *testing.T) {
	r := resulttest.Open()
	to := newReceiver(t)
	if err := to.writer(t, Options{BearerToken: "token"}).Write(t.Context(), Totals(r)); err != nil {
		t.Fatal(err)
	}
	if to.requests[0].Header.Get("Authorization") != "Bearer token" {
		t.Error("no bearer token")
	}
	for name, want := range map[string]float64{
		`gallop_load_request_responses_total{request="home",scenario="steady",status="200"}`:                 4960,
		`gallop_load_request_errors_total{kind="reset",request="items",scenario="steady"}`:                   15,
		`gallop_load_checks_total{check="body has items",outcome="failed",request="home",scenario="steady"}`: 100,
		`gallop_load_threshold_ok{metric="http_req_duration",threshold="p(95)<200"}`:                         0,
		`gallop_load_threshold_ok{metric="http_req_failed",threshold="rate<0.01"}`:                           1,
		`gallop_load_request_latency_seconds{quantile="0.99",request="items",scenario="steady"}`:             r.Series[1].Response.Quantile(0.99).Seconds(),
	} {
		got := to.metrics[0][name]
		if len(got) != 1 || got[0].Value != want || !got[0].Time.Equal(r.Ended) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
	if _, has := to.metrics[0][`gallop_load_request_latency_seconds{quantile="0.9999",request="items",scenario="steady"}`]; has {
		t.Error("p99.99 of 4980 responses")
	}
}

func TestLongSeriesAreSplit(t *testing.T) {
	s := Series{Labels: []Label{{"__name__", "x"}}}
	for i := range 2*perRequest + 1 {
		s.Samples = append(s.Samples, Sample{time.UnixMilli(int64(i)).UTC(), float64(i)})
	}
	to := newReceiver(t)
	if err := to.writer(t, Options{}).Write(t.Context(), []Series{s}); err != nil {
		t.Fatal(err)
	}
	var all []Sample
	for _, m := range to.metrics {
		all = append(all, m["x{}"]...)
	}
	if len(to.metrics) != 3 || !slices.Equal(all, s.Samples) {
		t.Errorf("%d requests, %d samples", len(to.metrics), len(all))
	}
}

func TestRetries(t *testing.T) {
	one := []Series{{[]Label{{"__name__", "x"}}, []Sample{{time.UnixMilli(1), 1}}}}
	for name, row := range map[string]struct {
		statuses []int
		requests int
		err      string
	}{
		"after 503":       {[]int{503, 429}, 3, ""},
		"not after 400":   {[]int{400}, 1, `status 400: no\x1b[2J room`},
		"not forever":     {[]int{500, 500, 500, 500, 500}, 4, "status 500"},
		"not a redirect":  {[]int{304}, 1, "status 304"},
		"unauthenticated": {[]int{401}, 1, "status 401"},
	} {
		to := newReceiver(t, row.statuses...)
		err := to.writer(t, Options{}).Write(t.Context(), one)
		if len(to.requests) != row.requests || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %d requests, %v", name, len(to.requests), err)
		}
	}
	// A done context ends the waiting.
	var err error
	for limit := range wiretest.LongerLimits(50 * time.Millisecond) { // until the first request is over within the limit
		to := newReceiver(t, 500, 500, 500)
		w := to.writer(t, Options{})
		w.o.Wait = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = w.Write(ctx, one)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "status 500") {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "status 500") {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{}, {URL: "localhost:9090"}, {URL: "ftp://x/"}, {URL: "http://x/", Labels: map[string]string{"a-b": "c"}},
		{URL: "http://x/", Labels: map[string]string{"": "c"}}, {URL: "http://x/", Labels: map[string]string{"1a": "c"}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%v is accepted", o)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server can ask for a longer pause, within bounds.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "86400": longestWait, "soon": time.Second, "-1": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				requests++
				response := &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody}
				if requests == 1 {
					response.StatusCode = http.StatusTooManyRequests
					response.Header.Set("Retry-After", header)
				}
				return response, nil
			})}
			w, err := New(Options{URL: "http://x/", Client: client, Wait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = w.Write(t.Context(), []Series{{Samples: []Sample{{time.UnixMilli(1), 1}}}})
			if waited := time.Since(start); err != nil || requests != 2 || waited != want {
				t.Errorf("Retry-After: %s: waited %v, not %v; %v", header, waited, want, err)
			}
		})
	}
}
