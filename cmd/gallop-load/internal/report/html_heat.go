package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// heatColumns is the most columns of a heat map.
const heatColumns = 120

// heatChart draws how many responses of each moment had which latency. A darker cell has more responses.
func (t *totals) heatChart() chart {
	columns := t.heat()
	first, last, most := heatRange(columns)
	if most == 0 {
		return chart{}
	}
	y := &axis{low: float64(first), high: float64(last + 1), from: plotBottom, to: plotTop}
	every := (last-first)/8 + 1
	for row := first; row <= last+1; row += every {
		y.ticks = append(y.ticks, tick{float64(row), figure.Duration(threeDigits(heatTop(row - 1)))})
	}
	x := t.timeAxis()
	const title = "Heat map of latencies"
	s := newSVG("heat", title, "Each column is a moment, each row a range of latencies. Darker cells have more responses.", x, y)
	width := (plotRight - plotLeft) / float64(len(columns))
	height := (plotBottom - plotTop) / float64(last-first+1)
	for i, column := range columns {
		for row := first; row <= last && row < len(column); row++ {
			if n := column[row]; n > 0 {
				// Counts span several powers of ten, and a single response has to be visible.
				shade := 0.15 + 0.85*math.Log1p(float64(n))/math.Log1p(float64(most))
				s.f(`<rect class="heat" x="%s" y="%s" width="%s" height="%s" fill-opacity="%.2f"/>`, px(plotLeft+float64(i)*width),
					px(plotBottom-float64(row-first+1)*height), px(width+0.1), px(height-0.5), shade)
			}
		}
	}
	return chart{ID: "heat", Title: title, SVG: s.end(),
		Note: fmt.Sprintf("Rows are ranges of latency. The strongest color stands for %s responses.", figure.Count(most))}
}

// heat returns the heat rows of at most heatColumns moments.
func (t *totals) heat() [][]int64 {
	per := (len(t.Seconds) + heatColumns - 1) / heatColumns
	var columns [][]int64
	for part := range slices.Chunk(t.Seconds, per) {
		column := make([]int64, result.HeatRows)
		for _, s := range part {
			for row, n := range s.Heat {
				column[row] += n
			}
		}
		columns = append(columns, column)
	}
	return columns
}

// heatRange returns the first and the last row that is not empty, and the highest count of a cell.
func heatRange(columns [][]int64) (first, last int, most int64) {
	first = result.HeatRows
	for _, column := range columns {
		for row, n := range column {
			if n > 0 {
				first, last, most = min(first, row), max(last, row), max(most, n)
			}
		}
	}
	return first, last, most
}

// heatTop returns the longest latency of a row.
func heatTop(row int) time.Duration {
	if row < 0 {
		return 0
	}
	return 10 * time.Microsecond << row
}

// threeDigits rounds a duration to three significant digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
