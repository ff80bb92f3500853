package oidclogin

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/nethttp"
)

// issuer is an OpenID provider. Its fields change what it sends.
type issuer struct {
	t      testing.TB
	server *httptest.Server

	mu       sync.Mutex
	key      *rsa.PrivateKey // signs tokens
	keyID    string
	other    map[string]*rsa.PrivateKey // more keys of the key set
	codes    map[string]url.Values      // the requests that codes were made for
	requests map[string]int             // by path

	secret    string                                      // of the client
	status    int                                         // of all responses, if it is not 0
	delay     time.Duration                               // of all responses
	metadata  func(m map[string]any)                      // changes the metadata
	authorize func(q url.Values)                          // changes the response to the browser
	claims    func(c map[string]any)                      // changes the claims
	sign      func(header, payload map[string]any) string // makes the ID token
	token     func(m map[string]any)                      // changes the response of the token endpoint
}

var firstKey, secondKey = newKey(), newKey()

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t, key: firstKey, keyID: "first", codes: map[string]url.Values{}, requests: map[string]int{}, secret: "secret & more"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.serveMetadata)
	mux.HandleFunc("GET /keys", i.serveKeys)
	mux.HandleFunc("GET /authorize", i.serveAuthorize)
	mux.HandleFunc("POST /token", i.serveToken)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.requests[r.URL.Path]++
		status, delay := i.status, i.delay
		i.mu.Unlock()
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
		if status != 0 {
			http.Error(w, "out of order", status)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.server.Close)
	return i
}

// set changes fields while the issuer serves.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) seen(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[path]
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (i *issuer) serveMetadata(w http.ResponseWriter, r *http.Request) {
	url := i.server.URL
	m := map[string]any{
		"issuer": url, "authorization_endpoint": url + "/authorize?tenant=a", "token_endpoint": url + "/token", "jwks_uri": url + "/keys",
		"end_session_endpoint": url + "/end", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": true,
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.metadata != nil {
		i.metadata(m)
	}
	respond(w, m)
}

func (i *issuer) serveKeys(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := map[string]*rsa.PrivateKey{i.keyID: i.key}
	maps.Copy(all, i.other)
	var keys []map[string]any
	for id, key := range all {
		keys = append(keys, map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": id, "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		})
	}
	respond(w, map[string]any{"keys": keys})
}

// serveAuthorize is the login page. The user is always logged in.
func (i *issuer) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("response_type") != "code", q.Get("client_id") != "shop", q.Get("scope") != "openid profile email", q.Get("tenant") != "a":
		i.t.Errorf("wrong request: %v", q)
	case q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43, len(q.Get("state")) < 22, len(q.Get("nonce")) < 22:
		i.t.Errorf("insecure request: %v", q)
	}
	code := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.codes[code] = q
	response := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.server.URL}}
	if i.authorize != nil {
		i.authorize(response)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+response.Encode(), http.StatusFound)
}

func (i *issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	request, known := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	user, password, _ := r.BasicAuth()
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	failure := ""
	switch {
	case user != "shop" || password != url.QueryEscape(i.secret):
		failure = "invalid_client"
	case !known, request.Get("redirect_uri") != r.PostFormValue("redirect_uri"), request.Get("code_challenge") != encode(verifier[:]):
		failure = "invalid_grant"
	}
	if failure != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		respond(w, map[string]any{"error": failure})
		return
	}
	claims := i.goodClaims()
	claims["nonce"] = request.Get("nonce")
	if i.claims != nil {
		i.claims(claims)
	}
	m := map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": i.signed(claims)}
	if i.token != nil {
		i.token(m)
	}
	respond(w, m)
}

func (i *issuer) goodClaims() map[string]any {
	now := time.Now().Unix()
	return map[string]any{
		"iss": i.server.URL, "aud": "shop", "sub": "gopher", "iat": now, "exp": now + 300, "auth_time": now - 10, "sid": "s1", "email": "gopher@example.com",
	}
}

// signed returns a token. The caller holds mu.
func (i *issuer) signed(claims map[string]any) string {
	header := map[string]any{"alg": "RS256", "kid": i.keyID, "typ": "JWT"}
	if i.sign != nil {
		return i.sign(header, claims)
	}
	return signRS256(i.key, header, claims)
}

func signRS256(key *rsa.PrivateKey, header, claims map[string]any) string {
	text := unsigned(header, claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + encode(signature)
}

func unsigned(header, claims map[string]any) string {
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	return encode(h) + "." + encode(c)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// browser keeps cookies and follows no redirects.
type browser struct {
	t       testing.TB
	test    func(*http.Request) (*http.Response, error)
	cookies map[string]string
}

// send sends a request to the app. The target is a path or a URL of the app.
func (b *browser) send(method, target string) *http.Response {
	b.t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequest(method, u.RequestURI(), nil)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := b.test(r)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cookie := range response.Cookies() {
		if b.cookies[cookie.Name] = cookie.Value; cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
	return response
}

// begin starts a login, and returns the URL of the provider's page.
func (b *browser) begin(target string) string {
	b.t.Helper()
	response := b.send("GET", target)
	if response.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("login: status %d", response.StatusCode)
	}
	return response.Header.Get("Location")
}

// visit opens the provider's page, and returns the URL of the callback that the provider redirects to.
func (b *browser) visit(page string) string {
	b.t.Helper()
	client := http.Client{
		Transport: nethttp.NewTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	response, err := client.Get(page)
	if err != nil {
		b.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusFound {
		b.t.Fatalf("the provider's page: status %s", strconv.Itoa(response.StatusCode))
	}
	return response.Header.Get("Location")
}

// login logs in and returns the response of the callback.
func (b *browser) login() *http.Response {
	b.t.Helper()
	return b.send("GET", b.visit(b.begin("/login?return=/cart")))
}
