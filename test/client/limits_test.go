package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// dialSilence is a DialContext to a server that says nothing.
func dialSilence(context.Context, string, string) (net.Conn, error) {
	nc, peer := memnet.Pipe()
	go io.Copy(io.Discard, peer)
	return nc, nil
}

// TLSHandshakeTimeout limits the handshake with a server and with an https proxy, whatever WriteTimeout says.
func TestClientTLSHandshakeTimeout(t *testing.T) {
	proxy := func(context.Context, *url.URL) (*url.URL, error) { return url.Parse("https://proxy.test") }
	for _, tt := range []struct {
		limit, write time.Duration
		proxy        func(context.Context, *url.URL) (*url.URL, error)
		want         time.Duration
	}{
		{0, 0, nil, 10 * time.Second},
		{0, 3 * time.Second, nil, 3 * time.Second},
		{time.Second, 3 * time.Second, nil, time.Second},
		{time.Minute, 3 * time.Second, nil, time.Minute},
		{-1, 3 * time.Second, nil, time.Hour},
		{time.Second, 0, proxy, time.Second},
		{4 * time.Second, time.Second, proxy, 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			c := &gallop.Client{TLSHandshakeTimeout: tt.limit, WriteTimeout: tt.write, Proxy: tt.proxy, DialContext: dialSilence}
			var req gallop.Request
			req.SetRequestURI("https://a.test/")
			begun := time.Now()
			err := c.DoContext(ctx, &req, nil)
			if took := time.Since(begun); took != tt.want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v with WriteTimeout %v: %v after %v, want %v", tt.limit, tt.write, err, took, tt.want)
			}
			time.Sleep(time.Hour)
		})
	}
}

// ExpectContinueTimeout is how long a body waits for 100 (Continue).
func TestClientExpectContinueTimeout(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: time.Second, -1: 0, 5 * time.Second: 5 * time.Second} {
		for _, stream := range []bool{false, true} {
			overTCPAndTLS(t, func(t *testing.T, c *gallop.HostClient, serve func(net.Conn) net.Conn) {
				c.ExpectContinueTimeout = limit
				c.DialContext = func(context.Context, string, string) (net.Conn, error) {
					nc, peer := memnet.Pipe()
					go func() {
						peer := serve(peer)
						defer peer.Close()
						var req gallop.Request
						br := bufio.NewReader(peer)
						if req.Read(br) == nil && req.ContinueReadBody(br, 0) == nil {
							fmt.Fprintf(peer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(req.Body()), req.Body())
						}
					}()
					return nc, nil
				}
				req := requestFor(c)
				req.Header.SetMethod("POST")
				req.Header.Set("Expect", "100-continue")
				if req.SetBodyString("body"); stream {
					req.SetBodyStream(strings.NewReader("body"), 4)
				}
				var resp gallop.Response
				begun := time.Now()
				err := c.Do(req, &resp)
				if took := time.Since(begun); err != nil || took != want || string(resp.Body()) != "body" {
					t.Errorf("%v: %v, %q after %v", limit, err, resp.Body(), took)
				}
			})
		}
	}
}

var errHook = errors.New("hook")

// ConnectHeader adds fields to each CONNECT but those that are not its own to set, and OnConnectResponse sees the response.
func TestProxyDialerHooks(t *testing.T) {
	const head = "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n"
	for _, tt := range []struct {
		name, reply string
		set         func(d *gallop.ProxyDialer, seen *string)
		sent        string
		seen        string
		err         error
	}{
		{name: "fields", reply: "200 OK", sent: head + "Proxy-Authorization: Basic dTpw\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
			set: func(d *gallop.ProxyDialer, _ *string) {
				d.ConnectHeader = func(_ context.Context, target string, h *gallop.RequestHeader) error {
					h.Set("Host", "other.test")
					h.Set("Content-Length", "7")
					h.Add("X-A", "1")
					h.Add("X-A", "2")
					return nil
				}
			}},
		{name: "credentials", reply: "200 OK", sent: head + "Proxy-Authorization: Bearer x\r\n\r\n",
			set: func(d *gallop.ProxyDialer, _ *string) {
				d.ConnectHeader = func(_ context.Context, target string, h *gallop.RequestHeader) error {
					h.Set("Proxy-Authorization", "Bearer x")
					return nil
				}
			}},
		{name: "error", err: errHook,
			set: func(d *gallop.ProxyDialer, _ *string) {
				d.ConnectHeader = func(context.Context, string, *gallop.RequestHeader) error { return errHook }
			}},
		{name: "response", reply: "200 OK", sent: head + "Proxy-Authorization: Basic dTpw\r\n\r\n", seen: "a.test:80 200 y",
			set: func(d *gallop.ProxyDialer, seen *string) { d.OnConnectResponse = noting(seen, nil) }},
		{name: "refusal", reply: "407 No", sent: head + "Proxy-Authorization: Basic dTpw\r\n\r\n", seen: "a.test:80 407 y",
			set: func(d *gallop.ProxyDialer, seen *string) { d.OnConnectResponse = noting(seen, errHook) }, err: errHook},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc, peer := memnet.Pipe()
			sent := make(chan string, 1)
			go func() {
				defer peer.Close()
				var b strings.Builder
				for br := bufio.NewReader(peer); ; {
					line, err := br.ReadString('\n')
					if b.WriteString(line); err != nil || line == "\r\n" {
						break
					}
				}
				sent <- b.String()
				fmt.Fprintf(peer, "HTTP/1.1 %s\r\nX-Y: y\r\n\r\n", tt.reply)
			}()
			d := &gallop.ProxyDialer{URL: &url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword("u", "p")}}
			d.Connect = func(context.Context, string, string) (net.Conn, error) { return nc, nil }
			seen := ""
			tt.set(d, &seen)
			got, err := d.DialContext(t.Context(), "tcp", "a.test:80")
			if !errors.Is(err, tt.err) || err == nil && tt.err != nil || (got == nil) != (tt.err != nil) {
				t.Errorf("%v, %v", got, err)
			}
			nc.Close()
			if s := <-sent; s != tt.sent || seen != tt.seen {
				t.Errorf("sent %q, seen %q", s, seen)
			}
		})
	}
}

func noting(seen *string, err error) func(context.Context, string, *gallop.ResponseHeader) error {
	return func(_ context.Context, target string, h *gallop.ResponseHeader) error {
		*seen = fmt.Sprintf("%s %d %s", target, h.StatusCode(), h.Peek("X-Y"))
		return err
	}
}
