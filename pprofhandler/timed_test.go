package pprofhandler

import (
	"testing"
	"time"
)

// A CPU profile takes whole seconds, a trace also fractions. Anything else means the default.
func TestDurations(t *testing.T) {
	for _, tt := range []struct {
		argument   string
		cpu, trace time.Duration
	}{
		{"", 30 * time.Second, time.Second},
		{"1", time.Second, time.Second},
		{"86400", 24 * time.Hour, 24 * time.Hour},
		{"0.01", 30 * time.Second, 10 * time.Millisecond},
		{"2.5", 30 * time.Second, 2500 * time.Millisecond},
		{"0", 30 * time.Second, time.Second},
		{"-1", 30 * time.Second, time.Second},
		{"x", 30 * time.Second, time.Second},
	} {
		if cpu, trace := durationOfCPU(tt.argument), durationOfTrace(tt.argument); cpu != tt.cpu || trace != tt.trace {
			t.Errorf("%q: %v and %v, want %v and %v", tt.argument, cpu, trace, tt.cpu, tt.trace)
		}
	}
}
