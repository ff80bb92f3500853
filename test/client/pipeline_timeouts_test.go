package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
)

func TestPipelineTimeouts(t *testing.T) {
	slow := func(takes ...time.Duration) *pipelineServer {
		return &pipelineServer{answer: func(conn, n int, req *gallop.Request) (string, bool) {
			if conn == 0 && n < len(takes) {
				time.Sleep(takes[n])
			}
			return named(req), true
		}}
	}
	t.Run("a late answer reaches nobody", func(t *testing.T) {
		s, c := slow(1500*time.Millisecond), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "GET", "/1", time.Second)
			b := callPipeline(c, "GET", "/2", 0)
			a.want(t, "", gallop.ErrTimeout)
			b.want(t, "GET/2", nil)
			if s.conns.Load() != 1 || a.took != time.Second {
				t.Errorf("%d connections, timeout after %v", s.conns.Load(), a.took)
			}
		})
	})
	t.Run("nobody waits long for it", func(t *testing.T) {
		s, c := slow(0, time.Hour), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			callPipeline(c, "GET", "/0", 0).want(t, "GET/0", nil)
			a := callPipeline(c, "GET", "/1", time.Second)
			b := callPipeline(c, "GET", "/2", 0)
			p := callPipeline(c, "POST", "/3", 0)
			a.want(t, "", gallop.ErrTimeout)
			b.want(t, "GET/2", nil) // again, on another connection
			p.want(t, "", gallop.ErrConnectionClosed)
			if s.conns.Load() != 2 || b.took != 2*time.Second {
				t.Errorf("%d connections, the next took %v", s.conns.Load(), b.took)
			}
		})
	})
	t.Run("one behind another", func(t *testing.T) {
		s, c := slow(3*time.Second), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "GET", "/1", 0)
			b := callPipeline(c, "GET", "/2", time.Second)
			d := callPipeline(c, "GET", "/3", 0)
			b.want(t, "", gallop.ErrTimeout)
			a.want(t, "GET/1", nil)
			d.want(t, "GET/3", nil)
			if s.conns.Load() != 1 {
				t.Errorf("%d connections", s.conns.Load())
			}
		})
	})
	t.Run("not sent at all", func(t *testing.T) {
		s, c := slow(3*time.Second), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			a := callPipeline(c, "POST", "/1", 0)
			callPipeline(c, "GET", "/2", time.Second).want(t, "", gallop.ErrTimeout)
			a.want(t, "POST/1", nil)
			callPipeline(c, "GET", "/3", 0).want(t, "GET/3", nil)
			if got := s.log(); got != "0:POST/1 0:GET/3" {
				t.Errorf("the server saw %s", got)
			}
		})
	})
	t.Run("ReadTimeout", func(t *testing.T) {
		s, c := slow(0, time.Hour), &gallop.PipelineClient{ReadTimeout: time.Second}
		testPipeline(t, s, c, func(t *testing.T) {
			a, b, d := callPipeline(c, "GET", "/1", 0), callPipeline(c, "GET", "/2", 0), callPipeline(c, "GET", "/3", 0)
			a.want(t, "GET/1", nil)
			b.want(t, "", gallop.ErrTimeout)
			d.want(t, "GET/3", nil)
			if b.took != time.Second {
				t.Errorf("took %v", b.took)
			}
		})
	})
	t.Run("over before it begins", func(t *testing.T) {
		s, c := slow(), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			callPipeline(c, "GET", "/1", 0).want(t, "GET/1", nil)
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test/2")
			for range 1000 {
				if err := c.DoTimeout(req, nil, 0); err != gallop.ErrTimeout {
					t.Errorf("error %v", err)
				}
				if err := c.DoDeadline(req, nil, time.Now()); err != gallop.ErrTimeout {
					t.Errorf("error %v", err)
				}
			}
			if got := s.log(); got != "0:GET/1" {
				t.Errorf("the server saw %s", got)
			}
		})
	})
	t.Run("the answer of before", func(t *testing.T) {
		s, c := slow(0, time.Hour), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			req, resp := new(gallop.Request), new(gallop.Response)
			req.SetRequestURI("http://a.test/")
			if err := c.Do(req, resp); err != nil || len(resp.Body()) == 0 {
				t.Errorf("%q, %v", resp.Body(), err)
			}
			if err := c.DoTimeout(req, resp, time.Second); err != gallop.ErrTimeout || len(resp.Body()) > 0 || resp.Header.ContentLength() > 0 {
				t.Errorf("%q, %v", resp, err)
			}
		})
	})
	t.Run("of the request", func(t *testing.T) {
		s, c := slow(time.Hour), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test/")
			req.SetTimeout(time.Second)
			if err := c.Do(req, nil); err != gallop.ErrTimeout {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		s, c := slow(time.Hour), &gallop.PipelineClient{}
		testPipeline(t, s, c, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			req := new(gallop.Request)
			req.SetRequestURI("http://a.test/")
			if err := c.DoContext(ctx, req, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if err := c.DoContext(ctx, req, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	})
}

func TestPipelineUnaskedAnswer(t *testing.T) {
	s := &pipelineServer{answer: func(conn, n int, req *gallop.Request) (string, bool) {
		if conn == 0 {
			return named(req) + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", true
		}
		return named(req), true
	}}
	var c gallop.PipelineClient
	testPipeline(t, s, &c, func(t *testing.T) {
		callPipeline(&c, "GET", "/1", 0).want(t, "GET/1", nil)
		callPipeline(&c, "GET", "/2", 0).want(t, "GET/2", nil)
		if s.conns.Load() != 2 {
			t.Errorf("%d connections", s.conns.Load())
		}
	})
}

func TestPipelineIdle(t *testing.T) {
	s := &pipelineServer{answer: namedAll}
	c := gallop.PipelineClient{MaxIdleConnDuration: time.Minute}
	testPipeline(t, s, &c, func(t *testing.T) {
		for i, pause := range []time.Duration{59 * time.Second, 59 * time.Second, 61 * time.Second, 0} {
			callPipeline(&c, "GET", "/", 0).want(t, "GET/", nil)
			want := int64(1)
			if i == 3 {
				want = 2
			}
			if s.conns.Load() != want {
				t.Errorf("%d connections at call %d", s.conns.Load(), i)
			}
			time.Sleep(pause)
		}
		c.CloseIdleConnections()
		if synctest.Wait(); s.live.Load() != 0 {
			t.Errorf("%d connections are left", s.live.Load())
		}
	})
}
