package rest

import (
	"crypto/sha256"
	"io"
	"iter"
	"net/url"
	"strconv"
)

// Pages that are lists, one after the other. Iterators make a call when they need the next page; the first error
// is yielded with the zero value, and ends them. A page that was there before is ErrPagesRepeat: servers ignore
// parameters they do not know, and would send the first page forever. A hundred pages in a row without an element are ErrPagesEmpty.
//
// The request must not be used for anything else meanwhile. It may be iterated over again.

// Linked returns an iterator over the elements of all pages, of which each has a Link
// field (RFC 8288) that leads to the next. The next page has to be of the same origin, and that of the request: what
// its header has is for nobody else.
func Linked[T any](r *Request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := r.again()
		seen := before{}
		for {
			var page []T
			resp, err := next.client.Do(next, &page)
			if !yieldPage(page, err, yield) {
				return
			}
			to := resp.Link("next")
			if to == "" {
				return
			}
			seen.had(resp.URL())
			if err = next.follow(resp, to); err == nil {
				err = seen.next(to, len(page))
			}
			if err != nil {
				yieldPage(nil, err, yield)
				return
			}
		}
	}
}

// before is what is known about the pages before the next one.
type before struct {
	seen  map[[sha256.Size]byte]bool // which names they had, by their hashes: servers may make long ones
	empty int                        // how many of the last ones had no element
}

const maxEmptyPages = 100

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

// again returns a copy of r for the next page.
func (r *Request) again() *Request {
	next := *r
	next.ready, next.x = payload{spent: r.ready.spent}, exchange{} // which are those of r
	for _, f := range []*fields{&next.headers, &next.query, &next.form, &next.cookies, &next.params} {
		*f = f.clone() // hooks may set what they like
	}
	return &next
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

// Numbered returns an iterator over the elements of all pages, which have numbers in a
// query parameter, from first on, also if the path of the request has one already. An empty page is the last.
func Numbered[T any](r *Request, parameter string, first int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := r.again()
		next.path = withoutParam(next.path, parameter)
		var before [sha256.Size]byte
		for number := first; ; number++ {
			next.SetQuery(parameter, strconv.Itoa(number))
			var page []T
			sum, err := next.summed(&page)
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
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// hashedBody is a body whose bytes go into a hash as well.
type hashedBody struct {
	io.Reader
	io.Closer
}

// Cursors returns an iterator over the elements of all pages, each of which has elements
// somewhere in it, and a cursor for the next that goes into a query parameter; "" is none. split takes
// both out of a page.
func Cursors[P, T any](r *Request, parameter string, split func(page P) (elements []T, cursor string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := r.again()
		seen := before{}
		for {
			var page P
			_, err := next.client.Do(next, &page)
			if err != nil {
				yieldPage[T](nil, err, yield)
				return
			}
			elements, cursor := split(page)
			if !yieldPage(elements, nil, yield) || cursor == "" {
				return
			}
			if err := seen.next(cursor, len(elements)); err != nil {
				yieldPage[T](nil, err, yield)
				return
			}
			next.path = withoutParam(next.path, parameter)
			next.SetQuery(parameter, cursor)
		}
	}
}
