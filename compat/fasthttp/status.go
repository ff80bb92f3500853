package fasthttp

import "github.com/gallop-http/gallop"

// Status codes.
const (
	StatusContinue                      = gallop.StatusContinue
	StatusSwitchingProtocols            = gallop.StatusSwitchingProtocols
	StatusProcessing                    = gallop.StatusProcessing
	StatusEarlyHints                    = gallop.StatusEarlyHints
	StatusOK                            = gallop.StatusOK
	StatusCreated                       = gallop.StatusCreated
	StatusAccepted                      = gallop.StatusAccepted
	StatusNonAuthoritativeInfo          = gallop.StatusNonAuthoritativeInfo
	StatusNoContent                     = gallop.StatusNoContent
	StatusResetContent                  = gallop.StatusResetContent
	StatusPartialContent                = gallop.StatusPartialContent
	StatusMultiStatus                   = gallop.StatusMultiStatus
	StatusAlreadyReported               = gallop.StatusAlreadyReported
	StatusIMUsed                        = gallop.StatusIMUsed
	StatusMultipleChoices               = gallop.StatusMultipleChoices
	StatusMovedPermanently              = gallop.StatusMovedPermanently
	StatusFound                         = gallop.StatusFound
	StatusSeeOther                      = gallop.StatusSeeOther
	StatusNotModified                   = gallop.StatusNotModified
	StatusUseProxy                      = gallop.StatusUseProxy
	StatusTemporaryRedirect             = gallop.StatusTemporaryRedirect
	StatusPermanentRedirect             = gallop.StatusPermanentRedirect
	StatusBadRequest                    = gallop.StatusBadRequest
	StatusUnauthorized                  = gallop.StatusUnauthorized
	StatusPaymentRequired               = gallop.StatusPaymentRequired
	StatusForbidden                     = gallop.StatusForbidden
	StatusNotFound                      = gallop.StatusNotFound
	StatusMethodNotAllowed              = gallop.StatusMethodNotAllowed
	StatusNotAcceptable                 = gallop.StatusNotAcceptable
	StatusProxyAuthRequired             = gallop.StatusProxyAuthRequired
	StatusRequestTimeout                = gallop.StatusRequestTimeout
	StatusConflict                      = gallop.StatusConflict
	StatusGone                          = gallop.StatusGone
	StatusLengthRequired                = gallop.StatusLengthRequired
	StatusPreconditionFailed            = gallop.StatusPreconditionFailed
	StatusRequestEntityTooLarge         = gallop.StatusRequestEntityTooLarge
	StatusRequestURITooLong             = gallop.StatusRequestURITooLong
	StatusUnsupportedMediaType          = gallop.StatusUnsupportedMediaType
	StatusRequestedRangeNotSatisfiable  = gallop.StatusRequestedRangeNotSatisfiable
	StatusExpectationFailed             = gallop.StatusExpectationFailed
	StatusTeapot                        = gallop.StatusTeapot
	StatusMisdirectedRequest            = gallop.StatusMisdirectedRequest
	StatusUnprocessableEntity           = gallop.StatusUnprocessableEntity
	StatusLocked                        = gallop.StatusLocked
	StatusFailedDependency              = gallop.StatusFailedDependency
	StatusUpgradeRequired               = gallop.StatusUpgradeRequired
	StatusPreconditionRequired          = gallop.StatusPreconditionRequired
	StatusTooManyRequests               = gallop.StatusTooManyRequests
	StatusRequestHeaderFieldsTooLarge   = gallop.StatusRequestHeaderFieldsTooLarge
	StatusUnavailableForLegalReasons    = gallop.StatusUnavailableForLegalReasons
	StatusInternalServerError           = gallop.StatusInternalServerError
	StatusNotImplemented                = gallop.StatusNotImplemented
	StatusBadGateway                    = gallop.StatusBadGateway
	StatusServiceUnavailable            = gallop.StatusServiceUnavailable
	StatusGatewayTimeout                = gallop.StatusGatewayTimeout
	StatusHTTPVersionNotSupported       = gallop.StatusHTTPVersionNotSupported
	StatusVariantAlsoNegotiates         = gallop.StatusVariantAlsoNegotiates
	StatusInsufficientStorage           = gallop.StatusInsufficientStorage
	StatusLoopDetected                  = gallop.StatusLoopDetected
	StatusNotExtended                   = gallop.StatusNotExtended
	StatusNetworkAuthenticationRequired = gallop.StatusNetworkAuthenticationRequired
)
