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
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// clientSetters put a string from somewhere into a request.
var clientSetters = map[string]func(*gallop.Request, string){
	"method":                    func(r *gallop.Request, s string) { r.Header.SetMethod(s) },
	"method with a tail":        func(r *gallop.Request, s string) { r.Header.SetMethod("GET" + s) },
	"SetRequestURI":             func(r *gallop.Request, s string) { r.SetRequestURI("http://h1.test/" + s) },
	"SetRequestURI, query":      func(r *gallop.Request, s string) { r.SetRequestURI("http://h1.test/?a=" + s) },
	"SetRequestURI, host":       func(r *gallop.Request, s string) { r.SetRequestURI("http://h1.test" + s + "/") },
	"SetRequestURI, userinfo":   func(r *gallop.Request, s string) { r.SetRequestURI("http://" + s + "@h1.test/") },
	"SetRequestURI, fragment":   func(r *gallop.Request, s string) { r.SetRequestURI("http://h1.test/#" + s) },
	"SetRequestURI, all":        func(r *gallop.Request, s string) { r.SetRequestURI(s) },
	"Header.SetRequestURI":      func(r *gallop.Request, s string) { r.Header.SetRequestURI("/" + s); r.Header.SetHost("h1.test") },
	"URI path":                  func(r *gallop.Request, s string) { r.URI().SetPath("/" + s) },
	"URI query":                 func(r *gallop.Request, s string) { r.URI().SetQueryString(s) },
	"URI query args":            func(r *gallop.Request, s string) { r.URI().QueryArgs().Set(s, s) },
	"URI fragment":              func(r *gallop.Request, s string) { r.URI().SetHash(s) },
	"URI user":                  func(r *gallop.Request, s string) { r.URI().SetUsername(s); r.URI().SetPassword(s) },
	"SetHost":                   func(r *gallop.Request, s string) { r.SetHost(s) },
	"Header.SetHost":            func(r *gallop.Request, s string) { r.UseHostHeader = true; r.Header.SetHost(s) },
	"Header.Set of Host":        func(r *gallop.Request, s string) { r.UseHostHeader = true; r.Header.Set("Host", s) },
	"Header.Set value":          func(r *gallop.Request, s string) { r.Header.Set("X-A", s) },
	"Header.Set name":           func(r *gallop.Request, s string) { r.Header.Set(s, "v") },
	"Header.Add value":          func(r *gallop.Request, s string) { r.Header.Add("X-A", s) },
	"Header.Add name":           func(r *gallop.Request, s string) { r.Header.Add(s, "v") },
	"Header.SetBytesKV":         func(r *gallop.Request, s string) { r.Header.SetBytesKV([]byte(s), []byte(s)) },
	"Header.SetCanonical":       func(r *gallop.Request, s string) { r.Header.SetCanonical([]byte(s), []byte(s)) },
	"Header.SetUserAgent":       func(r *gallop.Request, s string) { r.Header.SetUserAgent(s) },
	"Header.SetReferer":         func(r *gallop.Request, s string) { r.Header.SetReferer(s) },
	"Header.SetContentType":     func(r *gallop.Request, s string) { r.Header.SetContentType(s) },
	"Header.SetContentEncoding": func(r *gallop.Request, s string) { r.Header.SetContentEncoding(s) },
	"Header.SetProtocol":        func(r *gallop.Request, s string) { r.Header.SetProtocol(s) },
	"cookie name":               func(r *gallop.Request, s string) { r.Header.SetCookie(s, "v") },
	"cookie value":              func(r *gallop.Request, s string) { r.Header.SetCookie("k", s) },
	"boundary":                  func(r *gallop.Request, s string) { r.Header.SetMultipartFormBoundary(s) },
	"Set of Content-Length":     func(r *gallop.Request, s string) { r.Header.Set("Content-Length", s) },
	"Set of a wrong length":     func(r *gallop.Request, s string) { r.Header.Set("Content-Length", "1"); r.SetBodyString("x" + s) },
	"Set of Transfer-Encoding":  func(r *gallop.Request, s string) { r.Header.Set("Transfer-Encoding", s) },
	"Set of chunked":            func(r *gallop.Request, s string) { r.Header.Set("Transfer-Encoding", "chunked"); r.SetBodyString(s) },
	"Set of Connection":         func(r *gallop.Request, s string) { r.Header.Set("Connection", s) },
	"Set of Expect":             func(r *gallop.Request, s string) { r.Header.Set("Expect", s) },
	"body":                      func(r *gallop.Request, s string) { r.Header.SetMethod("POST"); r.SetBodyString(s) },
	"body of GET":               func(r *gallop.Request, s string) { r.SetBodyString(s) },
	"trailer name":              func(r *gallop.Request, s string) { _ = r.Header.SetTrailer(s); streamed(r) },
	"trailer value":             func(r *gallop.Request, s string) { _ = r.Header.SetTrailer("X-T"); streamed(r); r.Header.Set("X-T", s) },
	"stream longer than its size": func(r *gallop.Request, s string) {
		r.Header.SetMethod("POST")
		r.SetBodyStream(strings.NewReader("body"+s), 4)
	},
}

