package rest_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/rest"
)

// An Auth that signs method, URL and body.
type hmacAuth struct{ key []byte }

func (a hmacAuth) Authorize(_ context.Context, r *rest.AuthRequest) error {
	if _, refused := r.Challenge(); refused {
		return nil // there is no better signature
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, a.key)
	fmt.Fprintf(mac, "%s\n%s\n", r.Method(), r.URL())
	if _, err := io.Copy(mac, body); err != nil {
		return err
	}
	r.SetHeader("X-Signature", hex.EncodeToString(mac.Sum(nil))[:8])
	return nil
}

func ExampleAuth() {
	api, err := rest.New("http://api.example/", saysRequest, rest.WithAuth(hmacAuth{[]byte("key")}))
	if err != nil {
		panic(err)
	}
	_, err = api.Request().SetBody(gopherNamed{"Rob"}).Post("gophers", os.Stdout)
	fmt.Println(err)
	// Output:
	// POST /gophers {"name":"Rob"} signed a008fcd4
	// <nil>
}

// saysRequest is a transport that answers with the request.
var saysRequest = rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	fmt.Fprintf(w, "%s %s", r.Method, r.URL.RequestURI())
	if r.Body != nil {
		fmt.Fprint(w, " ")
		_, _ = io.Copy(w, r.Body)
		r.Body.Close()
	}
	for _, name := range []string{"X-Signature", "X-Api-Key", "Authorization"} {
		if value := r.Header.Get(name); value != "" {
			fmt.Fprintf(w, " signed %s", value)
		}
	}
	fmt.Fprintln(w)
	return w.Result(), nil
}))

func ExampleAPIKey() {
	api, err := rest.New("http://api.example/", saysRequest, rest.WithAuth(rest.APIKey("X-Api-Key", "secret")))
	if err != nil {
		panic(err)
	}
	_, err = api.Request().Get("gophers", os.Stdout)
	fmt.Println(err)
	// Output:
	// GET /gophers signed secret
	// <nil>
}

func ExampleAuthFunc() {
	auth := rest.AuthFunc(func(ctx context.Context) (string, error) { return "Negotiate YII=", nil })
	api, err := rest.New("http://api.example/", saysRequest, rest.WithAuth(auth))
	if err != nil {
		panic(err)
	}
	_, err = api.Request().Get("gophers", os.Stdout)
	fmt.Println(err)
	// Output:
	// GET /gophers signed Negotiate YII=
	// <nil>
}

func ExampleWithRequestHook() {
	type traceKey struct{}
	api, err := rest.New("http://api.example/", saysRequest,
		rest.WithRequestHook(func(ctx context.Context, r *rest.Request) error {
			method, path := r.Target()
			r.SetContext(context.WithValue(ctx, traceKey{}, "span of "+method+" "+path))
			return nil
		}),
		rest.WithResponseHook(func(r *rest.Request, resp *rest.Response, err error) {
			fmt.Println("end the", r.Context().Value(traceKey{}), resp.StatusCode, err)
		}))
	if err != nil {
		panic(err)
	}
	_, err = api.Request().Get("gophers", nil)
	fmt.Println(err)
	// Output:
	// end the span of GET gophers 200 <nil>
	// <nil>
}

func ExamplePost() {
	api, err := rest.New("http://api.example/", rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		defer r.Body.Close()
		w := httptest.NewRecorder()
		_, err := io.Copy(w, r.Body)
		return w.Result(), err
	})))
	if err != nil {
		panic(err)
	}
	echoed, err := rest.Post[gopherNamed](context.Background(), api, "gophers", gopherNamed{"Rob"})
	fmt.Println(echoed.Name, err)
	// Output: Rob <nil>
}

func ExampleSend() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over)
	if err != nil {
		panic(err)
	}
	list, resp, err := rest.Send[[]gopherNamed](context.Background(), api, "GET", "gophers", nil)
	fmt.Println(len(list), resp.StatusCode, resp.Protocol, resp.Link("next"), err)
	// Output: 2 200 HTTP/1.1 http://api.example/gophers?page=2 <nil>
}

