//go:build linux

package reliability

import "testing"

func TestByChance(t *testing.T) {
	early := []float64{18, 52, 20, 386, 21, 36, 159, 23, 61, 29}
	for _, tt := range []struct {
		name  string
		late  []float64
		grown bool
	}{
		{"the same", early, false},
		{"as unsteady, with another median", []float64{21, 63, 453, 29, 84, 36, 48, 21, 252, 20}, false},
		{"all of it slower", []float64{90, 260, 100, 1930, 105, 180, 795, 115, 305, 145}, true},
	} {
		if p := byChance(early, tt.late); p < .05 != tt.grown {
			t.Errorf("%s: p = %.3f", tt.name, p)
		}
	}
}
