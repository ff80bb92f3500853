package measure

import (
	"testing"
	"time"
)

func TestYardstick(t *testing.T) {
	y, err := NewYardstick()
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	var took []float64
	start := time.Now()
	for range 20 {
		d, err := y.Take()
		if err != nil {
			t.Fatal(err)
		}
		if d <= 0 {
			t.Fatalf("a piece took %v", d)
		}
		took = append(took, float64(d))
	}
	if half := time.Duration(Median(took)); half <= 0 || half > time.Since(start) {
		t.Errorf("half of the pieces took %v or less, all of them %v", half, time.Since(start))
	}
}
