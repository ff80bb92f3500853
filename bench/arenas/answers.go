package arenas

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// sum adds two arguments and, if there is one, a body.
func sum(a, b, body string) (string, error) {
	x, err1 := strconv.ParseInt(a, 10, 32)
	y, err2 := strconv.ParseInt(b, 10, 32)
	var z int64
	var err3 error
	if body = strings.TrimSpace(body); body != "" {
		z, err3 = strconv.ParseInt(body, 10, 32)
	}
	return strconv.FormatInt(x+y+z, 10), errors.Join(err1, err2, err3)
}

var errArgument = errors.New("an argument is not a number in its range")

// lines makes the document of the workload json.
func lines(count, m string) (*profile.Lines, error) {
	n, err1 := strconv.Atoi(count)
	times, err2 := strconv.Atoi(m)
	if err1 != nil || err2 != nil || n < 0 || n > profile.MaxItems {
		return nil, errArgument
	}
	l := new(profile.Lines)
	l.Fill(n, times)
	return l, nil
}

// args returns an argument of a query by its name.
type args func(name string) string

func (a args) number(name string, missing int) (int, error) {
	value := a(name)
	if value == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, errArgument
	}
	return n, nil
}

// store answers requests for items, with the cache.
type store struct {
	items *profile.Database
	cache profile.Cache
}

// priceRange returns items by their prices.
func (s *store) priceRange(ctx context.Context, a args) (profile.Page, error) {
	low, err1 := a.number("min", 10)
	high, err2 := a.number("max", 50)
	limit, err3 := a.number("limit", 50)
	if err := errors.Join(err1, err2, err3); err != nil {
		return profile.Page{}, err
	}
	return s.items.Range(ctx, low, high, min(limit, 100))
}

// list returns a page of a category.
func (s *store) list(ctx context.Context, a args) (profile.Page, error) {
	page, err1 := a.number("page", 1)
	limit, err2 := a.number("limit", 10)
	if err := errors.Join(err1, err2); err != nil || page < 1 {
		return profile.Page{}, errArgument
	}
	return s.items.List(ctx, strings.Clone(a("category")), page, min(limit, 100))
}

// get returns the document of an item and whether it came from the cache.
func (s *store) get(ctx context.Context, path string) (body []byte, hit bool, err error) {
	id, err := strconv.Atoi(path)
	if err != nil {
		return nil, false, profile.ErrNoItem
	}
	body, ticket := s.cache.Get(id)
	if body != nil {
		return body, true, nil
	}
	item, err := s.items.Get(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if body, err = json.Marshal(item); err == nil {
		s.cache.Put(id, ticket, body)
	}
	return body, false, err
}

// put creates or replaces an item.
func (s *store) put(ctx context.Context, body []byte) (item profile.Item, err error) {
	if err := json.Unmarshal(body, &item); err != nil || item.ID < 1 || item.Name == "" {
		return item, errArgument
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	err = s.items.Put(ctx, item)
	s.cache.Drop(item.ID)
	return item, err
}

// update changes an item.
func (s *store) update(ctx context.Context, path string, body []byte) (item profile.Item, err error) {
	id, err := strconv.Atoi(path)
	if err != nil {
		return item, profile.ErrNoItem
	}
	if err := json.Unmarshal(body, &item); err != nil || item.Name == "" {
		return item, errArgument
	}
	item.ID = id
	err = s.items.Update(ctx, item)
	s.cache.Drop(id)
	return item, err
}

// status returns the status that an error has.
func status(err error) int {
	switch {
	case err == nil:
		return 200
	case errors.Is(err, profile.ErrNoItem):
		return 404
	case errors.Is(err, errArgument):
		return 400
	}
	return 503
}

// cacheState is the value of X-Cache.
func cacheState(hit bool) string {
	if hit {
		return "HIT"
	}
	return "MISS"
}
