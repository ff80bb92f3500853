package nethttp_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
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

// connect-go finds the error code of a reset stream in the text of the error, after "stream error: " and before "; received from
// peer", as net/http has it.
func TestTransportResetTexts(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	transport := &nethttp.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	for _, path := range []string{"/head", "/body"} {
		resp, err := transport.RoundTrip(requestTo(t, "POST", s.URL+path, http.NoBody))
		if path == "/body" {
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(resp.Body)
		}
		var reset *gallop.StreamError
		if err == nil || !strings.HasPrefix(err.Error(), "stream error: nethttp: ") || !errors.As(err, &reset) || reset.Code != 2 ||
			!strings.HasSuffix(err.Error(), "; INTERNAL_ERROR; received from peer") {
			t.Errorf("%s: %T %v", path, err, err)
		}
	}
}
