package gallopgrpc

import (
	"bytes"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
)

// Handler serves a gRPC request. Most programs call [Server.Configure] instead of using Handler directly. Without
// Configure, set Server.StreamRequestBody, because bidirectional streams need it, and allow HTTP/2 without TLS if clients use it.
func (s *Server) Handler(ctx *gallop.RequestCtx) {
	s.once.Do(s.resolve)
	h := &ctx.Request.Header
	subtype, ok := contentSubtype(h.ContentType())
	switch {
	case !ok:
		refuse(ctx, gallop.StatusUnsupportedMediaType, codes.InvalidArgument, "the content type is not application/grpc")
		return
	case !ctx.IsPost():
		refuse(ctx, gallop.StatusMethodNotAllowed, codes.Internal, "the method is not POST")
		return
	case !h.ProtoAtLeast(2, 0):
		refuse(ctx, gallop.StatusHTTPVersionNotSupported, codes.Internal, "gRPC needs HTTP/2")
		return
	}
	c := &call{s: s, ctx: ctx, parent: ctx.Parent()}
	if why := c.readHead(); why != "" {
		refuse(ctx, gallop.StatusBadRequest, codes.Internal, why)
		return
	}
	if !c.chooseCodec(subtype) {
		refuse(ctx, gallop.StatusUnsupportedMediaType, codes.InvalidArgument, "no codec is registered for the content type")
		return
	}
	c.serve(ctx)
}

// serve serves a call whose header was read.
func (c *call) serve(ctx *gallop.RequestCtx) {
	defer c.end()
	path := ctx.Request.Header.RequestURI()
	if c.m = c.s.find(path); c.m == nil {
		c.path = string(path)
		c.stop(status.Error(codes.Unimplemented, c.s.whyUnknown(c.path)))
		return
	}
	if c.path = c.m.path; c.path == "" {
		c.path = string(path)
	}
	if !c.chooseCompressor() {
		ctx.Response.Header.Set("Grpc-Accept-Encoding", registeredCompressors())
		c.stop(status.Errorf(codes.Unimplemented, "no decompressor is registered for the grpc-encoding %q", c.encoding))
		return
	}
	c.call(ctx)
}

// call calls the handler.
func (c *call) call(ctx *gallop.RequestCtx) {
	var in receiver
	if body := ctx.RequestBodyStream(); body != nil {
		in.setBody(body)
	} else {
		in.setBytes(ctx.PostBody())
	}
	c.statBegin()
	returned := false
	defer func() {
		in.release()
		if !returned {
			c.panicked(recover())
		}
	}()
	if c.m.unary != nil {
		c.serveUnary(ctx, &in)
	} else {
		c.serveStream(ctx, &in)
	}
	returned = true
}

// panicked ends a call whose handler has panicked with v. v is nil if the handler has ended its goroutine.
func (c *call) panicked(v any) {
	switch v {
	case nil:
		return
	case gallop.ErrAbortHandler:
		panic(v)
	}
	c.log("panic: %v\n%s", v, debug.Stack())
	c.ctx.Response.ResetBody()
	c.stop(status.Error(codes.Internal, "the handler panicked"))
}

// log logs something about the call.
func (c *call) log(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logLocked(format, args...)
}

func (c *call) logLocked(format string, args ...any) {
	if c.ctx != nil {
		c.ctx.Logger().Printf("gRPC call "+c.path+": "+format, args...)
	}
}

// readHead reads the header of the request. It returns why the request is refused, or "".
func (c *call) readHead() (why string) {
	var scratch [64]byte
	h := &c.ctx.Request.Header
	f := make(fields, 0, 256)
	for name, value := range h.All() {
		name = appendLower(scratch[:0], name)
		switch string(name) {
		case "host":
			name = append(name[:0], ":authority"...)
		case "grpc-timeout":
			d, ok := parseTimeout(value)
			if !ok {
				return "malformed grpc-timeout"
			}
			c.deadline = time.Now().Add(d)
			continue
		case "grpc-encoding":
			c.encoding = string(value)
			continue
		case "grpc-accept-encoding":
			c.accepts = string(value)
		case "content-type", "user-agent":
		default:
			switch {
			case isReserved(string(name)):
				continue
			case bytes.HasSuffix(name, []byte("-bin")) && checkBinary(string(value)) != nil:
				return "malformed binary metadata: " + string(name)
			}
		}
		f.add(name, value)
	}
	c.fields = f
	return ""
}

// contentSubtype returns what follows application/grpc in a content type. ok is false for another content type.
func contentSubtype(contentType []byte) (subtype string, ok bool) {
	rest, ok := bytes.CutPrefix(contentType, []byte("application/grpc"))
	switch {
	case !ok:
		return "", false
	case len(rest) == 0:
		return "", true
	case rest[0] == '+', rest[0] == ';':
		return subtypeName(rest[1:]), true
	}
	return "", false
}

// subtypeName returns a subtype as a string. The usual one costs no memory.
func subtypeName(b []byte) string {
	if string(b) == "proto" {
		return "proto"
	}
	return string(bytes.ToLower(b))
}

// chooseCodec chooses the codec for the content type, and reports whether there is one.
func (c *call) chooseCodec(subtype string) bool {
	c.subtype = subtype
	switch {
	case c.s.Codec != nil:
		c.codec = c.s.Codec
	case subtype == "", subtype == "proto":
		c.codec, c.plain = c.s.proto, c.s.plain
	default:
		if c.codec = encoding.GetCodecV2(subtype); c.codec == nil {
			old := encoding.GetCodec(subtype)
			if old == nil {
				return false
			}
			c.codec = codecV1{old}
		}
	}
	return true
}

// chooseCompressor finds the compressor of the request, with which responses are compressed, too. It reports whether there is
// one if the request needs it.
func (c *call) chooseCompressor() bool {
	if c.encoding == "" || c.encoding == encoding.Identity {
		return true
	}
	c.decomp = encoding.GetCompressor(c.encoding)
	c.comp = c.decomp
	return c.decomp != nil
}

// registeredCompressors returns those of the usual compressors that are registered, for grpc-accept-encoding.
func registeredCompressors() string {
	list := encoding.Identity
	for _, name := range []string{"gzip", "deflate", "snappy", "zstd", "br", "lz4"} {
		if encoding.GetCompressor(name) != nil {
			list += "," + name
		}
	}
	return list
}

// refuse refuses a request that is not a call.
func refuse(ctx *gallop.RequestCtx, httpStatus int, code codes.Code, why string) {
	ctx.Response.Reset()
	ctx.SetStatusCode(httpStatus)
	ctx.SetContentType("application/grpc")
	eachStatusField(status.New(code, why), ctx.Response.Header.Set)
}
