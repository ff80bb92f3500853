package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Text has a contrast of at least 4.5 and lines of charts of at least 3 (WCAG 2.2, levels AA), in light and dark.
func TestContrast(t *testing.T) {
	light, dark, found := strings.Cut(pageStyle, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("no dark colors")
	}
	for name, css := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		check := func(front, back string, least float64) {
			a, b := colors[front], colors[back]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("%s: %s on %s has a contrast of %.1f, not %.1f", name, front, back, ratio, least)
			}
		}
		for _, back := range []string{"page", "box", "good-box", "doubt-box", "bad-box"} {
			check("text", back, 4.5)
		}
		for _, pair := range []string{"soft page", "soft box", "good good-box", "doubt doubt-box", "bad bad-box", "good box", "bad box"} {
			front, back, _ := strings.Cut(pair, " ")
			check(front, back, 4.5)
		}
		for _, front := range []string{"s1", "s2", "s3", "s4", "heat"} {
			check(front, "box", 3)
		}
	}
}

// luminance returns the relative luminance of a color.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