func streamed(r *gallop.Request) {
	r.Header.SetMethod("POST")
	r.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("body") })
}

// requestInjections are injections into a request.
var requestInjections = append([]string{
	"a HTTP/1.1\r\nInjected: 1\r\n\r\nGET /smuggled",
	"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
	"h1.test\r\nInjected: 1",
	"h1.test/path",
	"a@b",
	"chunked, identity",
	"é\u2028\u560d\u560a", // the last two are CR and LF for code that keeps eight bits of a code point
}, wiretest.Injections...)

// TestClientRefusesInjection puts every injection through every setter: the client must
// send nothing, or one well-formed request that says nothing that was injected.
func TestClientRefusesInjection(t *testing.T) {
	for name, set := range clientSetters {
		t.Run(name, func(t *testing.T) {
			for _, s := range requestInjections {
				got, err := emitted(func(r *gallop.Request) {
					r.SetRequestURI("http://h1.test/")
					set(r, s)
				})
				if err != nil {
					t.Errorf("%q: %v", s, err)
				}
				for _, q := range got {
					if len(got) > 1 || len(q.Values("Injected"))+len(q.Trailers) > 1 || len(q.Values("Injected")) > 0 || strings.Contains(q.Target, "smuggled ") {
						t.Errorf("%q: %d requests; %s %s %q %q", s, len(got), q.Method, q.Target, q.Fields, q.Trailers)
					}
				}
			}
		})
	}
}

