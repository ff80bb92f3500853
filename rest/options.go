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

// Option configures a [Client]. The functions whose names begin with With return Options. New and Clone ignore a nil Option.
type Option interface {
	apply(c *Client) error
}

type option func(*Client) error

func (f option) apply(c *Client) error { return f(c) }

// WithClient makes the client use this gallop.Client and its connections. It must not follow
// redirects itself: MaxRedirects has to be 0. With DetailedErrors, retries include a POST of which nothing was written.
// A gallop.Client refuses heads over 4 KiB and dials IPv4 only unless its MaxResponseHeaderBytes and DialDualStack are set.
func WithClient(g *gallop.Client) Option {
	return option(func(c *Client) error {
		if g == nil || g.MaxRedirects > 0 {
			return fmt.Errorf("%w: WithClient wants a client that follows no redirects", errOption)
		}
		c.transport = newGallopTransport(g)
		return nil
	})
}

// WithTransport makes the client use rt instead of a gallop.Client. rt must not follow redirects. If
// it is a cache, the answers from there should have X-From-Cache: what they say about rate limits is old.
func WithTransport(rt http.RoundTripper) Option {
	return option(func(c *Client) error {
		if rt == nil {
			return fmt.Errorf("%w: WithTransport(nil)", errOption)
		}
		c.transport = httpTransport{rt}
		return nil
	})
}

// WithHeader adds a header field to all requests to the origin of the base URL that do not
// have it themselves. It is not sent to others, also not behind a redirect.
func WithHeader(name, value string) Option {
	return option(func(c *Client) error {
		if err := checkHeader(name, value); err != nil {
			return err
		}
		c.headers.add(name, value, foldName)
		return nil
	})
}

// WithQuery adds a query parameter, as WithHeader does a header field. A request that has it, in its path or
// by SetQuery, keeps its own.
func WithQuery(name, value string) Option {
	return option(func(c *Client) error {
		c.query.add(name, value, sameName)
		return nil
	})
}

// WithCookie adds a cookie, as WithHeader does a header field. A jar that keeps cookies of the server is
// gallop.Client's: see WithClient.
func WithCookie(name, value string) Option {
	return option(func(c *Client) error {
		if err := checkCookie(name, value); err != nil {
			return err
		}
		c.cookies.set(name, value, sameName)
		return nil
	})
}

// WithPathValue sets the value of {name} or {name...} in all paths that have it, and whose request
// does not set it.
func WithPathValue(name, value string) Option {
	return option(func(c *Client) error {
		c.params.set(name, value, sameName)
		return nil
	})
}

// WithUserAgent sets the User-Agent, "gallop-rest" by default. With "" there is none.
func WithUserAgent(agent string) Option {
	return option(func(c *Client) error {
		c.agent = agent
		return checkHeader("User-Agent", agent)
	})
}

// WithTimeout sets how long a call may take, with waiting, retries and redirects, to the end
// of its body. There is no limit by default but that of its context.
func WithTimeout(d time.Duration) Option {
	return option(func(c *Client) error {
		if d < 0 {
			return fmt.Errorf("%w: WithTimeout wants no negative time", errOption)
		}
		c.timeout = d
		return nil
	})
}

// WithCodec sets the codec for the bodies of requests and responses. The default is JSON without escapes for HTML that
// ignores whatever follows the value of a response:
//
//	codec.JSON{KeepHTML: true, IgnoreTrailing: true}
//
// A codec that is a codec.StreamDecoder decodes bodies over 1 MiB while they arrive. Other codecs get the whole body, up to
// the limit of WithMaxBody. A codec.Appender saves a copy of each request body.
func WithCodec(bodies codec.Codec) Option {
	return option(func(c *Client) error {
		if bodies == nil {
			return fmt.Errorf("%w: WithCodec(nil)", errOption)
		}
		c.codec = bodies
		return nil
	})
}

// WithMaxBody sets how many bytes of an answer, as it is decompressed, are decoded: 64 MiB by default. More is ErrBodyTooLarge.
// What goes to an io.Writer is not limited.
func WithMaxBody(n int64) Option {
	return option(func(c *Client) error {
		if n <= 0 {
			return fmt.Errorf("%w: WithMaxBody wants a positive number", errOption)
		}
		c.maxBody = n
		return nil
	})
}

// WithRedirects sets how many redirects a call follows: 10 by default. With 0 each is a RedirectError.
func WithRedirects(most int) Option {
	return option(func(c *Client) error {
		c.maxRedirects = max(most, 0)
		return nil
	})
}

// WithRetry sets what is sent again. The default is Retry{Max: 2}.
func WithRetry(r Retry) Option {
	return option(func(c *Client) error {
		c.retry = r
		return nil
	})
}

// WithRateLimit sets what happens when the server limits the rate of requests.
func WithRateLimit(policy RateLimit) Option {
	return option(func(c *Client) error {
		c.limits.policy = policy
		return nil
	})
}

// WithCache makes the client keep answers in memory, this many bytes of them at most, and none that is longer
// than a quarter of that: a private cache (RFC 9111). It is the client's own, and what it
// keeps for one credential is not shown to another. Response.FromCache says where an answer comes from. What a request says in
// Cache-Control holds; one with only-if-cached never reaches the server, and gets a 504 if there is no answer.
func WithCache(size int64) Option {
	return option(func(c *Client) error {
		if size <= 0 {
			return fmt.Errorf("%w: WithCache wants a positive size", errOption)
		}
		c.cache = newCache(size)
		return nil
	})
}

// WithAuth adds credentials to requests to these origins, https://host or https://host:port, and to no
// others; without any, to the origin of the base URL. Of several for one origin the last counts. A request
// that has an Authorization of its own keeps it.
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

// WithLogger makes the client log what it does on its own, at the level Debug: that it sends a request again, waits for a rate
// limit, or has renewed a token. Records have the attributes method and url, without secrets. nil logs nothing, which is the
// default.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *Client) error {
		c.logger = l
		return nil
	})
}
