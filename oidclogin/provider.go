package oidclogin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	refreshAfter = time.Hour // how old metadata may be
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// metadata is what the provider says about itself (OpenID Connect Discovery §3).
type metadata struct {
	endpoint    oauth2.Endpoint
	verifier    *oidc.IDTokenVerifier
	endSession  string // "" if the provider has no page for logouts
	sendsIssuer bool   // the provider adds "iss" to its responses
	read        time.Time
}

// source reads the metadata when it is first needed, and again after a while. Only one request for metadata is in flight.
type source struct {
	config *Config
	client *http.Client

	mu      sync.Mutex
	current *metadata     // nil until it could be read
	flight  chan struct{} // closed when the request in flight has ended; nil if there is none
	err     error         // why the last request failed
	wait    time.Duration // how long to wait after a failure
	retry   time.Time     // when the next request is allowed after a failure
}

func newSource(config *Config) *source {
	return &source{config: config, client: newClient(config)}
}

// get returns the metadata. If metadata must be read first, get waits until ctx is done.
func (s *source) get(ctx context.Context) (*metadata, error) {
	s.mu.Lock()
	current, flight := s.current, s.flight
	stale := current == nil || time.Since(current.read) > refreshAfter
	if stale && flight == nil && time.Now().After(s.retry) {
		flight = make(chan struct{})
		s.flight = flight
		go s.read(flight)
	}
	err := s.err
	s.mu.Unlock()
	if current != nil {
		return current, nil // the old metadata, while new metadata is read
	}
	if flight == nil {
		return nil, err
	}
	select {
	case <-flight:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, s.err
	}
	return s.current, nil
}

// pause returns how long get will fail.
func (s *source) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.retry)
}

// read reads the metadata and closes flight.
func (s *source) read(flight chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Timeout)
	defer cancel()
	m, err := s.discover(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = err; err == nil {
		s.current, s.wait, s.retry = m, 0, time.Time{}
	} else {
		s.wait = min(max(2*s.wait, firstPause), longestPause)
		s.retry = time.Now().Add(s.wait)
	}
	s.flight = nil
	close(flight)
}

// discover sends one request for the metadata.
func (s *source) discover(ctx context.Context) (*metadata, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("oidclogin: reading the metadata of %s: %w", s.config.Issuer, err)
	}
	var more struct {
		JWKS        string   `json:"jwks_uri"`
		EndSession  string   `json:"end_session_endpoint"`
		SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		Auth        []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, err
	}
	m := &metadata{endpoint: p.Endpoint(), endSession: more.EndSession, sendsIssuer: more.SendsIssuer, read: time.Now()}
	for name, text := range map[string]string{"authorization_endpoint": m.endpoint.AuthURL, "token_endpoint": m.endpoint.TokenURL, "jwks_uri": more.JWKS} {
		if err := s.config.usable(text); err != nil {
			return nil, fmt.Errorf("oidclogin: %s in the metadata of %s is %q: %w", name, s.config.Issuer, text, err)
		}
	}
	if s.config.usable(m.endSession) != nil {
		m.endSession = ""
	}
	m.endpoint.AuthStyle = s.style(more.Auth)
	keys := oidc.ClientContext(context.Background(), withTransport(s.client, &paced{next: s.client.Transport}))
	m.verifier = p.VerifierContext(keys, &oidc.Config{ClientID: s.config.ClientID, SkipExpiryCheck: true}) // checkTimes has a bounded leeway
	return m, nil
}

// style returns how this site shows its secret. The default of the protocol is the Authorization header. Without this choice, oauth2
// would try both ways, and the first try could use up the code.
func (s *source) style(supported []string) oauth2.AuthStyle {
	basic := len(supported) == 0 || slices.Contains(supported, "client_secret_basic")
	if s.config.ClientSecret == "" || !basic {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
