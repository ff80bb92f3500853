package nethttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// capitals answers a CONNECT with a tunnel to a server that returns each line in capitals.
func capitals(w http.ResponseWriter, r *http.Request) {
	if r.Method != "CONNECT" || r.Host != "backend:443" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	nc, brw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer nc.Close()
	io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
	for {
		line, err := brw.ReadString('\n')
		if err != nil {
			return
		}
		io.WriteString(brw, strings.ToUpper(line))
		brw.Flush()
	}
}

// The body of a CONNECT is what the client says in the tunnel.
func TestTransportConnectBody(t *testing.T) {
	for _, secured := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(capitals))
		s.Config.ErrorLog = quietLog
		if s.Start(); secured {
			s.Close()
			s = httptest.NewTLSServer(http.HandlerFunc(capitals))
		}
		t.Cleanup(s.Close)
		trusting := s.Client().Transport.(*http.Transport).TLSClientConfig
		for which := range transports {
			client := &http.Client{Transport: transports[which].make(trusting.Clone(), nil)}
			pr, pw := io.Pipe()
			r := requestTo(t, "CONNECT", s.URL, pr)
			r.URL.Opaque, r.Host = "backend:443", "backend:443"
			resp, err := client.Do(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			br := bufio.NewReader(resp.Body)
			for _, line := range []string{"one", "two", "three"} {
				fmt.Fprintln(pw, line)
				if got, err := br.ReadString('\n'); err != nil || got != strings.ToUpper(line)+"\n" {
					t.Errorf("%s: got %q, %v", transports[which].name, got, err)
				}
			}
			resp.Body.Close()
			pw.Close()
		}
	}
}

// A CONNECT that is refused closes its body at once, and one whose body ends goes on.
func TestTransportConnectBodyEnds(t *testing.T) {
	s := serveWith(t, capitals)
	sentByUs(t, func(t *testing.T, client *http.Client) {
		pr, pw := io.Pipe()
		resp, err := client.Do(requestTo(t, "CONNECT", s.URL, pr))
		if err != nil || resp.StatusCode != http.StatusForbidden {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		if _, err := pw.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the body is not closed: %v", err)
		}
		body := counted(strings.NewReader("all\n"))
		r := requestTo(t, "CONNECT", s.URL, body)
		r.URL.Opaque, r.Host = "backend:443", "backend:443"
		if resp, err = client.Do(r); err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || got != "ALL\n" {
			t.Errorf("got %q, %v", got, err)
		}
		select {
		case <-body.closed:
		case <-time.After(5 * time.Second):
			t.Error("the body is not closed")
		}
	})
}
