package gallop

import (
	"context"
	"time"
)

// Get, Post, DoRedirects and their variants make a call in one line of code and follow redirects. They send
// each request with a Client or a HostClient. Get, Post and their variants follow at most maxGetRedirects
// redirects.

const maxGetRedirects = 16

// caller makes calls. The deadline may be the zero time.
type caller interface {
	rules(maxRedirects int) redirectRules
	do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error
}

// follow makes a call and follows up to maxRedirects redirects.
func follow(c caller, deadline time.Time, req *Request, resp *Response, maxRedirects int) error {
	return doRedirects(context.Background(), req, resp, c.rules(maxRedirects),
		func(ctx context.Context, req *Request, resp *Response) error {
			return c.do(ctx, deadline, req, resp)
		})
}

// sameHost makes calls to the host of the first one only. A HostClient would send what
// is meant for another one to the same address.
type sameHost struct {
	*HostClient
	host string // without the port that is the default one
}

// rules allows redirects to http, since do refuses each other scheme, with the error that fasthttp has for that.
func (c *sameHost) rules(maxRedirects int) redirectRules {
	return redirectRules{max: maxRedirects, allowPlain: true, detailed: c.DetailedErrors}
}

func (c *sameHost) do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	host := string(withoutDefaultPort(req.URI()))
	if c.host == "" {
		c.host = host
	}
	if host != c.host {
		err := ErrHostClientRedirectToDifferentHost
		if req.URI().isHTTPS() != c.IsTLS {
			err = ErrHostClientRedirectToDifferentScheme
		}
		return redirectFailed(ctx, req, c.rules(0), err)
	}
	return c.HostClient.do(ctx, deadline, req, resp)
}

func getURL(c caller, dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI(url)
	return callForBody(c, dst, req, deadline)
}

func postURL(c caller, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI(url)
	req.Header.SetMethod(MethodPost)
	req.Header.SetContentType(mediaTypeForm)
	if postArgs != nil {
		req.SetBody(postArgs.QueryString())
	}
	return callForBody(c, dst, req, time.Time{})
}

func callForBody(c caller, dst []byte, req *Request, deadline time.Time) (statusCode int, body []byte, err error) {
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	resp.readWhole = true
	if err := follow(c, deadline, req, resp, maxGetRedirects); err != nil {
		return 0, dst, err
	}
	body = append(dst[:0], resp.Body()...)
	return resp.StatusCode(), body, resp.BodyErr()
}

// DoRedirects does the same as Do, but follows up to maxRedirectsCount redirects within the host. If a redirect leads
// to another host, the call fails with ErrHostClientRedirectToDifferentHost. If a redirect leads to another scheme, the
// call fails with ErrHostClientRedirectToDifferentScheme. See [Client.DoRedirects].
func (c *HostClient) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return follow(&sameHost{HostClient: c}, time.Time{}, req, resp, maxRedirectsCount)
}

// Get sends a GET request to url and returns the status code and the body. The call follows up to 16 redirects within
// the host. The body overwrites the contents of dst. If dst is too small, a new slice is allocated.
func (c *HostClient) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL(&sameHost{HostClient: c}, dst, url, time.Time{})
}

// GetTimeout does the same as Get, but fails with ErrTimeout if the call takes longer than timeout.
func (c *HostClient) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return getURL(&sameHost{HostClient: c}, dst, url, time.Now().Add(timeout))
}

// GetDeadline does the same as Get, but fails with ErrTimeout if the call has not ended by the deadline. The zero
// time means no deadline.
func (c *HostClient) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return getURL(&sameHost{HostClient: c}, dst, url, deadline)
}

// Post sends a POST request to url with postArgs as a form, and returns the status code and the body. The argument
// postArgs may be nil. Redirects and dst are handled as in [HostClient.Get].
func (c *HostClient) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL(&sameHost{HostClient: c}, dst, url, postArgs)
}

// DoRedirects does the same as Do, but follows up to maxRedirectsCount redirects (RFC 9110 §15.4). If there are more
// redirects, DoRedirects fails with ErrTooManyRedirects. After the call, req holds the last request that was sent.
//
// DoRedirects does not forward credentials to another origin. A redirect from https to http is refused unless
// AllowRedirectToPlain is set.
func (c *Client) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return follow((*singleCalls)(c), time.Time{}, req, resp, maxRedirectsCount)
}

// Get sends a GET request to url and returns the status code and the body. The call follows up to 16 redirects. The
// body overwrites the contents of dst. If dst is too small, a new slice is allocated.
func (c *Client) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return getURL((*singleCalls)(c), dst, url, time.Time{})
}

// GetTimeout does the same as Get, but fails with ErrTimeout if the call takes longer than timeout.
func (c *Client) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return getURL((*singleCalls)(c), dst, url, time.Now().Add(timeout))
}

// GetDeadline does the same as Get, but fails with ErrTimeout if the call has not ended by the deadline. The zero
// time means no deadline.
func (c *Client) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return getURL((*singleCalls)(c), dst, url, deadline)
}

// Post sends a POST request to url with postArgs as a form, and returns the status code and the body. The argument
// postArgs may be nil. Redirects and dst are handled as in [Client.Get].
func (c *Client) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return postURL((*singleCalls)(c), dst, url, postArgs)
}

// singleCalls are the calls of a Client that follow no redirects.
type singleCalls Client

func (s *singleCalls) rules(maxRedirects int) redirectRules {
	return redirectRules{max: maxRedirects, allowPlain: s.AllowRedirectToPlain, detailed: s.DetailedErrors}
}

func (s *singleCalls) do(ctx context.Context, deadline time.Time, req *Request, resp *Response) error {
	return (*Client)(s).call(ctx, deadline, req, resp)
}

var defaultClient Client

// Do sends req to the host in its URI and reads the response into resp. Do uses a Client that the whole process
// shares. See [Client.Do].
func Do(req *Request, resp *Response) error { return defaultClient.Do(req, resp) }

// DoContext sends req with a Client that the whole process shares, and cancels the call when ctx is done. See
// [Client.DoContext].
func DoContext(ctx context.Context, req *Request, resp *Response) error {
	return defaultClient.DoContext(ctx, req, resp)
}

// DoTimeout sends req with a Client that the whole process shares. A call that takes longer than timeout fails with
// ErrTimeout.
func DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return defaultClient.DoTimeout(req, resp, timeout)
}

// DoDeadline sends req with a Client that the whole process shares. A call that has not ended by the deadline fails
// with ErrTimeout. The zero time means no deadline.
func DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return defaultClient.DoDeadline(req, resp, deadline)
}

// DoRedirects sends req with a Client that the whole process shares, and follows up to maxRedirectsCount
// redirects. See [Client.DoRedirects].
func DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return defaultClient.DoRedirects(req, resp, maxRedirectsCount)
}

// Get sends a GET request to url and returns the status code and the body. Get uses a Client that the whole process
// shares. See [Client.Get].
func Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.Get(dst, url)
}

// GetTimeout does the same as Get, but fails with ErrTimeout if the call takes longer than timeout.
func GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return defaultClient.GetTimeout(dst, url, timeout)
}

// GetDeadline does the same as Get, but fails with ErrTimeout if the call has not ended by the deadline. The zero
// time means no deadline.
func GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return defaultClient.GetDeadline(dst, url, deadline)
}

// Post sends a POST request to url with postArgs as a form, using a Client that the whole process shares. See
// [Client.Post].
func Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.Post(dst, url, postArgs)
}
