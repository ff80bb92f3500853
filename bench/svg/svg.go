// Package svg has what the plots of benchmarks share: two themes, the frame of an image, and the spelling of numbers.
package svg

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Theme has the colors of one plot. The background stays transparent.
type Theme struct{ Name, Text, Faint, Ours, Others string }

// Themes are the themes in which each plot is drawn.
var Themes = []Theme{
	{"light", "#1f2328", "#59636e", "#0b7d5b", "#b6bec8"},
	{"dark", "#f0f6fc", "#9198a1", "#2fbf8f", "#545d68"},
}

// Image returns an image of this size, in pixels. summary says in words what it shows, for people who cannot see it. body
// draws its elements.
func Image(width, height int, summary string, body func(*bytes.Buffer)) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`font-family="-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", summary)
	body(&b)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Grouped writes a whole number with commas between groups of three digits. A half is rounded down: the median of two
// neighboring figures is then the same here and in the files of results.
func Grouped(v float64) string {
	digits := strconv.Itoa(int(math.Ceil(v - 0.5)))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
