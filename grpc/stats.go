package gallopgrpc

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// The functions in this file tell the StatsHandler about a call. They do nothing without one.

// context returns the context of the handler.
func (c *call) context() context.Context {
	if c.tagged != nil {
		return c.tagged
	}
	return c
}

// statBegin begins a call.
func (c *call) statBegin() {
	h := c.s.StatsHandler
	if h == nil {
		return
	}
	from := c.remote()
	c.began = time.Now()
	c.tagged = h.TagRPC(c, &stats.RPCTagInfo{FullMethodName: c.path})
	h.HandleRPC(c.tagged, &stats.InHeader{FullMethod: c.path, RemoteAddr: from.Addr, LocalAddr: from.LocalAddr,
		Compression: c.encoding, Header: metadata.MD.Copy(c.incoming())})
	h.HandleRPC(c.tagged, &stats.Begin{BeginTime: c.began, IsClientStream: c.m.info.IsClientStream, IsServerStream: c.m.info.IsServerStream})
}

// statIn is called after a message was received. wire is its size on the wire, without the prefix.
func (c *call) statIn(v any, size, wire int) {
	if c.tagged != nil {
		c.s.StatsHandler.HandleRPC(c.tagged, &stats.InPayload{Payload: v, Length: size, CompressedLength: wire,
			WireLength: wire + prefixLen, RecvTime: time.Now()})
	}
}

// statOut is called after a message was sent.
func (c *call) statOut(v any, size, wire int) {
	if c.tagged != nil {
		c.s.StatsHandler.HandleRPC(c.tagged, &stats.OutPayload{Payload: v, Length: size, CompressedLength: wire,
			WireLength: wire + prefixLen, SentTime: time.Now()})
	}
}

// statHeader is called after the header was sent.
func (c *call) statHeader() {
	if c.tagged == nil {
		return
	}
	c.mu.Lock()
	event := &stats.OutHeader{Header: c.header.Copy()}
	if c.comp != nil {
		event.Compression = c.comp.Name()
	}
	c.mu.Unlock()
	c.s.StatsHandler.HandleRPC(c.tagged, event)
}

// statEnd ends a call.
func (c *call) statEnd(st *status.Status) {
	if c.tagged == nil {
		return
	}
	c.mu.Lock()
	trailer := c.trailer.Copy()
	c.mu.Unlock()
	c.s.StatsHandler.HandleRPC(c.tagged, &stats.OutTrailer{Trailer: trailer})
	c.s.StatsHandler.HandleRPC(c.tagged, &stats.End{BeginTime: c.began, EndTime: time.Now(), Error: st.Err()})
}
