//go:build linux

package reliability

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/gallop-http/gallop/bench/child"
)

// TestAttackIsComplete spreads attacks over processes. All connections together count, not those of the last process.
func TestAttackIsComplete(t *testing.T) {
	for _, conns := range []int{1, 256, connsPerProcess, connsPerProcess + 1, 19_500, 3 * connsPerProcess} {
		config := attackConfig{Mode: "drip", Conns: conns, Rate: 3000}
		sum, rate := 0, 0
		for _, part := range config.split() {
			if part.Conns > connsPerProcess || part.Conns <= 0 {
				t.Errorf("%d: a process with %d", conns, part.Conns)
			}
			sum, rate = sum+part.Conns, rate+part.Rate
		}
		if sum != conns || rate != 3000 {
			t.Errorf("%d: %d, %d a second", conns, sum, rate)
		}
		if err := config.complete(attackStat{Connected: conns}); err != nil {
			t.Errorf("%d: %v", conns, err)
		}
		if err := config.complete(attackStat{Connected: conns - 1}); err == nil {
			t.Errorf("%d: one is missing without an error", conns)
		}
	}
}

func TestFloodCountsWhatTheServerHasSeen(t *testing.T) {
	f := flooded{Answered: 1, Wrong: 2, Silent: 4, Stuck: 8, Failed: 16}
	if f.made() != 7 || f.total() != 31 {
		t.Errorf("%d of %d", f.made(), f.total())
	}
}

// TestRestartLoadEnds stops clients that get no response, as a failing scenario does.
func TestRestartLoadEnds(t *testing.T) {
	l := startRestartLoad(closedAddress(t), 10_000)
	l.end()
	if sum := l.end(); sum.done > 0 {
		t.Errorf("%v", sum)
	}
}

func TestServerAnswers(t *testing.T) {
	if err := (&server{address: closedAddress(t)}).answers(); err == nil {
		t.Error("nothing listens, but there is a response")
	}
	for status, good := range map[int]bool{200: true, 503: false} {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", status)
			io.Copy(io.Discard, c)
		}()
		if err := (&server{address: ln.Addr().String()}).answers(); (err == nil) != good {
			t.Errorf("%d: %v", status, err)
		}
		ln.Close()
	}
}

// closedAddress returns an address at which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	address, err := child.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
