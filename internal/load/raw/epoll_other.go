//go:build !linux

package raw

// socket is not used, because only the driver with epoll has sockets of its own.
type socket struct{}

func defaultDriver(t *thread) (driver, error) { return newNetDriver(t) }
