package fasthttp

import "github.com/gallop-http/gallop"

// Request methods.
const (
	MethodGet     = gallop.MethodGet
	MethodHead    = gallop.MethodHead
	MethodPost    = gallop.MethodPost
	MethodPut     = gallop.MethodPut
	MethodPatch   = gallop.MethodPatch
	MethodDelete  = gallop.MethodDelete
	MethodConnect = gallop.MethodConnect
	MethodOptions = gallop.MethodOptions
	MethodTrace   = gallop.MethodTrace
	MethodQuery   = gallop.MethodQuery
)
