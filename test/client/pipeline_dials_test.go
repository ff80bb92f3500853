package client_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// retryAfter is how long calls fail after a dial has failed, without another dial.
const retryAfter = 100 * time.Millisecond

func TestPipelineDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		c := gallop.PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) {
			time.Sleep(time.Second)
			return nil, refused
		}}
		a, b := callPipeline(&c, "GET", "/", 0), callPipeline(&c, "POST", "/", 0)
		a.want(t, "", refused)
		b.want(t, "", refused)
		time.Sleep(retryAfter)
		callPipeline(&c, "GET", "/", 500*time.Millisecond).want(t, "", gallop.ErrTimeout)
		time.Sleep(time.Second) // in which Dial returns
	})
}

// A server that is down is not dialed for each call: ten times a second at most, and in between calls fail at once
// with the error of the last dial. When it is back calls reach it within retryAfter.
func TestPipelineDialsRarely(t *testing.T) {
	for _, conns := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			refused := errors.New("refused")
			dials, down := 0, true
			s := &pipelineServer{answer: namedAll}
			c := gallop.PipelineClient{Addr: "a.test:80", MaxConns: conns, Dial: func(addr string) (net.Conn, error) {
				if dials++; down {
					return nil, refused
				}
				return s.dial(addr)
			}}
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test/")
			begun := time.Now()
			for range 1000 {
				at := time.Now()
				if err := c.Do(req, nil); !errors.Is(err, refused) || time.Since(at) != 0 {
					t.Fatalf("%v after %v", err, time.Since(at))
				}
				time.Sleep(time.Millisecond)
			}
			if most := int(time.Since(begun)/retryAfter) + 1; dials > most || dials < most-1 {
				t.Errorf("%d dials in %v", dials, time.Since(begun))
			}
			down = false
			for end := time.Now().Add(retryAfter); c.Do(req, nil) != nil; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("calls still fail")
				}
			}
			c.CloseIdleConnections()
		})
	}
}

// A server that closes connections as soon as they are there counts as down, though they can be dialed.
func TestPipelineDialsServersThatHangUpRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := gallop.PipelineClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) {
			dials++
			client, server := memnet.Pipe()
			_ = server.Close()
			return client, nil
		}}
		req := new(gallop.Request)
		req.SetRequestURI("http://a.test/")
		for range 1000 {
			if err := c.DoTimeout(req, nil, 10*time.Second); err == nil || err == gallop.ErrTimeout {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if dials > 12 {
			t.Errorf("%d dials", dials)
		}
	})
}

// A server that accepts and then fails the handshake is dialed as rarely.
func TestPipelineFailedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		c := gallop.PipelineClient{Addr: "a.test:443", IsTLS: true, Dial: func(string) (net.Conn, error) {
			dials.Add(1)
			client, server := memnet.Pipe()
			server.Close()
			return client, nil
		}}
		req := new(gallop.Request)
		req.SetRequestURI("https://a.test/")
		for range 100 {
			if err := c.Do(req, nil); err == nil {
				t.Error("no error")
			}
		}
		if dials.Load() != 1 {
			t.Errorf("%d dials", dials.Load())
		}
	})
}
