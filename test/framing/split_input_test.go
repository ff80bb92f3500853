package framing_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// cut is a case, where to cut it, and the conversation with the server about the uncut case.
type cut struct {
	c    *wiretest.Case
	at   []int
	want *wiretest.Reference
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
// case gets. The long form also draws cuts into more parts at random. The short forms leave cuts out, other ones in each
// case.
func TestServerCutAnywhere(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		wiretest.CheckLeaks(t)
		ofEight := 4
		if wiretest.Full() {
			ofEight = 8
		}
		for name, stream := range map[string]bool{"whole bodies": false, "streamed bodies": true} {
			t.Run(name, func(t *testing.T) {
				s := servertest.NewEchoServer(stream)
				defer on.Hold(&s.Server)()
				var cuts []cut
				for i, c := range wiretest.ServerCases(t, wiretest.IsSmall) {
					want, err := wiretest.NewReference(on.Serve(&s.Server), c.Methods, c.Raw)
					if err != nil {
						t.Errorf("%s: %v", c.ID, err)
						continue
					}
					for at := 1; at < len(c.Raw); at++ {
						if (at+3*i)%8 >= on.Fewer(ofEight) && !wiretest.Long() {
							continue
						}
						cuts = append(cuts, cut{&c, []int{at}, want})
						if wiretest.Long() {
							cuts = append(cuts, cut{&c, wiretest.DrawCuts(len(c.Raw)), want})
						}
					}
				}
				t.Logf("%d cuts", len(cuts))
				wiretest.InParallel(cuts, func(c cut) {
					if err := c.want.Compare(on.Serve(&s.Server), c.parts()...); err != nil {
						t.Errorf("%s cut at %d: %v", c.c.ID, c.at, err)
					}
				})
				s.Log.WantNoPanic(t)
			})
		}
	})
}

// TestServerPipelined sends each request that keeps its connection 1 to 50 times in a
// row, in one part and in several, and wants its response as many times.
func TestServerPipelined(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := servertest.NewEchoServer(false)
		defer on.Hold(&s.Server)()
		cases := wiretest.ServerCases(t, func(c *wiretest.Case) bool {
			x := &c.Expect
			return wiretest.IsSmall(c) && x.Kind == "accept" && x.Closes != nil && !*x.Closes && !c.HalfClose &&
				slices.Equal(x.Responses, []int{1}) && !slices.Contains(c.Methods, "CONNECT")
		})
		if len(cases) < 50 {
			t.Fatalf("only %d cases", len(cases))
		}
		depths := []int{2, 3, 16, 50}
		if wiretest.Long() {
			depths = nil
			for n := range 50 {
				depths = append(depths, n+1)
			}
		}
		wiretest.InParallel(cases, func(c wiretest.Case) {
			one, err := wiretest.ConverseTranscript(on.Serve(&s.Server), c.Methods, c.Raw)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				return
			}
			for _, n := range depths {
				raw := bytes.Repeat(c.Raw, n)
				methods := slices.Repeat(c.Methods, n)
				at := rand.IntN(len(raw))
				for _, parts := range [][][]byte{{raw}, {raw[:at], raw[at:]}} {
					got, err := wiretest.ConverseTranscript(on.Serve(&s.Server), methods, parts...)
					if err != nil || got != strings.Repeat(one, n) {
						t.Errorf("%s, %d deep, in %d parts, %d octets first: %v%s", c.ID, n, len(parts), at, err, wiretest.Difference(got, strings.Repeat(one, n)))
					}
				}
			}
		})
	})
}