// emitted has a client do a request, and once more after each of the changes, whatever
// comes of it, and returns what the server got. The error is a fault of the client.
func emitted(prepare func(*gallop.Request), changes ...func(*gallop.Request)) (got []*wiretest.Incoming, err error) {
	var mu sync.Mutex
	dial, stop := wiretest.Memory(func(c net.Conn) {
		defer c.Close()
		requests := wiretest.NewRequests(c)
		for {
			q, readErr := requests.Next()
			mu.Lock()
			if readErr != nil {
				// a client that gives up half-way is right, one that sends junk is not
				if readErr != io.EOF && !errors.Is(readErr, io.ErrUnexpectedEOF) && !isReset(readErr) {
					err = readErr
				}
				mu.Unlock()
				return
			}
			got = append(got, q)
			mu.Unlock()
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
	c := hostClient(dial, false)
	var req gallop.Request
	var resp gallop.Response
	prepare(&req)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	doErr := c.DoContext(ctx, &req, &resp)
	for _, change := range changes {
		change(&req)
		doErr = c.DoContext(ctx, &req, &resp)
	}
	c.CloseIdleConnections()
	stop()
	switch {
	case ctx.Err() != nil:
		err = errors.Join(err, fmt.Errorf("the client hangs: %w", doErr))
	case doErr == nil && len(got) == 0:
		err = errors.Join(err, errors.New("no error, and no request was sent"))
	}
	return got, err
}

// TestClientSendsWhatWasChanged changes a request between calls, whose target and host the
// client has sent before and need not judge again.
func TestClientSendsWhatWasChanged(t *testing.T) {
	write := func(view []byte, s string) { copy(view, s) }
	for name, tc := range map[string]struct {
		change func(*gallop.Request)
		want   string // target and Host; none if nothing is to be sent
	}{
		"nothing":                {func(r *gallop.Request) {}, "/foo?a=1 h1.test"},
		"SetRequestURI":          {func(r *gallop.Request) { r.SetRequestURI("http://h1.test/bar?a=1") }, "/bar?a=1 h1.test"},
		"SetRequestURI, path":    {func(r *gallop.Request) { r.SetRequestURI("/bar?a=1") }, "/bar?a=1 h1.test"},
		"SetRequestURI, no path": {func(r *gallop.Request) { r.SetRequestURI("http://h2.test") }, "/ h2.test"},
		"SetURI": {func(r *gallop.Request) {
			var u gallop.URI
			_ = u.Parse(nil, []byte("http://h2.test/bar"))
			r.SetURI(&u)
		}, "/bar h2.test"},
		"URI path":             {func(r *gallop.Request) { r.URI().SetPath("/bar") }, "/bar?a=1 h1.test"},
		"URI query":            {func(r *gallop.Request) { r.URI().SetQueryString("b") }, "/foo?b h1.test"},
		"URI arguments":        {func(r *gallop.Request) { r.URI().QueryArgs().Set("a", "2") }, "/foo?a=2 h1.test"},
		"SetHost":              {func(r *gallop.Request) { r.SetHost("h2.test") }, "/foo?a=1 h2.test"},
		"Header.SetRequestURI": {func(r *gallop.Request) { r.Header.SetRequestURI("/bar?a=1") }, "/foo?a=1 h1.test"},
		"Header.SetHost":       {func(r *gallop.Request) { r.Header.SetHost("h2.test") }, "/foo?a=1 h1.test"},
		"Reset": {func(r *gallop.Request) {
			r.Reset()
			r.SetRequestURI("http://h1.test/bar?a=1")
		}, "/bar?a=1 h1.test"},
		"CopyTo": {func(r *gallop.Request) {
			var other gallop.Request
			other.SetRequestURI("http://h1.test/bar?a=1")
			other.URI()
			other.CopyTo(r)
		}, "/bar?a=1 h1.test"},
		"method":          {func(r *gallop.Request) { r.Header.SetMethod("CONNECT") }, ""},
		"view of target":  {func(r *gallop.Request) { write(r.Header.RequestURI(), "/\r\nX:") }, "/foo?a=1 h1.test"},
		"view of a blank": {func(r *gallop.Request) { write(r.Header.RequestURI(), "/ HTTP") }, "/foo?a=1 h1.test"},
		"view of host":    {func(r *gallop.Request) { write(r.Header.Host(), "h\r\nX:") }, "/foo?a=1 h1.test"},
		"view of host, used": {func(r *gallop.Request) {
			r.UseHostHeader = true
			write(r.Header.Host(), "h\r\nX:")
		}, ""},
		"view of path": {func(r *gallop.Request) { write(r.URI().PathOriginal(), "/b\r\n") }, "/b%0D%0A?a=1 h1.test"},
	} {
		t.Run(name, func(t *testing.T) {
			for calls := range 4 {
				var changes []func(*gallop.Request)
				for range calls {
					changes = append(changes, func(*gallop.Request) {})
				}
				got, err := emitted(func(r *gallop.Request) { r.SetRequestURI("http://h1.test/foo?a=1") }, append(changes, tc.change)...)
				sent := ""
				for _, q := range got[min(calls+1, len(got)):] {
					sent += q.Target + " " + strings.Join(q.Values("Host"), " ")
				}
				if err != nil || sent != tc.want {
					t.Errorf("after %d calls: %q, %v; want %q", calls+1, sent, err, tc.want)
				}
			}
		})
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// TestClientRefusesInjectionIntoConnect puts every injection where a CONNECT to a proxy
// takes it from: the proxy gets nothing, or one well-formed CONNECT without it.
func TestClientRefusesInjectionIntoConnect(t *testing.T) {
	for _, s := range requestInjections {
		for name, call := range map[string]func(dial dialContext) error{
			"host of the request": func(dial dialContext) error {
				var req gallop.Request
				req.SetRequestURI("https://" + s + "/")
				return (&gallop.Client{DialContext: dial, Proxy: plainProxy}).DoTimeout(&req, nil, time.Second)
			},
			"SetHost": func(dial dialContext) error {
				var req gallop.Request
				req.SetRequestURI("http://h1.test/")
				req.SetHost("h1.test" + s)
				return (&gallop.Client{DialContext: dial, Proxy: plainProxy}).DoTimeout(&req, nil, time.Second)
			},
			"Addr": func(dial dialContext) error {
				c := &gallop.HostClient{Addr: "h1.test" + strings.ReplaceAll(s, ",", ";") + ":443", DialContext: dial, Proxy: plainProxy}
				return c.DoTimeout(getRequest("/"), nil, time.Second)
			},
			"Dial": func(dial dialContext) error {
				return dialedThrough(&gallop.ProxyDialer{URL: &url.URL{Scheme: "http", Host: "proxy.test"}, Connect: dial}, s+":443")
			},
			"port": func(dial dialContext) error {
				return dialedThrough(&gallop.ProxyDialer{URL: &url.URL{Scheme: "http", Host: "proxy.test"}, Connect: dial}, "h1.test:443"+s)
			},
			"Authorization": func(dial dialContext) error {
				d := &gallop.ProxyDialer{URL: &url.URL{Scheme: "http", Host: "proxy.test"}, Connect: dial, Authorization: s}
				return dialedThrough(d, "h1.test:443")
			},
			"credentials": func(dial dialContext) error {
				u := &url.URL{Scheme: "http", Host: "proxy.test", User: url.UserPassword(s, s)}
				return dialedThrough(&gallop.ProxyDialer{URL: u, Connect: dial}, "h1.test:443")
			},
		} {
			got, bad := connects(call)
			if bad != nil {
				t.Errorf("%s: %q: %v", name, s, bad)
			}
			for _, q := range got {
				if q.Method != "CONNECT" || len(got) > 1 || len(q.Values("Injected")) > 0 || q.Target != q.Values("Host")[0] {
					t.Errorf("%s: %q: %d requests; %s %s %q", name, s, len(got), q.Method, q.Target, q.Fields)
				}
			}
		}
	}
}

type dialContext = func(ctx context.Context, network, addr string) (net.Conn, error)

func plainProxy(context.Context, *url.URL) (*url.URL, error) {
	return &url.URL{Scheme: "http", Host: "proxy.test"}, nil
}

func dialedThrough(d *gallop.ProxyDialer, addr string) error {
	nc, err := d.DialTimeout(addr, time.Second)
	if err == nil {
		nc.Close()
	}
	return err
}

// connects returns what a proxy that refuses everything gets to read, and what is wrong with it.
func connects(call func(dial dialContext) error) (got []*wiretest.Incoming, bad error) {
	dial, stop := wiretest.Memory(func(c net.Conn) {
		defer c.Close()
		requests := wiretest.NewRequests(c)
		for {
			q, err := requests.Head()
			if err != nil {
				if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !isReset(err) {
					bad = err
				}
				return
			}
			got = append(got, q)
			_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		}
	})
	err := call(func(context.Context, string, string) (net.Conn, error) { return dial() })
	stop()
	if err == nil {
		bad = errors.New("the tunnel was refused, and there is no error")
	}
	return got, bad
}
