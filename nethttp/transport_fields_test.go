package nethttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// setFields runs f with a client over each of the transports, with these fields.
func setFields(t *testing.T, fields map[string]any, f func(t *testing.T, client *http.Client)) {
	t.Helper()
	for _, rt := range []http.RoundTripper{&http.Transport{}, &nethttp.Transport{}} {
		t.Run(fmt.Sprintf("%T", rt), func(t *testing.T) {
			for name, value := range fields {
				if cfg, ok := value.(*tls.Config); ok {
					value = cfg.Clone()
				}
				field := reflect.ValueOf(rt).Elem().FieldByName(name)
				field.Set(reflect.ValueOf(value).Convert(field.Type())) // a limit is an int64 in net/http
			}
			client := &http.Client{Transport: rt}
			defer client.CloseIdleConnections()
			f(t, client)
		})
	}
}

// servers starts a server without TLS and one with it, and returns for each its URL and a config that trusts it.
func servers(t *testing.T, h http.HandlerFunc) map[string]*tls.Config {
	plain := serveWith(t, h)
	secured := httptest.NewUnstartedServer(h)
	secured.Config.ErrorLog = quietLog
	secured.StartTLS()
	t.Cleanup(secured.Close)
	return map[string]*tls.Config{plain.URL: {}, secured.URL: secured.Client().Transport.(*http.Transport).TLSClientConfig}
}

// checkTimeout reports an error that is no timeout, or came late.
func checkTimeout(t *testing.T, err error, begun time.Time) {
	t.Helper()
	if late(err, begun) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestTransportDialTLSContext(t *testing.T) {
	for url, trusting := range servers(t, func(http.ResponseWriter, *http.Request) {}) {
		var dialed []string
		setFields(t, map[string]any{
			"DialTLSContext": func(_ context.Context, network, addr string) (net.Conn, error) {
				dialed = append(dialed, "TLS")
				cfg := trusting.Clone()
				cfg.ServerName = "example.com"
				nc, err := net.Dial(network, addr)
				return tls.Client(nc, cfg), err
			},
			"DialContext": func(_ context.Context, network, addr string) (net.Conn, error) {
				dialed = append(dialed, "plain")
				return net.Dial(network, addr)
			},
		}, func(t *testing.T, client *http.Client) {
			dialed = nil
			handshakes := 0
			r := requestTo(t, "GET", url, nil)
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
				TLSHandshakeDone: func(tls.ConnectionState, error) { handshakes++ },
			}))
			for range 2 {
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if secured := r.URL.Scheme == "https"; (resp.TLS != nil && resp.TLS.HandshakeComplete) != secured || (handshakes == 1) != secured ||
					!slices.Equal(dialed, []string{map[bool]string{true: "TLS", false: "plain"}[secured]}) {
					t.Errorf("%s: dialed %v, %d handshakes, TLS %v", url, dialed, handshakes, resp.TLS != nil)
				}
			}
		})
	}
}

func TestTransportDialTLSContextFails(t *testing.T) {
	s := serveWith(t, func(http.ResponseWriter, *http.Request) {})
	for name, dial := range map[string]dialer{
		"error": func(context.Context, string, string) (net.Conn, error) { return nil, errRefused },
		"a plain server": func(_ context.Context, network, addr string) (net.Conn, error) {
			nc, err := net.Dial(network, s.Listener.Addr().String())
			return tls.Client(nc, &tls.Config{InsecureSkipVerify: true}), err
		},
	} {
		want := ""
		setFields(t, map[string]any{"DialTLSContext": dial}, func(t *testing.T, client *http.Client) {
			_, err := client.Get("https://a.test")
			if got := typesOf(err); want == "" {
				want = got
			} else if got != want || err == nil {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		})
	}
}

func TestTransportResponseHeaderTimeout(t *testing.T) {
	t.Parallel()
	const limit = 60 * time.Millisecond
	over := make(chan struct{})
	h := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/interim":
			w.WriteHeader(103)
			fallthrough
		case "/silent":
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case "/slow":
			w.(http.Flusher).Flush()
			time.Sleep(2 * limit)
		}
		io.Copy(w, r.Body)
	}
	for url, trusting := range servers(t, h) {
		setFields(t, map[string]any{"ResponseHeaderTimeout": limit, "TLSClientConfig": trusting}, func(t *testing.T, client *http.Client) {
			var calls sync.WaitGroup
			for _, path := range []string{"/silent", "/interim"} {
				for _, body := range []string{"", "body", strings.Repeat("x", 100<<10)} {
					calls.Go(func() {
						begun := time.Now()
						_, err := client.Post(url+path, "", strings.NewReader(body))
						checkTimeout(t, err, begun)
					})
				}
			}
			calls.Wait()
			late := func() io.Reader {
				pr, pw := io.Pipe()
				go func() {
					time.Sleep(2 * limit)
					io.WriteString(pw, "late")
					pw.Close()
				}()
				return pr
			}
			none := func() io.Reader { return http.NoBody }
			for path, body := range map[string]func() io.Reader{"/slow": none, "/": late} { // neither body counts
				resp, err := client.Post(url+path, "", body())
				for try := 0; try < 10 && errors.Is(err, context.DeadlineExceeded); try++ { // the machine may be slow itself
					resp, err = client.Post(url+path, "", body())
				}
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(resp.Body); err != nil || path == "/" && string(got) != "late" {
					t.Errorf("%s: %q, %v", path, got, err)
				}
				resp.Body.Close()
			}
		})
	}
	close(over)
}

