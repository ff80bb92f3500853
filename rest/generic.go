package rest

import "context"

// Get sends a GET request to the given path and decodes the response body into a T. See [Client.NewRequest] for paths
// and [Client.Do] for errors. IntoResponse and Send give access to the response.
func Get[T any](ctx context.Context, c *Client, path string, options ...RequestOption) (T, error) {
	v, _, err := Send[T](ctx, c, "GET", path, nil, options...)
	return v, err
}

// Head sends a HEAD request to the given path. If a response arrived, the returned Response is non-nil.
func Head(ctx context.Context, c *Client, path string, options ...RequestOption) (*Response, error) {
	r, err := c.NewRequest(ctx, "HEAD", path, nil, options...)
	if err != nil {
		return nil, err
	}
	return c.Do(r, nil)
}

// Post sends a POST request to the given path and decodes the response body into an Out. The argument in is the request
// body: see [Client.NewRequest] for the types that it may have.
func Post[Out any](ctx context.Context, c *Client, path string, in any, options ...RequestOption) (Out, error) {
	v, _, err := Send[Out](ctx, c, "POST", path, in, options...)
	return v, err
}

// Put sends a PUT request to the given path. See [Post].
func Put[Out any](ctx context.Context, c *Client, path string, in any, options ...RequestOption) (Out, error) {
	v, _, err := Send[Out](ctx, c, "PUT", path, in, options...)
	return v, err
}

// Patch sends a PATCH request to the given path. See [Post].
func Patch[Out any](ctx context.Context, c *Client, path string, in any, options ...RequestOption) (Out, error) {
	v, _, err := Send[Out](ctx, c, "PATCH", path, in, options...)
	return v, err
}

// Delete sends a DELETE request to the given path and ignores the response body. To send a body or decode the response,
// call [Send].
func Delete(ctx context.Context, c *Client, path string, options ...RequestOption) error {
	r, err := c.NewRequest(ctx, "DELETE", path, nil, options...)
	if err != nil {
		return err
	}
	_, err = c.Do(r, nil)
	return err
}

// Send sends a request with the given method and body to the given path. Send decodes the response body into a T and
// also returns the response. If the argument body is nil, no body is sent. If a response arrived, the returned Response
// is non-nil, even if there is an error.
func Send[T any](ctx context.Context, c *Client, method, path string, body any, options ...RequestOption) (T, *Response, error) {
	var v T
	r, err := c.NewRequest(ctx, method, path, body, options...)
	if err != nil {
		return v, nil, err
	}
	resp, err := c.Do(r, &v)
	return v, resp, err
}
