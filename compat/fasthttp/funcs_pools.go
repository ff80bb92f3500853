package fasthttp

import (
	"time"

	"github.com/gallop-http/gallop"
)

func AcquireArgs() *Args { return gallop.AcquireArgs() }

func ReleaseArgs(a *Args) { gallop.ReleaseArgs(a) }

func AcquireRequest() *Request { return gallop.AcquireRequest() }

func ReleaseRequest(req *Request) { gallop.ReleaseRequest(req) }

func AcquireResponse() *Response { return gallop.AcquireResponse() }

func ReleaseResponse(resp *Response) { gallop.ReleaseResponse(resp) }

func AcquireCookie() *Cookie { return gallop.AcquireCookie() }

func ReleaseCookie(c *Cookie) { gallop.ReleaseCookie(c) }

func AcquireTimer(timeout time.Duration) *time.Timer { return gallop.AcquireTimer(timeout) }

func ReleaseTimer(t *time.Timer) { gallop.ReleaseTimer(t) }

func AcquireURI() *URI { return gallop.AcquireURI() }

func ReleaseURI(u *URI) { gallop.ReleaseURI(u) }
