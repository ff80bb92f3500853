package rest

import "context"

// Get asks for path and returns what the answer says, as a T. See Client.NewRequest for
// paths, and Client.Do for errors.
func Get[T any](ctx context.Context, c *Client, path string, options ...RequestOption) (T, error) {
	return call[T](ctx, c, "GET", path, nil, options)
}

// Post sends in to path and returns what the answer says.
func Post[In, Out any](ctx context.Context, c *Client, path string, in In, options ...RequestOption) (Out, error) {
	return call[Out](ctx, c, "POST", path, in, options)
}

// Put sends in to path and returns what the answer says.
func Put[In, Out any](ctx context.Context, c *Client, path string, in In, options ...RequestOption) (Out, error) {
	return call[Out](ctx, c, "PUT", path, in, options)
}

// Patch sends in to path and returns what the answer says.
func Patch[In, Out any](ctx context.Context, c *Client, path string, in In, options ...RequestOption) (Out, error) {
	return call[Out](ctx, c, "PATCH", path, in, options)
}

// Delete deletes what is at path.
func Delete(ctx context.Context, c *Client, path string, options ...RequestOption) error {
	r, err := c.NewRequest(ctx, "DELETE", path, nil, options...)
	if err != nil {
		return err
	}
	_, err = c.Do(r, nil)
	return err
}

func call[T any](ctx context.Context, c *Client, method, path string, body any, options []RequestOption) (T, error) {
	var v T
	r, err := c.NewRequest(ctx, method, path, body, options...)
	if err != nil {
		return v, err
	}
	_, err = c.Do(r, &v)
	return v, err
}
