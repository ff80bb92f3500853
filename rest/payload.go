package rest

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"

	"github.com/gallop-http/gallop/codec"
)

// payload is the body of a request.
type payload struct {
	contentType string
	data        []byte // the whole body, if source is nil
	source      func() (io.Reader, error)
	length      int64   // of source; -1 if unknown
	owner       *buffer // the pooled buffer that data is in, or nil
	shared      *lent   // owner, shared with readers that may outlast the call
	once        bool    // source can be called only once
	spent       bool    // a source that works only once was used
	made        bool
}

// replayable reports whether the body can be sent, for the first time or again.
func (p *payload) replayable() bool { return p == nil || !p.spent }

func (p *payload) empty() bool { return p.source == nil && len(p.data) == 0 }

// size returns the length of the body, or -1 if unknown.
func (p *payload) size() int64 {
	if p.source != nil {
		return p.length
	}
	return int64(len(p.data))
}

// release frees the memory of the payload. The next call makes the payload again, unless it is spent.
func (p *payload) release() {
	if p.shared != nil {
		p.shared.release()
	} else {
		p.owner.release()
	}
	*p = payload{spent: p.spent}
}

// from makes p the body of r.
func (p *payload) from(r *Request) error {
	if p.made {
		return nil
	}
	if p.spent {
		return &EncodeError{Err: errSpent}
	}
	p.made = true
	switch body := r.body.(type) {
	case nil:
		if len(r.files) > 0 {
			return p.multipart(r)
		}
		if len(r.form.names) > 0 {
			p.contentType, p.data = "application/x-www-form-urlencoded", []byte(appendQuery("", &r.form))
		}
	case []byte:
		p.contentType, p.data = "application/octet-stream", body
	case url.Values:
		p.contentType, p.data = "application/x-www-form-urlencoded", []byte(body.Encode())
	case sized:
		p.contentType = "application/octet-stream"
		return p.read(body.Reader, body.size)
	case io.Reader:
		p.contentType = "application/octet-stream"
		return p.read(body, -1)
	default:
		return p.encode(r.client.codec, body)
	}
	return nil
}

func (p *payload) encode(c codec.Codec, v any) error {
	p.contentType, p.owner = c.ContentType(), getBuffer(0)
	if err := p.owner.encode(c, v); err != nil {
		p.release()
		return &EncodeError{Err: err}
	}
	p.data = p.owner.b
	return nil
}

// read makes p a body from src. size is its length if it is not negative.
func (p *payload) read(src io.Reader, size int64) error {
	p.length = max(size, -1)
	at, isAt := src.(io.ReaderAt)
	seeker, isSeeker := src.(io.Seeker)
	if !isAt || !isSeeker {
		if b, ok := src.(*bytes.Buffer); ok && size < 0 {
			p.length = int64(b.Len())
		}
		p.readOnce(src)
		return nil
	}
	from, err := seeker.Seek(0, io.SeekCurrent)
	if errors.Is(err, os.ErrClosed) {
		return &EncodeError{Err: err}
	}
	if err != nil { // it is a file, but a pipe or a terminal
		p.readOnce(src)
		return nil
	}
	if size < 0 {
		to, err := seeker.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = seeker.Seek(from, io.SeekStart)
		}
		if err != nil {
			return &EncodeError{Err: err}
		}
		p.length = max(to-from, 0) // a file that is read behind its end has nothing
	}
	p.source = func() (io.Reader, error) { return io.NewSectionReader(at, from, p.length), nil }
	return nil
}

// readOnce makes p a body from src that can be sent once, unless there is nothing to be read.
func (p *payload) readOnce(src io.Reader) {
	if p.length == 0 {
		p.source = func() (io.Reader, error) { return bytes.NewReader(nil), nil }
		return
	}
	p.once = true
	p.source = func() (io.Reader, error) { return src, nil }
}

var errBodyOnce = errors.New("the body can be read only once, so it cannot be signed")

var errSpent = errors.New("what it is read from was read already")

// open returns a reader of the body from its beginning. A Close method of the caller's reader is hidden.
func (p *payload) open() (io.Reader, error) {
	if p.spent {
		return nil, errSpent
	}
	p.spent = p.once
	src, err := p.source()
	if err != nil || !p.once {
		return src, err
	}
	return struct{ io.Reader }{src}, nil
}

// reader returns the body for a transport that may go on reading after it has returned a response.
func (p *payload) reader() (io.ReadCloser, error) {
	if p.source != nil {
		src, err := p.open()
		return io.NopCloser(src), err
	}
	if p.owner == nil {
		return io.NopCloser(bytes.NewReader(p.data)), nil
	}
	if p.shared == nil {
		p.shared = &lent{buffer: p.owner}
		p.shared.users.Store(1)
	}
	return p.shared.reader(), nil
}
