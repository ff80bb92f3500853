// Package testhook has function variables through which tests reach parts of package gallop that are not exported. The
// init functions of package gallop set the variables. Only tests and packages for tests read them. A server is passed as
// an any that holds a *gallop.Server, because this package cannot import package gallop. The same holds for a dialer and a
// client.
package testhook

import (
	"context"
	"net"
	"time"
)

// RaceEnabled reports whether the race detector runs.
var RaceEnabled bool

// ServeAccepted serves a connection until it is closed. Unlike ServeConn, it treats the connection as one that a
// listener accepted.
var ServeAccepted func(server any, c net.Conn) error

// WatchMoves makes a server's connection panic if its state changes in a way that is not in the picture of internal/conn.
// WatchMoves must be called before there are servers.
var WatchMoves func()

// Moves returns how often the connections of all servers have changed their states since WatchMoves was called. The keys
// are all changes in the picture, for example "idle→last".
var Moves func() map[string]uint64

// ConnectBy sets the function with which a *gallop.TCPDialer connects to an address, in place of the network.
var ConnectBy func(dialer any, connect func(ctx context.Context, network, addr string) (net.Conn, error))

// PipelineState returns what a *gallop.PipelineClient holds: how many open connections and calls that are being made,
// how many requests without a response were sent on the first connection, and how many may be on a new one.
var PipelineState func(client any) (conns, slots, ahead, window int)

// SetFileYouth changes how old a file must be to be cached by FS. It must be called before files are served.
var SetFileYouth func(d time.Duration)
