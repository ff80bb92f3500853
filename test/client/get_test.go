package client_test

import (
	"errors"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// redirects sends who asks on to the URI in the query, or says which host was asked.
func redirects(ctx *gallop.RequestCtx) {
	if to := ctx.QueryArgs().Peek("to"); len(to) > 0 {
		ctx.Response.Header.SetBytesV("Location", to)
		ctx.SetStatusCode(gallop.StatusFound)
		return
	}
	ctx.Write(ctx.Host())
}

func TestHostClientFollowsRedirectsToItsHostOnly(t *testing.T) {
	ln := servertest.Start(t, &gallop.Server{Handler: redirects})
	c := &gallop.HostClient{Addr: "a.test:80", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	for _, tc := range []struct {
		url, body string
		err       error
	}{
		{"http://a.test/", "a.test", nil},
		{"http://a.test/?to=/there", "a.test", nil},
		{"http://a.test/?to=http://a.test/", "a.test", nil},
		{"http://a.test/?to=http://a.test:80/", "a.test:80", nil},
		{"http://a.test/?to=http://a.test:/", "a.test:", nil},
		{"http://a.test/?to=http://a.test:443/", "", gallop.ErrHostClientRedirectToDifferentHost},
		{"http://a.test/?to=http://b.test/", "", gallop.ErrHostClientRedirectToDifferentHost},
		{"http://a.test/?to=//b.test/", "", gallop.ErrHostClientRedirectToDifferentHost},
		{"http://a.test/?to=https://b.test/", "", gallop.ErrHostClientRedirectToDifferentScheme},
		{"http://a.test/?to=https://a.test/", "", gallop.ErrHostClientRedirectToDifferentScheme},
	} {
		_, body, err := c.Get(nil, tc.url)
		if !errors.Is(err, tc.err) || string(body) != tc.body {
			t.Errorf("%s: %q, %v", tc.url, body, err)
		}
	}
	c.CloseIdleConnections()
}

func TestClientFollowsRedirectsAnywhere(t *testing.T) {
	ln := servertest.Start(t, &gallop.Server{Handler: redirects})
	c := &gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	status, body, err := c.Get(nil, "http://a.test/?to=http://b.test/")
	if status != 200 || string(body) != "b.test" || err != nil {
		t.Errorf("%d, %q, %v", status, body, err)
	}
	status, body, err = c.Post(nil, "http://c.test/?to=/there", nil)
	if status != 200 || string(body) != "c.test" || err != nil {
		t.Errorf("%d, %q, %v", status, body, err)
	}
	c.CloseIdleConnections()
}
