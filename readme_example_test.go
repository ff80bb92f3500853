package gallop_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/gallop-http/gallop/rest"
)

// README.md shows this function.
func printIssues(ctx context.Context, url, token string) error {
	api, err := rest.New(url, rest.WithAuth(rest.Bearer(token)))
	if err != nil {
		return err
	}
	issues := rest.PagesByLink[struct{ Title string }](ctx, api, "repos/golang/go/issues", rest.SetQuery("state", "open"))
	for issue, err := range issues { // fetches each page when the loop needs it
		if err != nil {
			return err // a *rest.APIError, a *rest.RateLimitError, …
		}
		fmt.Println(issue.Title)
	}
	return nil
}

func Example_pages() {
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("page") == "" {
			w.Header().Set("Link", `<?state=open&page=2>; rel="next"`)
			fmt.Fprint(w, `[{"title": "first"}, {"title": "second"}]`)
			return
		}
		fmt.Fprintf(w, `[{"title": "the last, for %s"}]`, r.Header.Get("Authorization"))
	}))
	defer github.Close()
	if err := printIssues(context.Background(), github.URL+"/", "secret"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// first
	// second
	// the last, for Bearer secret
}
