package client_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// Over real sockets, through a proxy that net/http makes: plain and TLS, to the proxy
// and through it.
func TestProxyOfOthers(t *testing.T) {
	wiretest.CheckLeaks(t)
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Host) })
	for _, tc := range []struct {
		name                string
		proxyTLS, targetTLS bool
	}{
		{"plain over plain", false, false},
		{"TLS over plain", false, true},
		{"plain over TLS", true, false},
		{"TLS over TLS", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proxy := startPeer(t, http.HandlerFunc(serveConnect), tc.proxyTLS)
			target := startPeer(t, hello, tc.targetTLS)
			u, err := url.Parse(proxy.URL)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("me", "pw")
			d := &gallop.ProxyDialer{URL: u, TLSConfig: &tls.Config{}}
			if tc.proxyTLS {
				d.TLSConfig.RootCAs = proxy.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			}
			addr := target.Listener.Addr().String()
			nc, err := d.Dial(addr)
			if err == nil && tc.targetTLS {
				roots := target.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
				nc = tls.Client(nc, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
			}
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			io.WriteString(nc, "GET / HTTP/1.1\r\nHost: host.test\r\nConnection: close\r\n\r\n")
			answer, err := io.ReadAll(nc)
			if err != nil || !strings.HasSuffix(string(answer), "\r\n\r\nhello host.test") {
				t.Errorf("got %q, %v", answer, err)
			}

			u.User = nil
			_, err = d.Dial(addr)
			if refused, ok := unwrapProxyError(err); !ok || refused.StatusCode != http.StatusProxyAuthRequired {
				t.Errorf("without credentials: %v", err)
			}
		})
	}
}

func unwrapProxyError(err error) (*gallop.ProxyError, bool) {
	up, ok := err.(*gallop.ErrDialWithUpstream)
	if !ok {
		return nil, false
	}
	refused, ok := up.Unwrap().(*gallop.ProxyError)
	return refused, ok
}

func startPeer(t *testing.T, h http.Handler, withTLS bool) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	if withTLS {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

// serveConnect is an HTTP proxy for those who know its password.
func serveConnect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic bWU6cHc=" {
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	up, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	defer up.Close()
	down, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(up, buffered)
		up.Close()
	}()
	io.Copy(down, up)
	down.Close()
	<-done
}
