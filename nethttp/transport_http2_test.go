package nethttp_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/nethttp"
)

// Over TLS, a Transport uses HTTP/2 if the server does. Its responses look like those of an http.Transport.
func TestTransportHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(201)
		io.Copy(w, r.Body)
		w.Header().Set("X-Sum", r.Proto)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	std := s.Client().Transport.(*http.Transport)
	own := &nethttp.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer own.CloseIdleConnections()
	for name, transport := range map[string]http.RoundTripper{"net/http": std, "gallop": own} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				req := requestTo(t, "POST", s.URL, io.NopCloser(strings.NewReader("hello")))
				resp, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Proto != "HTTP/2.0" || resp.ProtoMajor != 2 || resp.ProtoMinor != 0 || resp.Status != "201 Created" ||
					resp.ContentLength != 5 || resp.TransferEncoding != nil || resp.Close || resp.TLS == nil || resp.Header.Get("Date") == "" {
					t.Errorf("%+v", resp)
				}
				if _, ok := resp.Trailer["X-Sum"]; !ok || resp.Header["Trailer"] != nil {
					t.Errorf("trailers %v", resp.Trailer)
				}
				if got := bodyOf(t, resp); got != "hello" || resp.Trailer.Get("X-Sum") != "HTTP/2.0" {
					t.Errorf("%q, trailers %v", got, resp.Trailer)
				}
			}
		})
	}
}
