package rest

import (
	"bytes"
	"errors"
	"io"
)

// receive makes v what the body of resp says, the answer to x, and ends it.
func (c *Client) receive(x *exchange, resp *Response, v any) error {
	defer resp.discard() // which may end the context
	err := c.read(resp, v)
	if ended := x.ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) { // transports call it what they like
		err = errors.Join(ended, err)
	}
	return explain(err, resp)
}

func (c *Client) read(resp *Response, v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case io.Writer:
		_, err := io.Copy(v, resp.Body)
		return err
	}
	if resp.length == 0 {
		return nil
	}
	return c.decode(resp, v)
}

// decode decodes the body into v: from one buffer, lent for as long as that takes, if it is up to
// maxPooled long, and else while it comes.
func (c *Client) decode(resp *Response, v any) error {
	if resp.length > c.maxBody {
		return &DecodeError{Err: ErrBodyTooLarge}
	}
	room := min(resp.length+1, maxPooled) // one more, to see the end
	buf := getBuffer(int(max(room, 0)))
	defer buf.release()
	body := &limited{r: resp.Body, left: c.maxBody}
	if resp.length < maxPooled {
		switch err := buf.fill(body, maxPooled); err {
		case nil:
		case io.EOF:
			resp.Body.Close()
			resp.empty()
			if isBlank(buf.b) {
				return nil
			}
			return asDecodeError(c.codec.Decode(buf.b, v))
		default:
			return err
		}
	}
	err := c.codec.DecodeFrom(io.MultiReader(bytes.NewReader(buf.b), body), v)
	if body.err != nil {
		return body.err // which is why, whatever the codec says
	}
	return asDecodeError(err)
}

// asDecodeError makes of what a codec returns a DecodeError.
func asDecodeError(err error) error {
	if err == nil {
		return nil
	}
	var d *DecodeError
	if errors.As(err, &d) {
		return err
	}
	return &DecodeError{Err: err}
}

// isBlank reports whether there is only white space in data.
func isBlank(data []byte) bool { return len(bytes.TrimLeft(data, " \t\r\n")) == 0 }

// limited is a body that ends with an error when it is too long.
type limited struct {
	r    io.Reader
	left int64
	err  error // what it ended with, nil while it goes on, and if that is io.EOF
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p[:min(int64(len(p))-1, l.left)+1]) // one more than may be, to see it
	if l.left -= int64(n); l.left < 0 {
		err = &DecodeError{Err: ErrBodyTooLarge}
	}
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

// explain says of err which request it is about.
func explain(err error, resp *Response) error {
	if err == nil {
		return nil
	}
	var d *DecodeError
	if errors.As(err, &d) {
		d.Method, d.URL = resp.method, redacted(resp.URL())
		return d
	}
	return &RequestError{resp.method, redacted(resp.URL()), err}
}
