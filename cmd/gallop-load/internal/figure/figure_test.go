package figure

import (
	"math"
	"os"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 999: "999ns", 1000: "1µs", 1234: "1.23µs", 1239: "1.23µs", 999_999: "999.99µs",
		12_340_000: "12.34ms", 1_500_000_000: "1.5s", 59_999_999_999: "59.99s", 61 * time.Second: "1m1s",
		2*time.Hour + 3*time.Minute + 4500*time.Millisecond: "2h3m4s", -1500: "-1.5µs",
		math.MinInt64: "-2562047h47m16s", math.MaxInt64: "2562047h47m16s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) is %q, not %q", d, got, want)
		}
	}
}

func TestBytesAndCounts(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{Bytes(0), "0 B"}, {Bytes(9), "9 B"}, {Bytes(999), "999 B"}, {Bytes(1000), "1.0 kB"}, {Bytes(148_400_000), "148 MB"},
		{Bytes(4_930_000), "4.9 MB"}, {Bytes(999_900), "1.0 MB"}, {Count(0), "0"}, {Count(999), "999"}, {Count(1234567), "1,234,567"},
		{Count(-123), "-123"}, {Count(-1234), "-1,234"}, {Percent(2, 5), "40.00%"}, {Percent(99_999, 100_000), "99.99%"},
		{Percent(1, 0), "0.00%"}, {Rate(1), "1.000000/s"}, {ShortRate(12345.6), "12,346/s"}, {ShortRate(1.25), "1.2/s"},
	} {
		if row.got != row.want {
			t.Errorf("%q, not %q", row.got, row.want)
		}
	}
}

func TestLineIsSafeInATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode":            "plain ünïcode",
		"\x1b[31mred\r\n\x07":      `\x1b[31mred\r\n\a`,
		"\u202eright to left\xff!": `\u202eright to left\ufffd!`,
		"0123456789abc":            "0123456789…",
		`back\slash`:               `back\\slash`,
		"\x9b31m":                  `\ufffd31m`,
	} {
		most := 40
		if in == "0123456789abc" {
			most = 10
		}
		if got := Line(in, most); got != want {
			t.Errorf("Line(%q) is %q, not %q", in, got, want)
		}
	}
}

func TestStyle(t *testing.T) {
	if got := Style(true).Red("x") + Style(false).Red("x") + Style(true).Red(""); got != "\x1b[31mx\x1b[0mx" {
		t.Errorf("%q", got)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if StyleFor(f) {
		t.Error("a file gets colors")
	}
}

func TestMetric(t *testing.T) {
	for _, row := range []struct {
		metric, expr string
		value        float64
		want         string
	}{
		{"http_req_duration", "p(95)<200", 748.2, "748.2ms"},
		{"http_req_duration{name:x}", "avg<200", 0.25, "250µs"},
		{"http_req_failed", "rate<0.01", 0.002, "0.20%"},
		{"checks", "rate>0.9", 0.5, "50.00%"},
		{"http_reqs", "rate>100", 1234.4, "1,234/s"},
		{"dropped_iterations", "count==0", 3, "3"},
	} {
		if got := Metric(row.metric, row.expr, row.value); got != row.want {
			t.Errorf("%s %s: %q, not %q", row.metric, row.expr, got, row.want)
		}
	}
}