func TestTransportTLSHandshakeTimeout(t *testing.T) {
	t.Parallel()
	ln := listen(t) // and accepts nothing
	defer ln.Close()
	setFields(t, map[string]any{"TLSHandshakeTimeout": 50 * time.Millisecond}, func(t *testing.T, client *http.Client) {
		begun := time.Now()
		_, err := client.Get("https://" + ln.Addr().String())
		if late(err, begun) || !strings.Contains(err.Error(), "TLS handshake timeout") {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
	for _, url := range []string{"http://a.test", "https://a.test"} {
		setFields(t, map[string]any{
			"TLSHandshakeTimeout": 50 * time.Millisecond, "Proxy": proxied("https://" + ln.Addr().String()),
		}, func(t *testing.T, client *http.Client) {
			begun := time.Now()
			_, err := client.Get(url)
			if late(err, begun) || !strings.HasPrefix(typesOf(err), "url.Error: proxyconnect tcp: ") {
				t.Errorf("%s: %v after %v", url, typesOf(err), time.Since(begun))
			}
		})
	}
}

// late reports whether err is no timeout, or came late.
func late(err error, begun time.Time) bool {
	timeout, ok := err.(net.Error)
	return !ok || !timeout.Timeout() || time.Since(begun) > 5*time.Second
}

func TestTransportExpectContinueTimeout(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	defer ln.Close()
	waited := make(chan time.Duration, 1)
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			br := bufio.NewReader(nc)
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			begun := time.Now()
			io.Copy(io.Discard, r.Body)
			waited <- time.Since(begun)
			io.WriteString(nc, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			nc.Close()
		}
	}()
	post := func(t *testing.T, client *http.Client) time.Duration {
		r := requestTo(t, "POST", "http://"+ln.Addr().String(), strings.NewReader("body"))
		r.Header.Set("Expect", "100-continue")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return <-waited
	}
	setFields(t, map[string]any{"ExpectContinueTimeout": 100 * time.Millisecond}, func(t *testing.T, client *http.Client) {
		took := post(t, client)
		for try := 0; try < 10 && (took < 80*time.Millisecond || took > 950*time.Millisecond); try++ { // the machine may be slow itself
			took = post(t, client)
		}
		if took < 80*time.Millisecond || took > 950*time.Millisecond {
			t.Errorf("the body came after %v", took)
		}
	})
	took := time.Hour
	for try := 0; try < 5 && took > 950*time.Millisecond; try++ {
		took = min(took, post(t, &http.Client{Transport: &nethttp.Transport{ExpectContinueTimeout: -1}}))
	}
	if took > 950*time.Millisecond {
		t.Errorf("without a wait, the body came after %v", took)
	}
}

func TestTransportMaxIdleConns(t *testing.T) {
	s := serveWith(t, func(_ http.ResponseWriter, r *http.Request) {})
	var dials atomic.Int32
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
	setFields(t, map[string]any{"MaxIdleConns": 4, "DialContext": dial}, func(t *testing.T, client *http.Client) {
		get := func(host int) int32 {
			before := dials.Load()
			idle := make(chan error, 1) // net/http puts it back beside
			trace := &httptrace.ClientTrace{PutIdleConn: func(err error) { idle <- err }}
			r := requestTo(t, "GET", fmt.Sprintf("http://h%d.test/", host), nil)
			resp, err := client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			select {
			case <-idle:
			case <-time.After(10 * time.Second):
				t.Errorf("the connection to host %d was not put back", host)
			}
			return dials.Load() - before
		}
		for host := range 5 {
			get(host)
		}
		for _, host := range []int{1, 2, 3, 4} {
			if get(host) != 0 {
				t.Errorf("the connection to host %d was not kept", host)
			}
		}
		if get(0) != 1 {
			t.Error("the connection to host 0 was kept")
		}
	})
	hosts := map[string]*gallop.HostClient{}
	few := &nethttp.Transport{MaxIdleConns: 1, DialContext: dial, ConfigureHost: func(hc *gallop.HostClient) { hosts[hc.Addr] = hc }}
	for _, host := range []string{"a.test", "b.test"} {
		var open []*http.Response
		for range 3 {
			resp, err := few.RoundTrip(requestTo(t, "GET", "http://"+host+"/", nil))
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, resp)
		}
		for _, resp := range open {
			resp.Body.Close()
		}
	}
	if a, b := hosts["a.test:80"].IdleConnsCount(), hosts["b.test:80"].IdleConnsCount(); a != 0 || b != 1 {
		t.Errorf("%d and %d connections are idle, want 0 and 1", a, b)
	}
	few.CloseIdleConnections()
}

func TestTransportConnectHeader(t *testing.T) {
	var mu sync.Mutex
	got := ""
	refuses := false
	proxy := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		fmt.Fprintln(&b, r.Method, r.Host)
		r.Header.Write(&b)
		mu.Lock()
		got = b.String()
		refused := refuses
		mu.Unlock()
		if refused {
			w.Header().Set("X-Why", "so")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		tunnel(t, w, r)
	})
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	target.Config.ErrorLog = quietLog
	target.StartTLS()
	t.Cleanup(target.Close)
	trusting := target.Client().Transport.(*http.Transport).TLSClientConfig
	withUser := strings.Replace(proxy.URL, "http://", "http://u:p@", 1)
	static := http.Header{"X-Static": {"1", "2"}, "Proxy-Authorization": {"Bearer x"}}
	for _, tt := range []struct {
		name    string
		fields  map[string]any
		refuses bool
		seen    bool // OnProxyConnectResponse is to be told
	}{
		{name: "header", fields: map[string]any{"Proxy": proxied(proxy.URL), "ProxyConnectHeader": static}},
		{name: "user agent", fields: map[string]any{"Proxy": proxied(proxy.URL), "ProxyConnectHeader": http.Header{"User-Agent": {"me"}}}},
		{name: "credentials", fields: map[string]any{"Proxy": proxied(withUser), "ProxyConnectHeader": static}},
		{name: "function", fields: map[string]any{"Proxy": proxied(withUser), "ProxyConnectHeader": static,
			"GetProxyConnectHeader": func(_ context.Context, u *url.URL, target string) (http.Header, error) {
				return http.Header{"X-Target": {target}, "X-Proxy": {u.Host}}, nil
			}}},
		{name: "function without fields", fields: map[string]any{"Proxy": proxied(proxy.URL), "ProxyConnectHeader": static,
			"GetProxyConnectHeader": func(context.Context, *url.URL, string) (http.Header, error) { return nil, nil }}},
		{name: "function that fails", fields: map[string]any{"Proxy": proxied(proxy.URL),
			"GetProxyConnectHeader": func(context.Context, *url.URL, string) (http.Header, error) { return nil, errRefused }}},
		{name: "response", seen: true, fields: map[string]any{"Proxy": proxied(withUser), "ProxyConnectHeader": static,
			"OnProxyConnectResponse": onConnect(nil)}},
		{name: "response, error", seen: true, fields: map[string]any{"Proxy": proxied(proxy.URL), "OnProxyConnectResponse": onConnect(errRefused)}},
		{name: "refusal", seen: true, refuses: true, fields: map[string]any{"Proxy": proxied(proxy.URL), "OnProxyConnectResponse": onConnect(nil)}},
		{name: "refusal, error", seen: true, refuses: true, fields: map[string]any{"Proxy": proxied(proxy.URL), "OnProxyConnectResponse": onConnect(errRefused)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := ""
			tt.fields["TLSClientConfig"] = trusting
			setFields(t, tt.fields, func(t *testing.T, client *http.Client) {
				mu.Lock()
				got, refuses = "", tt.refuses
				mu.Unlock()
				seen := ""
				r := requestTo(t, "GET", target.URL, nil)
				resp, err := client.Do(r.WithContext(context.WithValue(r.Context(), seenKey{}, &seen)))
				if err == nil {
					resp.Body.Close()
				}
				end := ""
				if err != nil {
					end = typesOf(err)
				}
				mu.Lock()
				defer mu.Unlock()
				all := got + seen + end
				if (seen != "") != tt.seen {
					t.Errorf("OnProxyConnectResponse: %q", seen)
				}
				if want == "" {
					want = all
				} else if all != want {
					t.Errorf("%s\nwant\n%s", all, want)
				}
			})
		})
	}
}

