package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// plainText writes the compact summary.
func plainText(w io.Writer, r *result.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, engine %s\n", r.Target.URL, r.Target.Proto, r.Tool.Engine)
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	if len(r.Thresholds) > 0 {
		fmt.Fprintln(&b, "\nThresholds")
	}
	for _, one := range r.Thresholds {
		mark := "✓"
		if !one.OK {
			mark = "✗"
		}
		fmt.Fprintf(&b, "  %s %s %s   %.4g\n", mark, one.Metric, one.Expr, one.Value)
	}
	b.WriteByte('\n')
	total, seconds := r.Total(), max(r.Elapsed().Seconds(), 1e-9)
	fmt.Fprintf(t, "Requests\t[sent, done, failed, unexpected, aborted, dropped]\t%d, %d, %d, %d, %d, %d\n", total.Sent, total.Done, total.Failed, total.Unexpected, total.Aborted, total.Dropped)
	fmt.Fprintf(t, "Rate\t[sent, done]\t%.1f/s, %.1f/s in %v\n", float64(total.Sent)/seconds, float64(total.Done)/seconds, rounded(r.Elapsed()))
	fmt.Fprintf(t, "Response\t[min, p50, p90, p99, max]\t%s\n", spread(&total.Response))
	fmt.Fprintf(t, "Service\t[min, p50, p90, p99, max]\t%s\n", spread(&total.Service))
	fmt.Fprintf(t, "Bytes\t[in, out]\t%d, %d\n", total.BytesIn, total.BytesOut)
	for _, code := range total.SortedStatus() {
		fmt.Fprintf(t, "Status\t[%d]\t%d\n", code, total.Status[code])
	}
	for _, e := range total.Errors {
		fmt.Fprintf(t, "Error\t[%s]\t%d, first: %s\n", e.Kind, e.Count, e.Example)
	}
	for _, s := range r.Series {
		for _, c := range s.Checks {
			fmt.Fprintf(t, "Check\t[%s]\t%d of %d passed\t%s\n", s.Name, c.Pass, c.Pass+c.Fail, c.Name)
		}
	}
	for _, s := range r.Scenarios {
		fmt.Fprintf(t, "Scenario\t[%s]\t%s: %d iterations, %d interrupted, %d dropped, %d users at most\n", s.Name, s.Executor, s.Users.Iterations, s.Users.Interrupted, s.Users.Dropped, s.Users.Most)
	}
	fmt.Fprintf(t, "Generator\t[CPU, per request, lag p99]\t%v, %v, %v\n", rounded(r.Generator.CPU), rounded(r.Generator.PerCall), rounded(r.Generator.Lag.Quantile(.99)))
	if s := r.Server; s != nil {
		fmt.Fprintf(t, "Server\t[CPU, per request, memory]\t%v, %v, %d MB\n", rounded(s.CPU), rounded(s.PerCall), s.MaxRSS/1e6)
	}
	t.Flush()
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "Warning: %s.\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func spread(h *result.Histogram) string {
	all := []string{rounded(h.Min()).String()}
	for _, q := range []float64{.5, .9, .99, 1} {
		text := "-"
		if q == 1 || h.Resolves(q) {
			text = rounded(h.Quantile(q)).Round(time.Nanosecond).String()
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// rounded returns a duration with three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
