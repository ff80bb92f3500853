//go:build !linux

package peers

import (
	"context"
	"errors"
	"net"
)

type floor struct{}

func newFloor(App, Options) Server { return floor{} }

func (floor) Shutdown(context.Context) error { return nil }

func (floor) Serve(net.Listener) error {
	return errors.New("peers: the floor needs Linux, because it is an epoll loop")
}