func ExampleIntoResponse() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over)
	if err != nil {
		panic(err)
	}
	var resp *rest.Response
	list, err := rest.Get[[]gopherNamed](context.Background(), api, "gophers", rest.IntoResponse(&resp),
		func(r *rest.Request) { r.SetTimeout(time.Second) })
	fmt.Println(len(list), resp.Header("Link"), err)
	// Output: 2 </gophers?page=2>; rel="next" <nil>
}

func ExamplePagesByNumber() {
	ctx := context.Background()
	pages := []string{`[1,2]`, `[3]`, `[]`}
	next := 0
	api, err := rest.New("http://api.example/", rest.WithTransport(roundTripper(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		_, err := io.WriteString(w, pages[next])
		next++
		return w.Result(), err
	})))
	if err != nil {
		panic(err)
	}
	for n, err := range rest.PagesByNumber[int](ctx, api, "numbers", "page", 1, rest.EachPage(func(r *rest.Response) { fmt.Println(r.URL()) })) {
		fmt.Println(n, err)
	}
	// Output:
	// http://api.example/numbers?page=1
	// 1 <nil>
	// 2 <nil>
	// http://api.example/numbers?page=2
	// 3 <nil>
	// http://api.example/numbers?page=3
}

func ExampleRequest_SetQueryFrom() {
	type listOptions struct {
		State  string        `query:"state,omitempty"`
		Labels []string      `query:"labels,comma"`
		Day    time.Time     `query:"day" layout:"2006-01-02"`
		Within time.Duration `query:"within"`
	}
	api, err := rest.New("http://api.example/", saysRequest)
	if err != nil {
		panic(err)
	}
	options := listOptions{Labels: []string{"bug", "ui"}, Day: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Within: time.Hour}
	type path struct {
		Owner string `path:"owner"`
	}
	_, err = api.Request().SetQueryFrom(options).SetPathValuesFrom(path{"rob"}).Get("users/{owner}/issues", os.Stdout)
	fmt.Println(err)
	// Output:
	// GET /users/rob/issues?labels=bug%2Cui&day=2026-01-02&within=1h0m0s
	// <nil>
}

func ExampleRetry() {
	policy := rest.Retry{
		Max:     4,
		If:      func(a rest.Attempt) bool { return a.ReplaySafe && a.Elapsed < time.Minute },
		Backoff: func(a rest.Attempt) time.Duration { return time.Duration(a.Number) * time.Millisecond },
	}
	tries := 0
	api, err := rest.New("http://api.example/", rest.WithRetry(policy), rest.WithTransport(roundTripper(func(*http.Request) (*http.Response, error) {
		tries++
		return nil, errors.New("no network")
	})))
	if err != nil {
		panic(err)
	}
	err = rest.Delete(context.Background(), api, "gophers/{name}", rest.SetPathValue("name", "rob"))
	fmt.Println(tries, err)
	// Output: 5 rest: DELETE http://api.example/gophers/rob: no network
}

func ExampleStatusOf() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over)
	if err != nil {
		panic(err)
	}
	_, err = rest.Get[gopherNamed](context.Background(), api, "cats")
	fmt.Println(rest.StatusOf(fmt.Errorf("handler: %w", err)))
	// Output: 404
}

func ExampleRequest_Clone() {
	api, err := rest.New("http://api.example/", saysRequest)
	if err != nil {
		panic(err)
	}
	base := api.Request().SetQuery("per_page", "100").SetTarget("GET", "issues")
	for _, state := range []string{"open", "closed"} {
		if _, err := api.Do(base.Clone().SetQuery("state", state), os.Stdout); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// GET /issues?per_page=100&state=open
	// GET /issues?per_page=100&state=closed
}

func ExampleWithCodec() {
	api, err := rest.New("http://api.example/", saysRequest, nil, // a nil option is ignored
		rest.WithCodec(codec.XML{}), rest.WithLogger(slog.Default()))
	if err != nil {
		panic(err)
	}
	_, err = api.Request().SetBody(gopherNamed{"Rob"}).Put("gophers/1", os.Stdout)
	fmt.Println(err)
	// Output:
	// PUT /gophers/1 <?xml version="1.0" encoding="UTF-8"?>
	// <gopherNamed><Name>Rob</Name></gopherNamed>
	// <nil>
}
