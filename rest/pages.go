package rest

import (
	"context"
	"crypto/sha256"
	"io"
	"iter"
	"net/url"
	"strconv"
)

// maxEmptyPages is how many pages in a row may be without an element.
const maxEmptyPages = 100

// PagesByLink returns an iterator over the elements of all pages of a list. The first page is at the given path. The
// Link header of each page (RFC 8288) holds the URL of the next page, as the link with the relation "next". The next
// page must have the same origin as the list, because the request's headers are not meant for other servers. The path
// has the form that [Client.NewRequest] describes.
//
// The iterator fetches each page only when the loop reaches it. The method is GET unless an option calls
// [Request.SetTarget]. If an error occurs, the iterator yields a zero element with the error and stops. If a page
// repeats an earlier page, for example because the server ignores a parameter, the error is ErrPagesRepeat. After a
// hundred empty pages in a row, the error is [ErrPagesEmpty].
//
// [EachPage] and [IntoResponse] give access to the responses. Each loop over the iterator applies the options and
// starts with the first page.
func PagesByLink[T any](ctx context.Context, c *Client, path string, options ...RequestOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r, err := c.NewRequest(ctx, "GET", path, nil, options...)
		if err != nil {
			yieldPage(nil, err, yield)
			return
		}
		seen := before{}
		for {
			var page []T
			resp, err := r.nextPage(&page)
			if !yieldPage(page, err, yield) {
				return
			}
			to := resp.Link("next")
			if to == "" {
				return
			}
			seen.had(resp.URL())
			if err = r.follow(resp, to); err == nil {
				err = seen.next(to, len(page))
			}
			if err != nil {
				yieldPage(nil, err, yield)
				return
			}
		}
	}
}

// nextPage is Do for a page.
func (r *Request) nextPage(v any) (*Response, error) {
	resp, err := r.client.Do(r, v)
	r.tellPage(resp, err)
	return resp, err
}

func (r *Request) tellPage(resp *Response, err error) {
	if err == nil && r.page != nil {
		r.page(resp)
	}
}

// before is what is known about the pages before the next one.
type before struct {
	seen  map[[sha256.Size]byte]bool // which names they had, by their hashes: servers may make long ones
	empty int                        // how many of the last ones had no element
}

// had notes a name of a page, and reports whether another one had it.
func (b *before) had(name string) bool {
	sum := sha256.Sum256([]byte(name))
	had := b.seen[sum]
	if b.seen == nil {
		b.seen = map[[sha256.Size]byte]bool{}
	}
	b.seen[sum] = true
	return had
}

// next returns why the next page, which has this name, is not to be asked for. The last one had this many elements.
func (b *before) next(name string, elements int) error {
	if b.empty++; elements > 0 {
		b.empty = 0
	}
	switch {
	case b.had(name):
		return ErrPagesRepeat
	case b.empty >= maxEmptyPages:
		return ErrPagesEmpty
	}
	return nil
}

// follow makes r a request for the next page, which says all that the URL of r said.
func (r *Request) follow(from *Response, to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return hideURL(err)
	}
	origin, err := originOf(u)
	if err != nil || origin != from.url.origin || origin != r.x.to.origin { // a redirect may have led to the first of them
		return errPageForeign
	}
	r.path, r.query, r.params = to, fields{}, fields{}
	return nil
}

// yieldPage yields the elements, or the error, and reports whether to go on.
func yieldPage[T any](page []T, err error, yield func(T, error) bool) bool {
	for _, element := range page {
		if !yield(element, nil) {
			return false
		}
	}
	if err != nil {
		var none T
		yield(none, err)
	}
	return err == nil
}

// PagesByNumber returns an iterator over the elements of all pages of a list. A query parameter holds the number of the
// page. The argument first is the number of the first page. The page number replaces any value that the path or an
// option sets for the query parameter. The first empty page ends the iteration. See [PagesByLink] for everything else.
func PagesByNumber[T any](ctx context.Context, c *Client, path, parameter string, first int, options ...RequestOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r, err := c.NewRequest(ctx, "GET", path, nil, options...)
		if err != nil {
			yieldPage(nil, err, yield)
			return
		}
		r.path = withoutParam(r.path, parameter)
		var before [sha256.Size]byte
		for number := first; ; number++ {
			r.SetQuery(parameter, strconv.Itoa(number))
			var page []T
			sum, err := r.summed(&page)
			if err == nil && len(page) > 0 && number > first && sum == before {
				page, err = nil, ErrPagesRepeat
			}
			if !yieldPage(page, err, yield) || len(page) == 0 {
				return
			}
			before = sum
		}
	}
}

// summed is Do that returns a hash of the body as well.
func (r *Request) summed(v any) (sum [sha256.Size]byte, err error) {
	resp, err := r.client.Open(r)
	if err != nil {
		return sum, err
	}
	hash := sha256.New()
	resp.Body = hashedBody{io.TeeReader(resp.Body, hash), resp.Body}
	err = r.client.receive(&r.x, resp, v)
	r.tellPage(resp, err)
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// hashedBody is a body whose bytes go into a hash as well.
type hashedBody struct {
	io.Reader
	io.Closer
}

// PagesByCursor returns an iterator over the elements of all pages of a list. Each page is decoded into a P. The
// function split returns the page's elements and the cursor of the next page. The iterator sends the cursor in the
// given query parameter. An empty cursor ends the iteration. See [PagesByLink] for everything else.
func PagesByCursor[P, T any](
	ctx context.Context, c *Client, path, parameter string, split func(page P) (elements []T, cursor string), options ...RequestOption,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r, err := c.NewRequest(ctx, "GET", path, nil, options...)
		if err != nil {
			yieldPage(nil, err, yield)
			return
		}
		seen := before{}
		for {
			var page P
			if _, err := r.nextPage(&page); err != nil {
				yieldPage(nil, err, yield)
				return
			}
			elements, cursor := split(page)
			if !yieldPage(elements, nil, yield) || cursor == "" {
				return
			}
			if err := seen.next(cursor, len(elements)); err != nil {
				yieldPage(nil, err, yield)
				return
			}
			r.path = withoutParam(r.path, parameter)
			r.SetQuery(parameter, cursor)
		}
	}
}
