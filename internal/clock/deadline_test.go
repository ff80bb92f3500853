package clock

import (
	"net"
	"os"
	"testing"
	"time"
)

func TestDeadlines(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Second)
	never := time.Time{}
	if got := After(now, time.Second); !got.Equal(later) {
		t.Errorf("After a second: %v", got.Sub(now))
	}
	if got := After(now, 0); !got.IsZero() {
		t.Errorf("After no limit: %v", got)
	}
	for _, tt := range []struct{ a, b, want time.Time }{
		{now, later, now}, {later, now, now}, {never, now, now}, {now, never, now}, {never, never, never},
	} {
		if got := Earlier(tt.a, tt.b); !got.Equal(tt.want) {
			t.Errorf("Earlier(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
	for _, tt := range []struct{ a, b, want time.Duration }{
		{1, 2, 1}, {2, 1, 1}, {0, 1, 1}, {1, 0, 1}, {0, 0, 0},
	} {
		if got := Shorter(tt.a, tt.b); got != tt.want {
			t.Errorf("Shorter(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
	if got := Left(later, now); got != time.Second {
		t.Errorf("Left until a second later: %v", got)
	}
	if got := Left(never, now); got >= 0 {
		t.Errorf("Left until the zero time: %v", got)
	}
	if got := Slack(16 * time.Millisecond); got != time.Millisecond {
		t.Errorf("Slack of 16 ms = %v", got)
	}
	if got := Slack(time.Hour); got != time.Second {
		t.Errorf("Slack of an hour = %v", got)
	}
}

func TestIsTimeout(t *testing.T) {
	wrapped := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	if !IsTimeout(wrapped) || !IsTimeout(os.ErrDeadlineExceeded) || IsTimeout(net.ErrClosed) || IsTimeout(nil) {
		t.Error("IsTimeout is wrong")
	}
}
