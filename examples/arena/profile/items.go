// Package profile holds what all servers of the arena share: the items, the documents made of them, the database, and the
// gRPC service. Each server adds only its own routing and its own way to read requests and write responses.
//
//	items.go      the items and the JSON documents
//	database.go   the items in PostgreSQL
//	cache.go      a cache of documents with a short lifetime
//	check.go      the responses that a server must give
//	arena.proto   the gRPC service, with its generated code
package profile

import "fmt"

// Item is a product.
type Item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int      `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   Rating   `json:"rating"`
}

// Rating is how buyers rate a product.
type Rating struct {
	Score int `json:"score"`
	Count int `json:"count"`
}

// Line is an item with its total price.
type Line struct {
	Item
	Total int `json:"total"`
}

// Lines is the document of the profile json.
type Lines struct {
	Items []Line `json:"items"`
	Count int    `json:"count"`
}

// Page is a part of the items in the database.
type Page struct {
	Items []Item `json:"items"`
	Count int    `json:"count"`
}

var (
	kinds      = []string{"Widget", "Bracket", "Lantern", "Spindle", "Coupler", "Gasket", "Pulley"}
	greek      = []string{"Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta"}
	categories = []string{"electronics", "tools", "garden", "office", "kitchen"}
	tags       = []string{"fast", "new", "sale", "heavy", "light", "fragile"}
)

// NewItem returns the item with this number, counted from 1. The same number always gives the same item.
func NewItem(n int) Item {
	return Item{
		ID:       n,
		Name:     fmt.Sprintf("%s %s", greek[n%len(greek)], kinds[n%len(kinds)]),
		Category: categories[n%len(categories)],
		Price:    10 + n*37%490,
		Quantity: 1 + n*13%20,
		Active:   n%3 != 0,
		Tags:     []string{tags[n%len(tags)], tags[(n+2)%len(tags)]},
		Rating:   Rating{Score: 10 + n*7%41, Count: n * 31 % 500},
	}
}

// MaxItems is the number of items of the profile json.
const MaxItems = 50

// Items are the items of the profile json.
var Items = func() []Item {
	items := make([]Item, MaxItems)
	for i := range items {
		items[i] = NewItem(i + 1)
	}
	return items
}()

// Fill computes the document with the first count items, whose totals are multiplied by m. It reuses the memory of l.
func (l *Lines) Fill(count, m int) {
	l.Items = l.Items[:0]
	for _, item := range Items[:count] {
		l.Items = append(l.Items, Line{item, item.Price * item.Quantity * m})
	}
	l.Count = count
}
