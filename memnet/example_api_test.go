package memnet_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/gallop-http/gallop/memnet"
)

// DialContext has the signature that transports ask for, so no closure is needed.
func ExampleListener_DialContext() {
	ln := memnet.NewListener()
	defer ln.Close()
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))

	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	resp, err := client.Get("http://any.name/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s\n", body)
	// Output: any.name
}

// Both ends are a *memnet.Conn, so a program closes one direction without a type assertion.
func ExampleConn_CloseWrite() {
	client, server := memnet.Pipe()
	io.WriteString(client, "all I have to say")
	client.CloseWrite()
	said, err := io.ReadAll(server)
	fmt.Printf("%q %v\n", said, err)
	fmt.Println("idle:", !client.Stale())
	// Output:
	// "all I have to say" <nil>
	// idle: true
}
