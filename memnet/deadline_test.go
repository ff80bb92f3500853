package memnet

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// An operation of a connection that blocks, and the method that bounds it.
type operation struct {
	name string
	do   func(c net.Conn) (int, error)
	set  func(c net.Conn, t time.Time) error
}

var operations = []operation{
	{"Read", func(c net.Conn) (int, error) { return c.Read(make([]byte, 10)) }, net.Conn.SetReadDeadline},
	{"Write", func(c net.Conn) (int, error) { return c.Write(make([]byte, BufferSize+1)) }, net.Conn.SetWriteDeadline},
	{"Read, both set", func(c net.Conn) (int, error) { return c.Read(make([]byte, 10)) }, net.Conn.SetDeadline},
	{"Write, both set", func(c net.Conn) (int, error) { return c.Write(make([]byte, BufferSize+1)) }, net.Conn.SetDeadline},
}

// forOperations runs test in a bubble for each, with a new connection.
func forOperations(t *testing.T, test func(t *testing.T, op operation, c net.Conn)) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := Pipe()
				test(t, op, c)
				_ = c.Close()
				_ = s.Close()
			})
		})
	}
}

// wantTimeout wants op to fail when after has passed.
func wantTimeout(t *testing.T, op operation, c net.Conn, after time.Duration) {
	t.Helper()
	begun := time.Now()
	_, err := op.do(c)
	if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took != after {
		t.Errorf("%v after %v, want a timeout after %v", err, took, after)
	}
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func TestFutureDeadline(t *testing.T) {
	forOperations(t, func(t *testing.T, op operation, c net.Conn) {
		_ = op.set(c, in(time.Second))
		wantTimeout(t, op, c, time.Second)
		wantTimeout(t, op, c, 0) // until a later one is set
		_ = op.set(c, in(time.Second))
		wantTimeout(t, op, c, time.Second)
	})
}

func TestPastDeadline(t *testing.T) {
	forOperations(t, func(t *testing.T, op operation, c net.Conn) {
		for _, at := range []time.Time{time.Unix(1, 0), in(-1), in(0)} {
			_ = op.set(c, at)
			wantTimeout(t, op, c, 0)
		}
	})
}

func TestPastDeadlineBeatsWhatCouldBeDone(t *testing.T) {
	c, s := Pipe()
	_, _ = s.Write([]byte("x"))
	_ = c.SetDeadline(time.Unix(1, 0))
	wantErr(t, "Read of buffered bytes", c.Read, os.ErrDeadlineExceeded)
	wantErr(t, "Write with room", c.Write, os.ErrDeadlineExceeded)
	_ = c.SetDeadline(time.Time{})
	wantRead(t, c, "x")
}

func TestADeadlineThatMoves(t *testing.T) {
	forOperations(t, func(t *testing.T, op operation, c net.Conn) {
		_ = op.set(c, in(time.Second))
		_ = op.set(c, in(3*time.Second)) // the timer runs for the first and is left alone
		wantTimeout(t, op, c, 3*time.Second)
		_ = op.set(c, in(time.Hour))
		_ = op.set(c, in(time.Second)) // the timer would be late and is set anew
		wantTimeout(t, op, c, time.Second)
		_ = op.set(c, in(time.Second))
		_ = op.set(c, time.Time{}) // the timer fires for nothing
		time.Sleep(2 * time.Second)
		_ = op.set(c, in(time.Second))
		wantTimeout(t, op, c, time.Second)
		_ = op.set(c, in(time.Second))
		_ = op.set(c, time.Time{})
		_ = op.set(c, in(5*time.Second))
		wantTimeout(t, op, c, 5*time.Second)
	})
}

func TestADeadlineWithoutMonotonicReading(t *testing.T) {
	forOperations(t, func(t *testing.T, op operation, c net.Conn) {
		_ = op.set(c, in(time.Second).Round(0))
		wantTimeout(t, op, c, time.Second)
	})
}

func TestADeadlineReachesThoseWhoWait(t *testing.T) {
	forOperations(t, func(t *testing.T, op operation, c net.Conn) {
		for _, d := range []time.Duration{-1, time.Second} {
			_ = op.set(c, time.Time{})
			go func() {
				time.Sleep(time.Minute)
				_ = op.set(c, in(d))
			}()
			wantTimeout(t, op, c, time.Minute+max(0, d))
		}
	})
}

func TestAPartialWriteIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		_ = c.SetWriteDeadline(in(time.Second))
		n, err := c.Write(make([]byte, 2*BufferSize))
		if n != BufferSize || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d, %v; want %d and a timeout", n, err, BufferSize)
		}
		_ = c.SetWriteDeadline(time.Time{})
		go func() { _, _ = c.Write([]byte("more")) }()
		for left := BufferSize; left > 0; {
			n, err := s.Read(make([]byte, left))
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		wantRead(t, s, "more")
	})
}

func TestDeadlinesOfOneEndDoNotConcernTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		_ = c.SetDeadline(in(-1))
		_ = s.SetReadDeadline(in(time.Second))
		wantTimeout(t, operations[0], s, time.Second)
		if _, err := s.Write([]byte("x")); err != nil {
			t.Errorf("Write: %v", err)
		}
	})
}
