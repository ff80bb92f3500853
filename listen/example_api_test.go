package listen_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/gallop-http/gallop/listen"
)

// Two listeners share a port. Control could set further options on each socket.
func ExampleTCP_Listen() {
	config := listen.TCP{
		ReusePort: true,
		Control: func(network, address string, c syscall.RawConn) error {
			fmt.Println("a socket of", network)
			return nil
		},
	}
	first, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err) // for example errors.ErrUnsupported
		return
	}
	defer first.Close()
	second, err := config.Listen(context.Background(), "tcp", first.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()
	fmt.Println("the same address:", first.Addr().String() == second.Addr().String())
	// Output:
	// a socket of tcp4
	// a socket of tcp4
	// the same address: true
}

// The listener has a long queue, and the system holds connections back until they have sent something. Any server can use it, such as
// Server.Serve of package gallop.
func ExampleTCP() {
	config := listen.TCP{DeferAccept: true, Backlog: 4096}
	ln, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))

	response, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(string(body), err)
	// Output: hello <nil>
}
