package wiretest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// serveHTTP serves the requests on one connection with net/http's reader.
func serveHTTP(c net.Conn) error {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		req, err := http.ReadRequest(r)
		if err != nil {
			return err
		}
		body, _ := io.ReadAll(req.Body)
		resp := http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Request: req, Body: http.NoBody, ContentLength: 0}
		if req.Method == "HEAD" {
			resp.ContentLength = 7
		}
		resp.Header = http.Header{"X-Path": {req.URL.Path}, "X-Body": {string(body)}}
		if err := resp.Write(c); err != nil {
			return err
		}
	}
}

func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(t, serveHTTP)
		c.Send(Get("/one")).Want(200)
		c.WantField("X-Path", "/one").WantBody("")
		c.Send("HEAD /two HTTP/1.1\r\n").Await().WantSilence(time.Second)
		c.Send("Host: test\r\n\r\n").WantTo("HEAD", 200)
		c.WantField("Content-Length", "7").WantBody("")
		c.SendSlowly("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi", time.Millisecond).Want(200)
		c.WantField("X-Body", "hi")
		c.Send(Get("/a"), Get("/b"))
		c.Want(200)
		c.WantField("X-Path", "/a")
		c.Want(200)
		c.WantField("X-Path", "/b")
		c.Pause(9 * time.Second).WantSilence(999 * time.Millisecond)
		c.WantEOF().WantAfter(11*time.Second, time.Second)
	})
}

// Pipelined requests arrive together, however busy the machine is.
func TestSendIsOnePiece(t *testing.T) {
	var arrivals atomic.Int32
	watched, done := make(chan struct{}), make(chan struct{})
	c := Start(t, func(server net.Conn) error {
		server.(*Conn).Watch(func() { arrivals.Add(1) })
		close(watched)
		<-done
		return nil
	})
	defer close(done)
	<-watched
	before := arrivals.Load()
	c.Send(Get("/a"), Get("/b"), Get("/c"))
	if n := arrivals.Load() - before; n != 1 {
		t.Errorf("three requests arrived in %d pieces", n)
	}
}

func TestPlay(t *testing.T) {
	cases := []Case{
		{ID: "right", Raw: []byte(Get("/x")), Expect: Expect{Kind: "accept", Statuses: []int{200}, SkipEcho: true, HeadersContain: []Pair{{"x-path", "/x"}}}},
		{ID: "wrong", Raw: []byte(Get("/x")), Expect: Expect{Kind: "accept", Statuses: []int{200}, SkipEcho: true, HeadersContain: []Pair{{"x-path", "/y"}}}},
		{ID: "hangs", Raw: []byte("GET / HTTP/1.1\r\n"), Expect: Expect{Kind: "accept", Statuses: []int{200}}},
		{ID: "closed", Raw: []byte("nonsense\r\n\r\n"), Expect: Expect{Kind: "reject", Statuses: []int{0}}},
	}
	for i := range cases {
		cases[i].NoProbe = true
	}
	synctest.Test(t, func(t *testing.T) {
		failures := PlayAll(t.Context(), Dialer(serveHTTP), cases, true, 2)
		if len(failures) != 2 || failures["wrong"] == nil || failures["hangs"] == nil {
			t.Errorf("failures: %v", failures)
		}
		synctest.Wait()
	})
}

func TestFault(t *testing.T) {
	request := Get("/x")
	for _, kind := range Faults {
		for at := 1; ; at++ {
			client, server := Pipe()
			fault := NewFault(server, at, kind)
			served := make(chan error, 1)
			go func() { served <- serveHTTP(fault) }()
			_, _ = client.Write([]byte(request))
			_ = client.CloseWrite()
			err := <-served
			reached := fault.Calls() >= at
			if !reached {
				break
			}
			if kind != FaultOctet && kind != FaultShort && err == io.EOF {
				t.Errorf("%v at %d: served to the end", kind, at)
			}
			out, _ := io.ReadAll(client)
			if r, _, err := Parse(out, "GET", true); kind == FaultOctet && (err != nil || r == nil || r.Status != 200) {
				t.Errorf("byte at %d: %q, %v", at, out, err)
			}
		}
	}
}
