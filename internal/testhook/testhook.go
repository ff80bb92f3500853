// Package testhook has function variables through which tests reach parts of package gallop that are not exported. The
// init functions of package gallop set the variables. Only tests and packages for tests read them. A server is passed as
// an any that holds a *gallop.Server, because this package cannot import package gallop.
package testhook

import "net"

// RaceEnabled reports whether the race detector runs.
var RaceEnabled bool

// ServeAccepted serves a connection until it is closed. Unlike ServeConn, it treats the connection as one that a
// listener accepted.
var ServeAccepted func(server any, c net.Conn) error
