package fasthttp

import (
	"errors"

	"github.com/gallop-http/gallop"
)

// Errors.
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

// ErrNeedMore is not returned by anything: what gallop reads from has what it needs, or says why not.
var ErrNeedMore = errors.New("gallop: need more data")

// What else is a variable. To set one of them here changes nothing in gallop.
var (
	DefaultTransport         = gallop.DefaultTransport
	CookieExpireDelete       = gallop.CookieExpireDelete
	CookieExpireUnlimited    = gallop.CookieExpireUnlimited
	FSCompressedFileSuffixes = gallop.FSCompressedFileSuffixes
)

// NetHttpFormValueFunc looks for values where net/http does.
var NetHttpFormValueFunc func(ctx *RequestCtx, key string) []byte = gallop.NetHttpFormValueFunc
