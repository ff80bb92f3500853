package gallopgrpc

import (
	"strings"

	"github.com/gallop-http/gallop"
)

// Configure makes a server serve gRPC beside its other requests. Call Configure after the fields of the server are set, and
// before the server starts. Configure changes these fields:
//
//   - Handler: requests with a gRPC content type go to [Server.Handler], and all others to the former Handler.
//   - HeaderReceived: bodies of client streams are streamed, and bodies of other calls may be as large as MaxRecvMsgSize permits.
//   - ErrorHandler: calls that the server refuses get a gRPC status.
//   - Protocols: if it is nil, HTTP/1, HTTP/2 and HTTP/2 without TLS are turned on.
func (s *Server) Configure(server *gallop.Server) {
	other, header, refused := server.Handler, server.HeaderReceived, server.ErrorHandler
	server.Handler = func(ctx *gallop.RequestCtx) {
		if other == nil || isCall(&ctx.Request.Header) {
			s.Handler(ctx)
		} else {
			other(ctx)
		}
	}
	server.HeaderReceived = func(h *gallop.RequestHeader) gallop.RequestConfig {
		var rc gallop.RequestConfig
		if header != nil {
			rc = header(h)
		}
		if isCall(h) {
			s.adjust(h, &rc)
		}
		return rc
	}
	server.ErrorHandler = func(ctx *gallop.RequestCtx, err error) {
		if isCall(&ctx.Request.Header) {
			httpStatus := ctx.Response.StatusCode()
			refuse(ctx, gallop.StatusOK, codeOfHTTP(httpStatus), strings.ToLower(gallop.StatusMessage(httpStatus)))
		} else if refused != nil {
			refused(ctx, err)
		}
	}
	if server.Protocols == nil {
		server.Protocols = new(gallop.Protocols)
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
	}
}

// isCall reports whether the content type of a request is one of gRPC.
func isCall(h *gallop.RequestHeader) bool {
	_, ok := contentSubtype(h.ContentType())
	return ok
}

// adjust sets what the body of a call needs.
func (s *Server) adjust(h *gallop.RequestHeader, rc *gallop.RequestConfig) {
	s.once.Do(s.resolve)
	if m := s.find(h.RequestURI()); m != nil && m.info.IsClientStream {
		rc.StreamRequestBody = true
		return
	}
	rc.MaxRequestBodySize = max(s.maxRecv, s.maxRecv+prefixLen)
}
