package gallopgrpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// A call is the context of its handler. Most handlers never ask for metadata or for the peer, and never wait for Done, so these are
// made when somebody asks. A context may be used after the handler has returned. A RequestCtx may not, so a call lets go
// of it at its end.

// Packages metadata, peer and grpc have functions that put values into a context, but their keys are secret. These are the keys with
// which the packages ask a context.
var (
	metadataKey = keyOf(func(ctx context.Context) { metadata.FromIncomingContext(ctx) })
	peerKey     = keyOf(func(ctx context.Context) { peer.FromContext(ctx) })
	streamKey   = keyOf(func(ctx context.Context) { grpc.ServerTransportStreamFromContext(ctx) })
)

// keyOf returns the key with which ask asks a context for a value.
func keyOf(ask func(context.Context)) any {
	probe := keyProbe{Context: context.Background(), key: new(any)}
	ask(probe)
	if *probe.key == nil {
		panic("gallopgrpc: this version of google.golang.org/grpc does not look for values in a context")
	}
	return *probe.key
}

// keyProbe is a context that stores the key that it is asked for.
type keyProbe struct {
	context.Context
	key *any
}

// Value implements context.Context.
func (p keyProbe) Value(key any) any {
	*p.key = key
	return nil
}

// Deadline implements context.Context.
func (c *call) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Done implements context.Context.
func (c *call) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life().Done()
}

// Err implements context.Context.
func (c *call) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life().Err()
}

// life returns the context that is done at the end of the call. c is locked.
func (c *call) life() context.Context {
	if c.inner != nil {
		return c.inner
	}
	if c.deadline.IsZero() {
		c.inner, c.cancel = context.WithCancel(context.Background())
	} else {
		c.inner, c.cancel = context.WithDeadline(context.Background(), c.deadline)
	}
	if c.ctx == nil {
		c.cancel()
		return c.inner
	}
	cancel := c.cancel
	c.unhook = c.ctx.OnDisconnect(func(error) { cancel() })
	if parent := c.parent; parent.Done() != nil {
		stop, unhook := context.AfterFunc(parent, cancel), c.unhook
		c.unhook = func() bool { stop(); return unhook() }
	}
	return c.inner
}

// Value implements context.Context. Values of the RequestCtx are found until the handler has returned.
func (c *call) Value(key any) any {
	switch key {
	case metadataKey:
		return c.incoming()
	case peerKey:
		return c.remote()
	case streamKey:
		return grpc.ServerTransportStream(c)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		if v := c.inner.Value(key); v != nil { // package context finds its own contexts like this
			return v
		}
	}
	if c.ctx == nil {
		return c.parent.Value(key)
	}
	return c.ctx.Value(key)
}

// incoming returns the metadata of the request.
func (c *call) incoming() metadata.MD {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.md == nil {
		c.md = c.fields.metadata()
	}
	return c.md
}

// remote returns the peer.
func (c *call) remote() *peer.Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerLocked()
}

func (c *call) peerLocked() *peer.Peer {
	if c.peer != nil || c.ctx == nil {
		return c.peer
	}
	c.peer = &peer.Peer{Addr: c.ctx.RemoteAddr(), LocalAddr: c.ctx.LocalAddr()}
	if state := c.ctx.TLSConnectionState(); state != nil {
		c.peer.AuthInfo = credentials.TLSInfo{State: *state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	}
	return c.peer
}

// end ends the call, which lets go of the RequestCtx.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx = nil
	if c.cancel != nil {
		c.cancel()
		c.unhook()
	}
}
