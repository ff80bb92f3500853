package gallop_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// converse sends the parts, each once the server has read the one before and waits
// for more, half-closes, and returns everything the server says.
func converse(serve func(net.Conn) error, parts ...[]byte) ([]byte, error) {
	client, server := wiretest.Pipe()
	defer client.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(server)
	}()
	for _, p := range parts {
		_, _ = client.Write(p)
		if !client.AwaitPeer(10 * time.Second) {
			return nil, fmt.Errorf("the server stopped reading")
		}
	}
	_ = client.CloseWrite()
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	out, err := io.ReadAll(client)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return out, err
	}
	<-served
	return out, nil
}

// transcript writes down what a server said so that two runs can be compared: without
// the Date, and without interim responses, which depend on what arrived when.
func transcript(out []byte, methods []string) (string, error) {
	var b strings.Builder
	for i := 0; len(out) > 0; {
		method := "GET"
		if i < len(methods) {
			method = methods[i]
		}
		r, n, err := wiretest.Parse(out, method, true)
		if err != nil {
			return b.String(), err
		}
		out = out[n:]
		if r.Interim() {
			continue
		}
		i++
		fields := slices.DeleteFunc(r.Fields, func(f wiretest.Field) bool { return f.Name == "Date" })
		fmt.Fprintf(&b, "%d %q %q %q\n", r.Status, fields, r.Body, r.Trailers)
	}
	return b.String(), nil
}

func converseTranscript(serve func(net.Conn) error, methods []string, parts ...[]byte) (string, error) {
	out, err := converse(serve, parts...)
	if err != nil {
		return "", err
	}
	return transcript(out, methods)
}

// difference shows the first line in which two transcripts differ.
func difference(got, want string) string {
	for n := 1; got != "" || want != ""; n++ {
		var g, w string
		g, got, _ = strings.Cut(got, "\n")
		w, want, _ = strings.Cut(want, "\n")
		if g != w {
			return fmt.Sprintf("\nresponse %d is %.300s\nwant %.300s", n, g, w)
		}
	}
	return ""
}

// cut is a case, where to cut it, and what the server says to it in one part.
type cut struct {
	c    *wiretest.Case
	at   []int
	want string
}

func (c *cut) parts() (parts [][]byte) {
	from := 0
	for _, at := range c.at {
		parts = append(parts, c.c.Raw[from:at])
		from = at
	}
	return append(parts, c.c.Raw[from:])
}

// TestServerCutAnywhere sends each small case in two parts, cut at every byte, and wants the responses that the uncut
// case gets. The long form also draws cuts into more parts at random; the short one leaves some out on event loops.
func TestServerCutAnywhere(t *testing.T) {
	onTransports(t, func(t *testing.T, on transport) {
		wiretest.CheckLeaks(t)
		for name, stream := range map[string]bool{"whole bodies": false, "streamed bodies": true} {
			t.Run(name, func(t *testing.T) {
				s := newEchoServer(stream)
				var cuts []cut
				for _, c := range loadCases(t, small) {
					want, err := converseTranscript(on.serve(&s.Server), c.Methods, c.Raw)
					if err != nil {
						t.Errorf("%s: %v", c.ID, err)
						continue
					}
					for at := 1; at < len(c.Raw); at++ {
						if at%8 >= on.fewer(8) && !long() {
							continue
						}
						cuts = append(cuts, cut{&c, []int{at}, want})
						if long() {
							cuts = append(cuts, cut{&c, drawCuts(len(c.Raw)), want})
						}
					}
				}
				t.Logf("%d cuts", len(cuts))
				inParallel(cuts, func(c cut) {
					got, err := converseTranscript(on.serve(&s.Server), c.c.Methods, c.parts()...)
					if err != nil || got != c.want {
						t.Errorf("%s cut at %d: %v%s", c.c.ID, c.at, err, difference(got, c.want))
					}
				})
				s.log.wantNoPanic(t)
			})
		}
	})
}

// drawCuts returns up to ten places to cut n bytes at, in order.
func drawCuts(n int) (at []int) {
	for range 2 + rand.IntN(9) {
		at = append(at, 1+rand.IntN(n-1))
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// TestServerPipelined sends each request that keeps its connection 1 to 50 times in a
// row, in one part and in several, and wants its response as many times.
func TestServerPipelined(t *testing.T) {
	onTransports(t, func(t *testing.T, on transport) {
		s := newEchoServer(false)
		cases := loadCases(t, func(c *wiretest.Case) bool {
			x := &c.Expect
			return small(c) && x.Kind == "accept" && x.Closes != nil && !*x.Closes && !c.HalfClose &&
				slices.Equal(x.Responses, []int{1}) && !slices.Contains(c.Methods, "CONNECT")
		})
		if len(cases) < 50 {
			t.Fatalf("only %d cases", len(cases))
		}
		depths := []int{2, 3, 16, 50}
		if long() {
			depths = nil
			for n := range 50 {
				depths = append(depths, n+1)
			}
		}
		inParallel(cases, func(c wiretest.Case) {
			one, err := converseTranscript(on.serve(&s.Server), c.Methods, c.Raw)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				return
			}
			for _, n := range depths {
				raw := bytes.Repeat(c.Raw, n)
				methods := slices.Repeat(c.Methods, n)
				at := rand.IntN(len(raw))
				for _, parts := range [][][]byte{{raw}, {raw[:at], raw[at:]}} {
					got, err := converseTranscript(on.serve(&s.Server), methods, parts...)
					if err != nil || got != strings.Repeat(one, n) {
						t.Errorf("%s, %d deep, in %d parts, %d octets first: %v%s", c.ID, n, len(parts), at, err, difference(got, strings.Repeat(one, n)))
					}
				}
			}
		})
	})
}

// inParallel calls f for each of the items, on a few goroutines.
func inParallel[T any](items []T, f func(T)) {
	next := make(chan T)
	var group sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) { // each waits for the server now and then
		group.Go(func() {
			for item := range next {
				f(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	group.Wait()
}
