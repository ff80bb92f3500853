package fasthttp

import (
	"errors"

	"github.com/gallop-http/gallop"
)

// Errors of gallop under fasthttp's names.
var (
	ErrNoArgValue                          = gallop.ErrNoArgValue
	ErrMissingLocation                     = gallop.ErrMissingLocation
	ErrTooManyRedirects                    = gallop.ErrTooManyRedirects
	ErrRedirectBodyStream                  = gallop.ErrRedirectBodyStream
	ErrHostClientRedirectToDifferentScheme = gallop.ErrHostClientRedirectToDifferentScheme
	ErrNoFreeConns                         = gallop.ErrNoFreeConns
	ErrConnectionClosed                    = gallop.ErrConnectionClosed
	ErrConnPoolStrategyNotImpl             = gallop.ErrConnPoolStrategyNotImpl
	ErrTimeout                             = gallop.ErrTimeout
	ErrTLSHandshakeTimeout                 = gallop.ErrTLSHandshakeTimeout
	ErrPipelineOverflow                    = gallop.ErrPipelineOverflow
	ErrNoCookies                           = gallop.ErrNoCookies
	ErrInvalidCookieValue                  = gallop.ErrInvalidCookieValue
	ErrBadTrailer                          = gallop.ErrBadTrailer
	ErrReadingResponseHeaders              = gallop.ErrReadingResponseHeaders
	ErrReadingResponseTrailer              = gallop.ErrReadingResponseTrailer
	ErrResponseFirstLineMissingSpace       = gallop.ErrResponseFirstLineMissingSpace
	ErrUnexpectedStatusCodeChar            = gallop.ErrUnexpectedStatusCodeChar
	ErrMissingRequestMethod                = gallop.ErrMissingRequestMethod
	ErrUnsupportedRequestMethod            = gallop.ErrUnsupportedRequestMethod
	ErrExtraWhitespaceInRequestLine        = gallop.ErrExtraWhitespaceInRequestLine
	ErrEmptyRequestURI                     = gallop.ErrEmptyRequestURI
	ErrDuplicateContentLength              = gallop.ErrDuplicateContentLength
	ErrUnsupportedTransferEncoding         = gallop.ErrUnsupportedTransferEncoding
	ErrNonNumericChars                     = gallop.ErrNonNumericChars
	ErrSmallReadBuffer                     = gallop.ErrSmallReadBuffer
	ErrContentEncodingUnsupported          = gallop.ErrContentEncodingUnsupported
	ErrNoMultipartForm                     = gallop.ErrNoMultipartForm
	ErrGetOnly                             = gallop.ErrGetOnly
	ErrBodyTooLarge                        = gallop.ErrBodyTooLarge
	ErrNoAvailableClients                  = gallop.ErrNoAvailableClients
	ErrAlreadyServing                      = gallop.ErrAlreadyServing
	ErrMissingFile                         = gallop.ErrMissingFile
	ErrPerIPConnLimit                      = gallop.ErrPerIPConnLimit
	ErrConcurrencyLimit                    = gallop.ErrConcurrencyLimit
	ErrDialTimeout                         = gallop.ErrDialTimeout
	ErrorInvalidURI                        = gallop.ErrorInvalidURI
)

// ErrNeedMore is never returned. It exists so that programs that use it compile.
var ErrNeedMore = errors.New("gallop: need more data")

// Other variables. Setting one of them has no effect on gallop.
var (
	DefaultTransport         = gallop.DefaultTransport
	CookieExpireDelete       = gallop.CookieExpireDelete
	CookieExpireUnlimited    = gallop.CookieExpireUnlimited
	FSCompressedFileSuffixes = gallop.FSCompressedFileSuffixes
)

// NetHttpFormValueFunc looks for values in the same places as net/http.
var NetHttpFormValueFunc func(ctx *RequestCtx, key string) []byte = gallop.NetHttpFormValueFunc