type seenKey struct{}

// onConnect returns an OnProxyConnectResponse that notes what it gets.
func onConnect(err error) func(context.Context, *url.URL, *http.Request, *http.Response) error {
	return func(ctx context.Context, u *url.URL, req *http.Request, resp *http.Response) error {
		var b strings.Builder
		fmt.Fprintln(&b, u.Scheme, req.Method, req.URL.Opaque, req.Host, resp.StatusCode, resp.Status, resp.Proto, resp.Header.Get("X-Why"))
		header := req.Header.Clone()
		header.Del("User-Agent") // net/http adds it behind
		header.Write(&b)
		*ctx.Value(seenKey{}).(*string) = b.String()
		return err
	}
}

// A field that must not be sent is an error.
func TestTransportConnectHeaderInvalid(t *testing.T) {
	proxy := serveWith(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, h := range []http.Header{{"X-A": {"a\r\nB: c"}}, {"X A": {"a"}}} {
		client := &http.Client{Transport: &nethttp.Transport{Proxy: proxied(proxy.URL), ProxyConnectHeader: h}}
		if _, err := client.Get("https://a.test/"); err == nil || !strings.Contains(err.Error(), "invalid header field") {
			t.Error(err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportRegisterProtocol(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "server") })
	setFields(t, nil, func(t *testing.T, client *http.Client) {
		register := client.Transport.(interface {
			RegisterProtocol(string, http.RoundTripper)
		}).RegisterProtocol
		register("file", http.NewFileTransportFS(fstest.MapFS{"a": {Data: []byte("file")}}))
		register("http", roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/mine" {
				return nil, http.ErrSkipAltProtocol
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("mine"))}, nil
		}))
		for url, want := range map[string]string{"file:///a": "file", s.URL + "/mine": "mine", s.URL: "server"} {
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, resp); got != want {
				t.Errorf("%s: %q, want %q", url, got, want)
			}
		}
		if _, err := client.Get("other://a"); err == nil {
			t.Error("a scheme that nobody knows is no error")
		}
		defer func() {
			if recover() == nil {
				t.Error("a scheme is registered twice")
			}
		}()
		register("file", client.Transport)
	})
}

