package raw

import "time"

// driver is what a thread needs from sockets. It calls the thread's methods connected, input, ended and writable, but only
// within wait.
type driver interface {
	// open begins to connect. The outcome is reported later, except for an error that is returned.
	open(c *conn) error
	// write writes as much of p as possible without waiting. If that is not all, the driver calls writable later.
	write(c *conn, p []byte) (n int, err error)
	// shut ends the direction of a connection in which this side sends.
	shut(c *conn) error
	// reset makes close reset the connection.
	reset(c *conn)
	// close closes a connection. Nothing is reported for it afterwards.
	close(c *conn)
	// wait handles events. Without any, it waits at most d for one. It returns early if d is exceeded.
	wait(d time.Duration)
	// sleep sleeps for d without handling events.
	sleep(d time.Duration)
	// stop frees the driver. All connections were closed before.
	stop()
}
