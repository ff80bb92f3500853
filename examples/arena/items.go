package main

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// maxItems is how many items a response has at most.
const maxItems = 100

// priceRange responds with items whose prices lie between min and max.
func (a *arena) priceRange(ctx *gallop.RequestCtx) {
	if !allow(ctx, "GET", "HEAD") {
		return
	}
	low, ok1 := number(ctx, "min", 10)
	high, ok2 := number(ctx, "max", 50)
	limit, ok3 := number(ctx, "limit", 50)
	if !ok1 || !ok2 || !ok3 {
		ctx.Error("min, max and limit must be numbers\n", gallop.StatusBadRequest)
		return
	}
	page, err := a.items.Range(ctx, low, high, min(limit, maxItems))
	respond(ctx, page, err)
}

// collection lists the items of a category, or creates or replaces an item.
func (a *arena) collection(ctx *gallop.RequestCtx) {
	if !allow(ctx, "GET", "HEAD", "POST") {
		return
	}
	if ctx.IsPost() {
		item, ok := readItem(ctx)
		if !ok {
			return
		}
		err := a.items.Put(ctx, item)
		a.cache.Drop(item.ID)
		if respond(ctx, item, err); err == nil {
			ctx.SetStatusCode(gallop.StatusCreated)
		}
		return
	}
	page, ok1 := number(ctx, "page", 1)
	limit, ok2 := number(ctx, "limit", 10)
	if !ok1 || !ok2 || page < 1 {
		ctx.Error("page and limit must be numbers\n", gallop.StatusBadRequest)
		return
	}
	found, err := a.items.List(ctx, string(ctx.QueryArgs().Peek("category")), page, min(limit, maxItems))
	respond(ctx, found, err)
}

// item responds with an item, from the cache if possible, or changes it.
func (a *arena) item(ctx *gallop.RequestCtx) {
	id, err := strconv.ParseInt(string(ctx.Path()[len("/crud/items/"):]), 10, 32)
	if err != nil || id < 1 {
		ctx.Error("the path must end in the number of an item\n", gallop.StatusNotFound)
		return
	}
	if !allow(ctx, "GET", "HEAD", "PUT") {
		return
	}
	if ctx.IsPut() {
		a.update(ctx, int(id))
		return
	}
	body, ticket := a.cache.Get(int(id))
	if body != nil {
		ctx.Response.Header.Set("X-Cache", "HIT")
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(body)
		return
	}
	item, err := a.items.Get(ctx, int(id))
	if respond(ctx, item, err); err == nil {
		ctx.Response.Header.Set("X-Cache", "MISS")
		a.cache.Put(int(id), ticket, bytes.Clone(ctx.Response.Body()))
	}
}

func (a *arena) update(ctx *gallop.RequestCtx, id int) {
	item, ok := readItem(ctx)
	if !ok {
		return
	}
	item.ID = id
	err := a.items.Update(ctx, item)
	a.cache.Drop(id)
	respond(ctx, item, err)
}

// readItem reads the item in the body, or responds with an error.
func readItem(ctx *gallop.RequestCtx) (item profile.Item, ok bool) {
	if err := (codec.JSON{}).Decode(ctx.PostBody(), &item); err != nil {
		ctx.Error("the body must be an item in JSON\n", gallop.StatusBadRequest)
		return item, false
	}
	if item.ID < 1 && ctx.IsPost() || item.Name == "" || item.Price < 0 || item.Quantity < 0 {
		ctx.Error("an item needs an id, a name, a price and a quantity\n", gallop.StatusUnprocessableEntity)
		return item, false
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	return item, true
}

// respond sends v, or what the error means to the client.
func respond(ctx *gallop.RequestCtx, v any, err error) {
	switch {
	case err == nil:
		sendJSON(ctx, v)
	case errors.Is(err, profile.ErrNoItem):
		ctx.Error("there is no such item\n", gallop.StatusNotFound)
	case errors.Is(err, context.Canceled): // the client has gone
		ctx.SetStatusCode(gallop.StatusServiceUnavailable)
	default:
		ctx.Logger().Printf("database: %v", err)
		ctx.Error("the database failed\n", gallop.StatusServiceUnavailable)
	}
}

// number returns an argument of the query.
func number(ctx *gallop.RequestCtx, name string, missing int) (int, bool) {
	if !ctx.QueryArgs().Has(name) {
		return missing, true
	}
	n, err := strconv.ParseInt(string(ctx.QueryArgs().Peek(name)), 10, 32)
	return int(n), err == nil && n >= 0
}