// Clone copies each exported field.
func TestTransportClone(t *testing.T) {
	from := &nethttp.Transport{}
	v := reflect.ValueOf(from).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch field.Kind() {
		case reflect.Func:
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Map:
			field.Set(reflect.ValueOf(http.Header{"A": {"b"}}))
		case reflect.Pointer:
			field.Set(reflect.ValueOf(map[string]any{
				"TLSClientConfig": &tls.Config{ServerName: "a.test"},
				"Protocols":       httpProtocols((*http.Protocols).SetHTTP2),
				"HTTP2":           &http.HTTP2Config{MaxReadFrameSize: 1 << 20},
			}[v.Type().Field(i).Name]))
		default:
			field.SetInt(int64(7 + i))
		}
	}
	clone := reflect.ValueOf(from.Clone()).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch a, b := v.Field(i), clone.Field(i); {
		case !v.Type().Field(i).IsExported():
		case a.Kind() == reflect.Func:
			if b.IsNil() {
				t.Errorf("%s is not copied", name)
			}
		case a.Kind() == reflect.Pointer:
			if b.IsNil() || a.Pointer() == b.Pointer() || name == "TLSClientConfig" && b.Interface().(*tls.Config).ServerName != "a.test" ||
				name != "TLSClientConfig" && !reflect.DeepEqual(a.Interface(), b.Interface()) {
				t.Errorf("%s: %v", name, b)
			}
		case !reflect.DeepEqual(a.Interface(), b.Interface()) || a.Kind() == reflect.Map && a.Pointer() == b.Pointer():
			t.Errorf("%s: %v, want %v", name, b, a)
		}
	}
}

