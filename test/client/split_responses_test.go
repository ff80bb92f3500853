package client_test

import (
	"bufio"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// A response reads the same however it is cut into packets: at every single place, and at all places.
func TestClientAnswerInPieces(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nT: v\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	} {
		for cut := 0; cut < len(answer); cut++ { // 0 for one byte at a time
			synctest.Test(t, func(t *testing.T) {
				c := gallop.HostClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) {
					client, server := wiretest.Pipe()
					go answerInPieces(server, answer, cut)
					return client, nil
				}}
				req, resp := new(gallop.Request), new(gallop.Response)
				req.SetRequestURI("http://a.test/")
				err := c.DoTimeout(req, resp, time.Hour)
				if err != nil || string(resp.Body()) != "hello" {
					t.Errorf("%q cut at %d: %q, error %v", answer, cut, resp.Body(), err)
				}
				c.CloseIdleConnections()
				time.Sleep(time.Hour)
			})
		}
	}
}

func answerInPieces(server net.Conn, answer string, cut int) {
	defer server.Close()
	if new(gallop.Request).Read(bufio.NewReader(server)) != nil {
		return
	}
	for len(answer) > 0 {
		n := min(max(cut, 1), len(answer))
		server.Write([]byte(answer[:n]))
		time.Sleep(time.Millisecond)
		if answer = answer[n:]; cut > 0 {
			cut = len(answer)
		}
	}
}
