package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

// Text writes the summary for a terminal: the lines of k6, then those that k6 does not have. Text from the target cannot
// reach the terminal with control characters.
func Text(w io.Writer, r *result.Result, style figure.Style) error {
	p, t := &printer{style: style}, sum(r)
	p.k6(t)
	p.f("\n     latency from: %s\n     %s\n", p.style.Bold(t.countedFrom()), t.origin())
	if o, ok := t.omission(); ok {
		p.f("\n     not counted: %s\n", strings.ReplaceAll(o.String(), "\n", "\n     "))
	}
	p.latencies(t)
	p.requests(t)
	p.statuses(t)
	p.errors(t)
	p.checks(t)
	p.thresholds(t)
	p.machines(t)
	p.verdict(t)
	_, err := w.Write(p.buf.Bytes())
	return err
}

// printer collects the summary.
type printer struct {
	buf   bytes.Buffer
	style figure.Style
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.buf, format, args...) }

func (p *printer) title(s string) { p.f("\n     %s\n", p.style.Bold(s)) }

// table writes rows in aligned columns: the first one on the left, the others on the right.
func (p *printer) table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], width(cell))
		}
	}
	for i, row := range rows {
		p.f("     ")
		for c, cell := range row {
			pad := fmt.Sprintf("%*s", widths[c]-width(cell), "")
			switch {
			case i == 0:
				cell = p.style.Faint(cell)
			case c > 0:
				cell = p.style.Cyan(cell)
			}
			if c == 0 {
				p.f("%s%s", cell, pad)
			} else {
				p.f("  %s%s", pad, cell)
			}
		}
		p.f("\n")
	}
}

// width returns how many columns of a terminal text takes, for text without escapes and wide characters.
func width(s string) int { return utf8.RuneCountInString(s) }