// httpProtocols returns the set of the protocols that the functions set.
func httpProtocols(set ...func(p *http.Protocols, ok bool)) *http.Protocols {
	p := new(http.Protocols)
	for _, f := range set {
		f(p, true)
	}
	return p
}

// A set of protocols that this version does not support is an error of RoundTrip before anything is dialed or read.
func TestTransportProtocols(t *testing.T) {
	h1, h2, h2c := (*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2, (*http.Protocols).SetUnencryptedHTTP2
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	for _, tt := range []struct {
		name      string
		protocols *http.Protocols
		ok        bool
	}{
		{"nil", nil, true},
		{"HTTP/1", httpProtocols(h1), true},
		{"none", httpProtocols(), false},
		{"HTTP/2", httpProtocols(h2), false},
		{"HTTP/1 and HTTP/2", httpProtocols(h1, h2), true},
		{"HTTP/1 and unencrypted HTTP/2", httpProtocols(h1, h2c), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dialed := 0
			transport := &nethttp.Transport{
				Protocols: tt.protocols, HTTP2: &http.HTTP2Config{MaxReadFrameSize: 1 << 20}, ForceAttemptHTTP2: true,
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					dialed++
					return new(net.Dialer).DialContext(ctx, network, addr)
				},
			}
			defer transport.CloseIdleConnections()
			body := &closeNoting{Reader: strings.NewReader("x")}
			resp, err := transport.RoundTrip(requestTo(t, "POST", s.URL, body))
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				if got := bodyOf(t, resp); got != "HTTP/1.1" {
					t.Errorf("got %q", got)
				}
				return
			}
			if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, gallop.ErrProtocols) || dialed > 0 || !body.closed.Load() {
				t.Errorf("%v after %d dials, body closed: %v", err, dialed, body.closed.Load())
			}
		})
	}
}

type closeNoting struct {
	io.Reader
	closed atomic.Bool
}

func (c *closeNoting) Close() error {
	c.closed.Store(true)
	return nil
}

// Each protocol and each field of http.HTTP2Config arrives at the HostClient.
func TestTransportConfiguresHTTP2(t *testing.T) {
	var from http.HTTP2Config
	v := reflect.ValueOf(&from).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Func:
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		default:
			field.SetInt(int64(7 + i))
		}
	}
	var host *gallop.HostClient
	transport := &nethttp.Transport{
		Protocols:     httpProtocols((*http.Protocols).SetHTTP2, (*http.Protocols).SetUnencryptedHTTP2),
		HTTP2:         &from,
		ConfigureHost: func(hc *gallop.HostClient) { host = hc },
		DialContext:   func(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported },
	}
	if _, err := transport.RoundTrip(requestTo(t, "GET", "http://a.test/", nil)); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	if got := host.Protocols.String(); got != "{HTTP2,UnencryptedHTTP2}" {
		t.Errorf("protocols %s", got)
	}
	to := reflect.ValueOf(host.HTTP2).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch got := to.FieldByName(name); {
		case !got.IsValid():
			t.Errorf("gallop.HTTP2Config has no %s", name)
		case got.Kind() == reflect.Func && got.IsNil(), got.Kind() != reflect.Func && !got.Equal(v.Field(i)):
			t.Errorf("%s is %v, want %v", name, got, v.Field(i))
		}
	}
	if to.NumField() != v.NumField() {
		t.Errorf("gallop.HTTP2Config has %d fields, http.HTTP2Config has %d", to.NumField(), v.NumField())
	}
}

// Heads up to the limit are accepted, and larger ones are an error.
func TestTransportMaxResponseHeaderBytes(t *testing.T) {
	s := serveWith(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 5000)) })
	for limit, ok := range map[int]bool{0: true, math.MaxInt: true, 4 << 10: false} {
		setFields(t, map[string]any{"MaxResponseHeaderBytes": limit}, func(t *testing.T, client *http.Client) {
			resp, err := client.Get(s.URL)
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != ok {
				t.Errorf("limit %d: %v", limit, err)
			}
		})
	}
}

func TestNewTransport(t *testing.T) {
	a, b := nethttp.NewTransport(), nethttp.NewTransport()
	if a == b || a.Proxy == nil {
		t.Errorf("%p, %p, %p", a, b, a.Proxy)
	}
	var _ http.RoundTripper = a
}
