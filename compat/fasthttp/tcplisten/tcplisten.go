// Package tcplisten has the names of github.com/valyala/fasthttp/tcplisten for what is in gallop's package listen.
package tcplisten

import "github.com/gallop-http/gallop/listen"

// Config says how to listen.
type Config = listen.TCP
