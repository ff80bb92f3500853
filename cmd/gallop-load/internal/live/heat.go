package live

import (
	"math"
	"strings"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// labelWidth is the width of the labels on the left, with the space behind them.
const labelWidth = 12

var (
	shades = []rune(" ░▒▓█")
	bars   = []rune("▁▂▃▄▅▆▇█")
)

// recent returns the last n seconds.
func recent(all []result.Second, n int) []result.Second { return all[max(len(all)-max(n, 0), 0):] }

// spark draws values as a line of bars, from 0 to the highest one.
func spark(values []float64) string {
	high := 0.0
	for _, v := range values {
		high = max(high, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if high > 0 {
			i = int(v / high * float64(len(bars)-1))
		}
		b.WriteRune(bars[min(max(i, 0), len(bars)-1)])
	}
	return b.String()
}

// heat draws a strip of at most height lines: a column for each second, a row for a range of latencies. Denser characters
// stand for more responses.
func heat(seconds []result.Second, width, height int) []string {
	seconds = recent(seconds, width-labelWidth-2)
	first, last, most := heatRange(seconds)
	if most == 0 || height < 1 {
		return nil
	}
	// Neighboring ranges share a row if there are more ranges than rows.
	per := (last - first + height) / height
	var lines []string
	for low := first; low <= last; low += per {
		var b strings.Builder
		label := figure.Duration(threeDigits(top(min(low+per-1, last))))
		b.WriteString(padLeft(label, labelWidth-1) + " │")
		for i := range seconds {
			n := int64(0)
			for row := low; row < low+per && row < len(seconds[i].Heat); row++ {
				n += seconds[i].Heat[row]
			}
			b.WriteRune(shade(n, most))
		}
		lines = append([]string{b.String()}, lines...)
	}
	return lines
}

func heatRange(seconds []result.Second) (first, last int, most int64) {
	first = result.HeatRows
	for i := range seconds {
		for row, n := range seconds[i].Heat {
			if n > 0 {
				first, last, most = min(first, row), max(last, row), max(most, n)
			}
		}
	}
	return first, last, most
}

// shade returns a denser character for a larger count. A single response is visible.
func shade(n, most int64) rune {
	if n <= 0 {
		return shades[0]
	}
	steps := len(shades) - 2
	return shades[1+min(int(math.Log1p(float64(n))/math.Log1p(float64(most))*float64(steps)+0.5), steps)]
}

// top returns the longest latency of a heat row.
func top(row int) time.Duration { return 10 * time.Microsecond << row }

func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
