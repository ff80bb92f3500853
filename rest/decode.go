package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gallop-http/gallop/codec"
)

// receive stores the body of resp, the response to x, in v and then discards what is left of it.
func (c *Client) receive(x *exchange, resp *Response, v any) error {
	defer resp.discard() // this may cancel the context
	err := c.read(resp, v)
	if ended := x.ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) { // transports report a cancelled context in various ways
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

// decode decodes the body into v. A body of up to maxPooled bytes is decoded from a pooled buffer. A longer one is
// decoded while it arrives.
func (c *Client) decode(resp *Response, v any) error {
	if resp.length > c.maxBody {
		return &DecodeError{Err: ErrBodyTooLarge}
	}
	body := &limited{r: resp.Body, left: c.maxBody, length: resp.length, blank: true}
	if resp.length >= maxPooled {
		return c.decodeFrom(body, body, v)
	}
	buf := getBuffer(int(max(resp.length+1, 0))) // one more byte, to detect the end
	defer buf.release()
	switch err := buf.fill(body, maxPooled); err {
	case nil:
		return c.decodeFrom(io.MultiReader(bytes.NewReader(buf.b), body), body, v)
	case io.EOF:
		resp.Body.Close()
		resp.empty()
		if body.blank {
			return nil
		}
		return asDecodeError(c.codec.Decode(buf.b, v), buf.b)
	default:
		return err
	}
}

// decodeFrom decodes a body that is too long for one buffer. r is body, with what was already read from it in front.
func (c *Client) decodeFrom(r io.Reader, body *limited, v any) error {
	err := c.decodeAll(r, v)
	switch {
	case body.err != nil:
		return body.err // the cause of any error that the codec reports
	case body.blank && body.ended:
		return nil
	}
	return asDecodeError(err, nil)
}

// decodeAll decodes r. It reads everything first if the codec cannot decode a stream.
func (c *Client) decodeAll(r io.Reader, v any) error {
	if s, ok := c.codec.(codec.StreamDecoder); ok {
		return s.DecodeFrom(r, v)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return asDecodeError(c.codec.Decode(data, v), data)
}

// asDecodeError wraps an error of a codec in a *DecodeError, with the place in the text if the codec reports it.
// data is the text, or nil if it was a stream.
func asDecodeError(err error, data []byte) error {
	if err == nil {
		return nil
	}
	var d *DecodeError
	var at *codec.Error
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &d):
		return err
	case errors.As(err, &at):
		return &DecodeError{Offset: at.Offset, Path: at.Path, Err: at.Err}
	case err == io.ErrUnexpectedEOF, errors.As(err, &syntax) && isCut(data, syntax.Offset):
		return &DecodeError{Offset: int64(len(data)), Err: io.ErrUnexpectedEOF}
	case syntax != nil:
		return &DecodeError{Offset: syntax.Offset, Err: err}
	case errors.As(err, &mistyped):
		return &DecodeError{Offset: mistyped.Offset, Path: mistyped.Field, Err: err}
	}
	return &DecodeError{Err: err}
}

// isCut reports whether data is a truncated JSON text. json.Unmarshal, which found an error at the offset, reports
// that as a syntax error, but a json.Decoder distinguishes the two.
func isCut(data []byte, offset int64) bool {
	return offset >= int64(len(data)) && errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)), io.ErrUnexpectedEOF)
}

// isBlank reports whether data consists of white space only.
func isBlank(data []byte) bool { return len(bytes.TrimLeft(data, " \t\r\n")) == 0 }

// limited is a body that fails once it exceeds a limit.
type limited struct {
	r      io.Reader
	left   int64
	length int64 // declared number of bytes left, or -1
	blank  bool  // only white space so far
	ended  bool  // io.EOF was reached
	err    error // the error that ended the body, other than io.EOF
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p[:min(int64(len(p))-1, l.left)+1]) // read one byte beyond the limit, to detect a body that is too long
	l.blank = l.blank && isBlank(p[:n])
	if l.length >= 0 {
		l.length = max(l.length-int64(n), 0)
	}
	if l.left -= int64(n); l.left < 0 {
		err = &DecodeError{Err: ErrBodyTooLarge}
	}
	if l.ended = err == io.EOF; err != nil && !l.ended {
		l.err = err
	}
	return n, err
}

// Left returns how many bytes the body still has according to its declared length, or -1 if that is unknown.
func (l *limited) Left() int64 { return l.length }

// explain adds the method and the URL of the request to err.
func explain(err error, resp *Response) error {
	if err == nil {
		return nil
	}
	var d *DecodeError
	if errors.As(err, &d) {
		d.Method, d.URL = resp.method, redacted(resp.URL())
		d.StatusCode, d.ContentType = resp.StatusCode, resp.Header("Content-Type")
		return d
	}
	return &RequestError{Method: resp.method, URL: redacted(resp.URL()), Err: err, receiving: true}
}
