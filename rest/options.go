package rest

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// Option configures a [Client]. Functions such as [WithAuth] return Options. New and Clone ignore a nil Option.
type Option interface {
	apply(c *Client) error
}

type option func(*Client) error

func (f option) apply(c *Client) error { return f(c) }

// WithClient makes the client send requests through g. The argument g must not follow redirects itself, so its MaxRedirects
// must be 0. If g.DetailedErrors is set, the client also retries a POST when no part of the request was written. By default,
// a gallop.Client rejects response headers over 4 KiB and dials only IPv4. To accept larger headers, set
// MaxResponseHeaderBytes. To dial IPv6 as well, set DialDualStack.
func WithClient(g *gallop.Client) Option {
	return option(func(c *Client) error {
		if g == nil || g.MaxRedirects > 0 {
			return fmt.Errorf("%w: WithClient wants a client that follows no redirects", errOption)
		}
		c.transport = newGallopTransport(g)
		return nil
	})
}

// WithTransport makes the client use rt instead of a gallop.Client. The argument rt must not follow redirects. If rt caches
// responses, it should add the header X-From-Cache to cached responses. The client ignores the rate limits in responses with
// X-From-Cache, because these rate limits are outdated.
func WithTransport(rt http.RoundTripper) Option {
	return option(func(c *Client) error {
		if rt == nil {
			return fmt.Errorf("%w: WithTransport(nil)", errOption)
		}
		c.transport = httpTransport{rt}
		return nil
	})
}

// WithHeader adds a header to each request that does not set this header itself. The header is sent only to the origin
// of the base URL, even after a redirect.
func WithHeader(name, value string) Option {
	return option(func(c *Client) error {
		if err := checkHeader(name, value); err != nil {
			return err
		}
		c.headers.add(name, value, foldName)
		return nil
	})
}

// WithQuery adds a query parameter to all requests to the origin of the base URL. If the path of a request or SetQuery sets
// the parameter, the request's value is sent instead.
func WithQuery(name, value string) Option {
	return option(func(c *Client) error {
		c.query.add(name, value, sameName)
		return nil
	})
}

// WithCookie adds a cookie to all requests to the origin of the base URL. If a request sets this cookie itself, the
// request's value is sent instead. To store cookies that the server sets, use a gallop.Client with a cookie jar. See
// [WithClient].
func WithCookie(name, value string) Option {
	return option(func(c *Client) error {
		if err := checkCookie(name, value); err != nil {
			return err
		}
		c.cookies.set(name, value, sameName)
		return nil
	})
}

// WithPathValue sets the value of {name} or {name...} in every path that contains it. If the request sets a value for
// the same name, the request's value is used.
func WithPathValue(name, value string) Option {
	return option(func(c *Client) error {
		c.params.set(name, value, sameName)
		return nil
	})
}

// WithUserAgent sets the User-Agent header. The default is "gallop-rest". An empty agent sends no User-Agent.
func WithUserAgent(agent string) Option {
	return option(func(c *Client) error {
		c.agent = agent
		return checkHeader("User-Agent", agent)
	})
}

// WithTimeout limits how long a call may take, including waits, retries, redirects and reading the body. The default is 0:
// only the deadline of the context limits the call.
func WithTimeout(d time.Duration) Option {
	return option(func(c *Client) error {
		if d < 0 {
			return fmt.Errorf("%w: WithTimeout wants no negative time", errOption)
		}
		c.timeout = d
		return nil
	})
}

// WithCodec sets the codec for the bodies of requests and responses. The default codec does not escape JSON for
// HTML, and ignores anything that follows the JSON value in a response:
//
//	codec.JSON{KeepHTML: true, IgnoreTrailing: true}
//
// If the codec implements codec.StreamDecoder, it decodes bodies over 1 MiB while they arrive. Any other codec gets the
// whole body, up to the limit of WithMaxBody. If the codec implements codec.Appender, encoding a request body avoids
// one copy.
func WithCodec(bodies codec.Codec) Option {
	return option(func(c *Client) error {
		if bodies == nil {
			return fmt.Errorf("%w: WithCodec(nil)", errOption)
		}
		c.codec = bodies
		return nil
	})
}

// WithMaxBody limits how many bytes of a response body are decoded. The bytes are counted after decompression. The default
// is 64 MiB. If a body exceeds the limit, the error is [ErrBodyTooLarge]. A body that is copied to an io.Writer is not
// limited.
func WithMaxBody(n int64) Option {
	return option(func(c *Client) error {
		if n <= 0 {
			return fmt.Errorf("%w: WithMaxBody wants a positive number", errOption)
		}
		c.maxBody = n
		return nil
	})
}

// WithRedirects sets how many redirects a call follows. The default is 10. With 0, a call returns a RedirectError for
// every redirect.
func WithRedirects(most int) Option {
	return option(func(c *Client) error {
		c.maxRedirects = max(most, 0)
		return nil
	})
}

// WithRetry sets which requests are retried. The default is Retry{Max: 2}.
func WithRetry(r Retry) Option {
	return option(func(c *Client) error {
		c.retry = r
		return nil
	})
}

// WithRateLimit sets how the client handles the server's rate limits. See [RateLimit] for the default.
func WithRateLimit(policy RateLimit) Option {
	return option(func(c *Client) error {
		c.limits.policy = policy
		return nil
	})
}

// WithCache makes the client keep responses in a private cache in memory (RFC 9111). The argument size is the capacity of
// the cache in bytes. The cache does not store a response that is larger than a quarter of its capacity. Clients do not
// share a cache. A response to a request with one credential is never used for a request with another credential.
// Response.FromCache says whether a response came from the cache.
//
// The client obeys the Cache-Control header of a request. The client never sends a request with only-if-cached to the
// server. If the cache has no suitable response, the call returns an [APIError] with status 504.
func WithCache(size int64) Option {
	return option(func(c *Client) error {
		if size <= 0 {
			return fmt.Errorf("%w: WithCache wants a positive size", errOption)
		}
		c.cache = newCache(size)
		return nil
	})
}

// WithAuth adds credentials to requests to the given origins, such as https://host or https://host:port. If you pass no
// origins, WithAuth adds credentials only to requests for the base URL's origin. If several WithAuth options apply to one origin, the
// last one wins. If a request sets an Authorization header itself, this header is sent.
func WithAuth(source Auth, origins ...string) Option {
	return option(func(c *Client) error {
		if source == nil {
			return fmt.Errorf("%w: WithAuth(nil)", errOption)
		}
		a := &auth{source: source, id: "auth " + strconv.Itoa(len(c.auths))}
		for _, origin := range origins {
			t, err := parseBase(origin)
			if err != nil {
				return err
			}
			a.origins = append(a.origins, t.origin)
		}
		if len(origins) == 0 {
			a.origins = []string{c.base.origin}
		}
		c.auths = append(c.auths, a)
		return nil
	})
}

// WithLogger makes the client log what it does on its own: retries, waits for rate limits, and renewals of tokens. The level
// is Debug. Records have the attributes method and url, without secrets. By default, or if l is nil, nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *Client) error {
		c.logger = l
		return nil
	})
}
