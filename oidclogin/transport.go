package oidclogin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxBody    = 256 << 10 // bytes of a response of the provider
	maxFailure = 4 << 10   // bytes of a response with another status than 200
	keysEvery  = time.Second
)

var errRedirect = errors.New("oidclogin: the provider redirects a request of this server, which is not allowed: use the final URL as the Issuer")

// newClient returns the client for requests to the provider.
func newClient(config *Config) *http.Client {
	return &http.Client{
		Transport: bounded{config.Transport}, Timeout: config.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
}

func withTransport(client *http.Client, transport http.RoundTripper) *http.Client {
	copied := *client
	copied.Transport = transport
	return &copied
}

// bounded limits the size of responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	} else {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxFailure), response.Body}
	}
	return response, nil
}

// paced sends a GET request at most once per keysEvery, and returns a copy of the last response until then. Anybody can send a logout token
// with an unknown key ID, and each unknown key ID makes go-oidc fetch the keys.
type paced struct {
	next http.RoundTripper

	mu       sync.Mutex
	at       time.Time
	response *http.Response // without its body
	body     []byte
	err      error
}

// RoundTrip implements http.RoundTripper. The key set of go-oidc sends only one request at a time.
func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= keysEvery {
		p.response, p.body, p.err = p.fetch(r)
		p.at = time.Now()
	}
	if p.err != nil {
		return nil, p.err
	}
	copied := *p.response
	copied.Request, copied.Body = r, io.NopCloser(bytes.NewReader(p.body))
	return &copied, nil
}

func (p *paced) fetch(r *http.Request) (*http.Response, []byte, error) {
	response, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("oidclogin: reading the keys of the provider: %w", err)
	}
	return response, body, nil
}
