package memnet_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/gallop-http/gallop/memnet"
)

// A server and a client in one test, without a port.
func ExampleListener() {
	ln := memnet.NewListener()
	defer ln.Close()
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.URL.Path)
	}))

	client := &http.Client{Transport: &http.Transport{
		DialContext: ln.DialContext,
	}}
	resp, err := client.Get("http://memory/gopher")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s\n", body)
	// Output: hello /gopher
}
