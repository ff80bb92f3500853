package gallop_test

import (
	"fmt"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
)

// httptest.NewRecorder: one request to a handler, with a real server, and httptest.NewServer: a client and a server for a test.
func Example_testing() {
	count := func(ctx *gallop.RequestCtx) {
		w, err := ctx.StreamResponse() // needs a server
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, len(ctx.PostBody()), " bytes")
	}

	var req gallop.Request
	req.Header.SetMethod(gallop.MethodPost)
	req.SetRequestURI("/count")
	req.SetBodyString("hello")
	resp := galloptest.Do(count, &req)
	fmt.Println(resp.StatusCode(), string(resp.Body()))

	_ = func(t *testing.T) { // TestCount
		client, url := galloptest.Serve(t, count)
		req.SetRequestURI(url + "/count")
		if err := client.DoContext(t.Context(), &req, resp); err != nil || string(resp.Body()) != "5 bytes" {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
	}
	// Output: 200 5 bytes
}
