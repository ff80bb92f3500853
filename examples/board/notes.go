package main

import (
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// note is a note on the board.
type note struct {
	ID   int       `json:"id"`
	By   string    `json:"by"`
	Text string    `json:"text"`
	File string    `json:"file,omitempty"`
	At   time.Time `json:"at"`
}

// IsImage reports whether the note has a file that browsers show in a page. The template calls it.
func (n note) IsImage() bool {
	switch path.Ext(n.File) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// maxNotes is how many notes the board keeps. A new note then replaces the oldest one.
const maxNotes = 100

// notes holds all notes on the board.
type notes struct {
	mu   sync.Mutex
	last int // ID
	list []note
}

// all returns a copy of the notes, from the oldest to the newest. It is never nil, which would be null in JSON.
func (n *notes) all() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]note{}, n.list...)
}

// add puts a note on the board and returns it with its ID.
func (n *notes) add(new note) note {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	new.ID, new.At = n.last, time.Now().UTC().Truncate(time.Second)
	if len(n.list) == maxNotes {
		n.list = slices.Delete(n.list, 0, 1)
	}
	n.list = append(n.list, new)
	return new
}

// remove deletes a note if the user called by wrote it.
func (n *notes) remove(id int, by string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.list, func(n note) bool { return n.ID == id })
	switch {
	case i < 0:
		return web.ErrNotFound
	case n.list[i].By != by:
		return web.NewError(gallop.StatusForbidden, "only the author of a note can remove it")
	}
	n.list = slices.Delete(n.list, i, i+1)
	return nil
}

// listNotes sends all notes as JSON, or as text with one line per note.
func (b *board) listNotes(c *web.Ctx) error {
	all := b.notes.all()
	return c.Format(
		web.Offer{MediaType: "json", Handler: func(c *web.Ctx) error { return c.JSON(all) }},
		web.Offer{MediaType: "txt", Handler: func(c *web.Ctx) error {
			var text strings.Builder
			for _, n := range all {
				text.WriteString(n.By + ": " + n.Text + "\n")
			}
			return c.SendString(text.String())
		}},
	)
}

func (b *board) addNote(c *web.Ctx) error {
	var in struct {
		Text string `json:"text"`
	}
	if err := c.Bind().Body(&in); err != nil {
		return err
	}
	if in.Text = strings.TrimSpace(in.Text); in.Text == "" || len(in.Text) > 1000 {
		return web.NewError(gallop.StatusUnprocessableEntity, "a note has 1 to 1000 bytes")
	}
	added := b.notes.add(note{By: user(c).Name, Text: in.Text})
	b.events.publish("note", added)
	return c.Status(gallop.StatusCreated).JSON(added)
}

func (b *board) removeNote(c *web.Ctx) error {
	in, err := web.Bind[struct {
		ID int `path:"id"`
	}](c)
	if err != nil {
		return err
	}
	if err := b.notes.remove(in.ID, user(c).Name); err != nil {
		return err
	}
	b.events.publish("removed", in.ID)
	return c.SendStatus(gallop.StatusNoContent)
}
