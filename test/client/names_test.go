package client_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
)

// lowerServer answers one request with names in lower case.
func lowerServer(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		b := make([]byte, 1024)
		if _, err := far.Read(b); err == nil {
			_, _ = io.WriteString(far, "HTTP/1.1 204 No Content\r\nx-own: 1\r\netag: \"2\"\r\n\r\n")
		}
	}()
	return near, nil
}

func TestClientsShowNames(t *testing.T) {
	type doer interface {
		Do(req *gallop.Request, resp *gallop.Response) error
	}
	for name, tt := range map[string]struct {
		client doer
		want   string
	}{
		"Client":              {&gallop.Client{DialContext: lowerServer}, "X-Own Etag "},
		"HostClient":          {&gallop.HostClient{Addr: "h", DialContext: lowerServer}, "X-Own Etag "},
		"PipelineClient":      {&gallop.PipelineClient{Addr: "h", DialContext: lowerServer}, "X-Own Etag "},
		"Client, raw":         {&gallop.Client{DialContext: lowerServer, DisableHeaderNamesNormalizing: true}, "x-own etag "},
		"HostClient, raw":     {&gallop.HostClient{Addr: "h", DialContext: lowerServer, DisableHeaderNamesNormalizing: true}, "x-own etag "},
		"PipelineClient, raw": {&gallop.PipelineClient{Addr: "h", DialContext: lowerServer, DisableHeaderNamesNormalizing: true}, "x-own etag "},
	} {
		t.Run(name, func(t *testing.T) {
			var req gallop.Request
			var resp gallop.Response
			req.SetRequestURI("http://h/")
			if err := tt.client.Do(&req, &resp); err != nil {
				t.Fatal(err)
			}
			got := ""
			for name := range resp.Header.All() {
				got += string(name) + " "
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
