package server_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// ServeConn returns the errors that programs for fasthttp look for.
func TestServeConnSaysWhyARequestWasRefused(t *testing.T) {
	isTimeout := func(err error) bool {
		var op *net.OpError
		return errors.As(err, &op) && op.Timeout()
	}
	for _, tt := range []struct {
		name, says string
		is         func(error) bool
		status     string
	}{
		{"nothing wrong", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", func(err error) bool { return err == nil }, "200"},
		{"body too large", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789",
			func(err error) bool { return errors.Is(err, gallop.ErrBodyTooLarge) }, "413"},
		{"head too large", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 300) + "\r\n\r\n",
			func(err error) bool { return errors.As(err, new(*gallop.ErrSmallBuffer)) }, "431"},
		{"too slow", "GET / HTTP/1.1\r\n", isTimeout, "408"},
		{"malformed", "GET / HTTP/1.1\r\n\r\n",
			func(err error) bool { var p *gallop.ParseError; return errors.As(err, &p) && p.StatusCode == 400 }, "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &gallop.Server{
					Handler:            func(ctx *gallop.RequestCtx) {},
					Logger:             new(servertest.Log),
					MaxRequestBodySize: 5, MaxHeaderBytes: 200, ReadHeaderTimeout: time.Second,
				}
				client, server := memnet.Pipe()
				ended := make(chan error, 1)
				go func() { ended <- s.ServeConn(server) }()
				io.WriteString(client, tt.says)
				answer, _ := io.ReadAll(client)
				client.Close()
				if err := <-ended; !tt.is(err) {
					t.Errorf("%v", err)
				}
				if !strings.HasPrefix(string(answer), "HTTP/1.1 "+tt.status+" ") {
					t.Errorf("%q", answer)
				}
			})
		})
	}
}
