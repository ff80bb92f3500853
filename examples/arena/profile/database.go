package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Database is the table of items in PostgreSQL. It may be used by several goroutines at the same time.
type Database struct{ pool *pgxpool.Pool }

// ErrNoItem reports that there is no item with an ID.
var ErrNoItem = errors.New("there is no such item")

const schema = `
CREATE TABLE IF NOT EXISTS items (
	id       integer PRIMARY KEY,
	name     text    NOT NULL,
	category text    NOT NULL,
	price    integer NOT NULL,
	quantity integer NOT NULL,
	active   boolean NOT NULL,
	tags     text[]  NOT NULL,
	score    integer NOT NULL,
	votes    integer NOT NULL
);
CREATE INDEX IF NOT EXISTS items_price ON items (price);
CREATE INDEX IF NOT EXISTS items_category ON items (category, id);`

const columns = `id, name, category, price, quantity, active, tags, score, votes`

// Open connects to a database, for example "postgres://localhost/arena". If the table of items is empty or missing, Open
// creates it with this number of items.
func Open(ctx context.Context, url string, items int) (*Database, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	d := &Database{pool}
	if err := d.create(ctx, items); err != nil {
		pool.Close()
		return nil, fmt.Errorf("preparing the table of items: %w", err)
	}
	return d, nil
}

// Close closes all connections.
func (d *Database) Close() { d.pool.Close() }

// create holds a lock of the database, because several servers may start together.
func (d *Database) create(ctx context.Context, items int) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(42)`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, schema); err != nil {
			return err
		}
		var some bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM items)`).Scan(&some); err != nil || some {
			return err
		}
		rows := pgx.CopyFromSlice(items, func(i int) ([]any, error) {
			return values(NewItem(i + 1)), nil
		})
		names := []string{"id", "name", "category", "price", "quantity", "active", "tags", "score", "votes"}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"items"}, names, rows); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `ANALYZE items`) // or PostgreSQL would change its plans some time later, and with them the speed
		return err
	})
}

func values(i Item) []any {
	return []any{i.ID, i.Name, i.Category, i.Price, i.Quantity, i.Active, i.Tags, i.Rating.Score, i.Rating.Count}
}

// Range returns up to limit items whose prices lie between low and high.
func (d *Database) Range(ctx context.Context, low, high, limit int) (Page, error) {
	return d.page(ctx, `SELECT `+columns+` FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3`, low, high, limit)
}

// List returns a page of the items of a category, in order of their IDs. Pages count from 1.
func (d *Database) List(ctx context.Context, category string, page, limit int) (Page, error) {
	return d.page(ctx, `SELECT `+columns+` FROM items WHERE category = $1 ORDER BY id OFFSET $2 LIMIT $3`, category, (page-1)*limit, limit)
}

func (d *Database) page(ctx context.Context, query string, arguments ...any) (Page, error) {
	rows, err := d.pool.Query(ctx, query, arguments...)
	if err != nil {
		return Page{}, err
	}
	items, err := pgx.CollectRows(rows, scan)
	return Page{items, len(items)}, err
}

// Get returns the item with an ID, or ErrNoItem.
func (d *Database) Get(ctx context.Context, id int) (Item, error) {
	rows, err := d.pool.Query(ctx, `SELECT `+columns+` FROM items WHERE id = $1`, id)
	if err != nil {
		return Item{}, err
	}
	item, err := pgx.CollectExactlyOneRow(rows, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNoItem
	}
	return item, err
}

// Put creates an item or replaces it.
func (d *Database) Put(ctx context.Context, i Item) error {
	_, err := d.pool.Exec(ctx, `INSERT INTO items (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET name = $2, category = $3, price = $4, quantity = $5, active = $6, tags = $7, score = $8, votes = $9`,
		values(i)...)
	return err
}

// Update changes the name, price and quantity of an item, or returns ErrNoItem.
func (d *Database) Update(ctx context.Context, i Item) error {
	done, err := d.pool.Exec(ctx, `UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1`, i.ID, i.Name, i.Price, i.Quantity)
	if err == nil && done.RowsAffected() == 0 {
		err = ErrNoItem
	}
	return err
}

func scan(row pgx.CollectableRow) (i Item, err error) {
	err = row.Scan(&i.ID, &i.Name, &i.Category, &i.Price, &i.Quantity, &i.Active, &i.Tags, &i.Rating.Score, &i.Rating.Count)
	return i, err
}
