package fasthttp

import "github.com/gallop-http/gallop"

// The types are aliases of gallop's types.
type (
	Args                    = gallop.Args
	BalancingClient         = gallop.BalancingClient
	BodyWriterTo            = gallop.BodyWriterTo
	CacheKind               = gallop.CacheKind
	Client                  = gallop.Client
	ConnPoolStrategyType    = gallop.ConnPoolStrategyType
	ConnState               = gallop.ConnState
	Cookie                  = gallop.Cookie
	CookieSameSite          = gallop.CookieSameSite
	DialFunc                = gallop.DialFunc
	DialFuncWithTimeout     = gallop.DialFuncWithTimeout
	ErrBodyStreamWritePanic = gallop.ErrBodyStreamWritePanic
	ErrBrokenChunk          = gallop.ErrBrokenChunk
	ErrDialWithUpstream     = gallop.ErrDialWithUpstream
	ErrNothingRead          = gallop.ErrNothingRead
	ErrSmallBuffer          = gallop.ErrSmallBuffer
	EscapeError             = gallop.EscapeError
	FS                      = gallop.FS
	FormValueFunc           = gallop.FormValueFunc
	HijackHandler           = gallop.HijackHandler
	HostClient              = gallop.HostClient
	InvalidHostError        = gallop.InvalidHostError
	LBClient                = gallop.LBClient
	Logger                  = gallop.Logger
	PathRewriteFunc         = gallop.PathRewriteFunc
	PipelineClient          = gallop.PipelineClient
	ReadCloserWithError     = gallop.ReadCloserWithError
	Request                 = gallop.Request
	RequestConfig           = gallop.RequestConfig
	RequestCtx              = gallop.RequestCtx
	RequestHandler          = gallop.RequestHandler
	RequestHeader           = gallop.RequestHeader
	Resolver                = gallop.Resolver
	Response                = gallop.Response
	ResponseHeader          = gallop.ResponseHeader
	RetryIfErrFunc          = gallop.RetryIfErrFunc
	RetryIfErrUpstreamFunc  = gallop.RetryIfErrUpstreamFunc
	RetryIfFunc             = gallop.RetryIfFunc
	RoundTripper            = gallop.RoundTripper
	ServeHandler            = gallop.ServeHandler
	Server                  = gallop.Server
	StreamWriter            = gallop.StreamWriter
	TCPDialer               = gallop.TCPDialer
	URI                     = gallop.URI
)
