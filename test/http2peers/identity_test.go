package http2peers_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// No call gets the response to another one, while calls are cancelled, time out, stop reading and fail to send.
func TestIdentity(t *testing.T) {
	calls := 60
	switch {
	case wiretest.Long() && servertest.RaceEnabled:
		calls = 8_000
	case wiretest.Long():
		calls = 63_000 // so many for each of 40 goroutines and 4 peers are 10^7
	}
	onPeers(t, func(t *testing.T, c *gallop.HostClient) {
		// If a call ends during its dial, the next call dials too, and there may be two connections.
		if err := c.Do(request(c, "GET", "/", ""), nil); err != nil {
			t.Fatal(err)
		}
		var good atomic.Int64
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 3))
				for j := range calls {
					if oddCall(t, c, r, fmt.Sprintf("%d-%d.", i, j)) {
						good.Add(1)
					}
				}
			})
		}
		group.Wait()
		n := good.Load()
		t.Logf("%d of %d calls were successful", n, 40*calls)
		if n < int64(calls)*10 {
			t.Errorf("%d calls were successful", n)
		}
		if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 1 || idle != 1 {
			t.Errorf("%d connections, %d of them idle", open, idle)
		}
	})
}

// oddCall makes a call of a random kind, and reports whether it was successful.
func oddCall(t *testing.T, c *gallop.HostClient, r *rand.Rand, name string) bool {
	body := strings.Repeat(name, 1+r.IntN(2000))
	req, resp := request(c, "POST", "/"+name, body), &gallop.Response{StreamBody: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		req.SetBodyStream(strings.NewReader(body), -1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch r.IntN(6) {
	case 0:
		time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
	case 1:
		req.SetTimeout(time.Duration(1+r.IntN(2000)) * time.Microsecond)
	case 2:
		req.SetBodyStream(io.MultiReader(strings.NewReader(name), failing{io.ErrClosedPipe}), -1)
	}
	if err := c.DoContext(ctx, req, resp); err != nil {
		return false
	}
	if target := string(resp.Header.Peek("X-Target")); target != "/"+name {
		t.Errorf("%s has the response to %s", name, target)
	}
	if stream := resp.BodyStream(); stream != nil && r.IntN(3) == 0 {
		io.ReadFull(stream, make([]byte, r.IntN(1000)))
		resp.CloseBodyStream()
		return true
	}
	got := string(resp.Body())
	if resp.BodyErr() == nil && got != body {
		t.Errorf("%s has %d bytes of another body", name, len(got))
	}
	return resp.BodyErr() == nil
}
