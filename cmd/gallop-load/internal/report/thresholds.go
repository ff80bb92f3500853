package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/result"
)

// thresholdValue formats the value of a threshold in the unit of its metric.
func thresholdValue(t result.Threshold) string {
	metric, _, _ := strings.Cut(t.Metric, "{")
	aggregation := strings.TrimSpace(strings.SplitN(t.Expr, "(", 2)[0])
	switch {
	case isTrend(metric):
		return figure.Duration(time.Duration(t.Value * float64(time.Millisecond)))
	case (metric == "http_req_failed" || metric == "checks") && strings.HasPrefix(aggregation, "rate"):
		return strconv.FormatFloat(t.Value*100, 'f', 2, 64) + "%"
	case strings.HasPrefix(aggregation, "rate"):
		return figure.ShortRate(t.Value)
	}
	return strconv.FormatFloat(t.Value, 'g', 6, 64)
}

// isTrend reports whether the values of a metric are durations.
func isTrend(metric string) bool {
	switch metric {
	case "iteration_duration", "http_req_blocked", "http_req_connecting", "http_req_duration", "http_req_receiving",
		"http_req_sending", "http_req_service", "http_req_tls_handshaking", "http_req_waiting":
		return true
	}
	return false
}
