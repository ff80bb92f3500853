package figure

import (
	"strconv"
	"strings"
	"time"
)

// Metric formats the value of a threshold in the unit of its metric. Durations are in milliseconds. The aggregation, like
// rate or p(95), begins the expression of the threshold.
func Metric(metric, expr string, value float64) string {
	metric, _, _ = strings.Cut(metric, "{")
	aggregation := strings.TrimSpace(strings.SplitN(expr, "(", 2)[0])
	switch {
	case isTrend(metric):
		return Duration(time.Duration(value * float64(time.Millisecond)))
	case (metric == "http_req_failed" || metric == "checks") && strings.HasPrefix(aggregation, "rate"):
		return strconv.FormatFloat(value*100, 'f', 2, 64) + "%"
	case strings.HasPrefix(aggregation, "rate"):
		return ShortRate(value)
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
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
