package gallopgrpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
)

// serveUnary calls the handler of a unary method. Most responses leave in one piece: header, message and trailers.
func (c *call) serveUnary(ctx *gallop.RequestCtx, in *receiver) {
	recv := func(v any) error {
		if err := c.recvOnly(in, v); err != nil {
			return c.fail(err)
		}
		return nil
	}
	reply, err := c.m.unary(c.m.impl, c.context(), recv, c.s.unary)
	if err == nil {
		err = c.reply(ctx, reply)
	}
	c.stop(err)
}

// reply puts the message of a response behind its header.
func (c *call) reply(ctx *gallop.RequestCtx, v any) error {
	comp, sent := c.compressor()
	if sent { // by SendHeader
		return c.send(v)
	}
	resp := &ctx.Response
	body, size, err := c.appendMessage(resp.SwapBody(nil)[:0], v, comp)
	resp.SwapBody(body)
	if err == nil {
		c.statOut(v, size, len(body)-prefixLen)
	}
	return err
}

// stop ends the call with the status that err stands for.
func (c *call) stop(err error) {
	st := okStatus
	if err != nil {
		st = statusOf(err)
	}
	c.finish(st)
}

var okStatus = status.New(codes.OK, "")
