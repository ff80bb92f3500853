package listen_test

import (
	"context"
	"fmt"
	"syscall"

	"github.com/gallop-http/gallop/listen"
)

// Two listeners share a port, which an option of the program's own is set for as well.
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
