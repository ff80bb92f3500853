package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// CSVSeconds writes the time line as CSV, one row per second. Durations are seconds.
func CSVSeconds(w io.Writer, r *result.Result) error {
	out := csv.NewWriter(w)
	out.Write([]string{"t", "length", "due", "sent", "done", "failed", "done_per_second", "p50", "p90", "p99", "max",
		"users", "connections", "in_flight", "lag", "generator_cpu", "server_cpu"})
	for _, s := range r.Seconds {
		rate := 0.0
		if s.Length > 0 {
			rate = float64(s.Done) / s.Length.Seconds()
		}
		out.Write([]string{seconds(s.T), seconds(s.Length), whole(s.Due), whole(s.Sent), whole(s.Done), whole(s.Failed),
			decimal(rate), seconds(s.P50), seconds(s.P90), seconds(s.P99), seconds(s.Max), whole(s.Users), whole(s.Conns),
			whole(s.InFlight), seconds(s.Lag), seconds(s.CPU), seconds(s.Server)})
	}
	out.Flush()
	return out.Error()
}

// CSVRequests writes one row for each request as CSV. Durations are seconds. Percentiles that the number of requests does
// not resolve are empty.
func CSVRequests(w io.Writer, r *result.Result) error {
	out := csv.NewWriter(w)
	out.Write([]string{"scenario", "request", "method", "due", "sent", "done", "unexpected", "failed", "dropped", "aborted",
		"raced", "done_per_second", "bytes_out", "bytes_in", "mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max",
		"service_p50", "service_p99", "checks_passed", "checks_failed"})
	t := sum(r)
	for _, s := range r.Series {
		var pass, fail int64
		for _, c := range s.Checks {
			pass, fail = pass+c.Pass, fail+c.Fail
		}
		h := &s.Response
		out.Write([]string{s.Scenario, s.Name, s.Method, whole(s.Due), whole(s.Sent), whole(s.Done), whole(s.Unexpected),
			whole(s.Failed), whole(s.Dropped), whole(s.Aborted), whole(s.Raced), decimal(t.rate(s.Done)), whole(s.BytesOut),
			whole(s.BytesIn), seconds(h.Mean()), seconds(h.Min()), quantile(h, 0.5), quantile(h, 0.9), quantile(h, 0.95),
			quantile(h, 0.99), quantile(h, 0.999), quantile(h, 0.9999), seconds(h.Max()), quantile(&s.Service, 0.5),
			quantile(&s.Service, 0.99), whole(pass), whole(fail)})
	}
	out.Flush()
	return out.Error()
}

func seconds(d time.Duration) string { return decimal(d.Seconds()) }

func whole(n int64) string { return strconv.FormatInt(n, 10) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func quantile(h *result.Histogram, q float64) string {
	if !h.Resolves(q) {
		return ""
	}
	return seconds(h.Quantile(q))
}
