package main

import (
	"crypto/rand"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// upload streams the file of a multipart form to disk and adds a note about it to the board.
func (b *board) upload(c *web.Ctx) error {
	parts, err := c.RequestCtx().Request.MultipartReader()
	if err != nil {
		return &web.Error{Status: gallop.StatusUnsupportedMediaType, Err: err}
	}
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return web.NewError(gallop.StatusBadRequest, "the form has no file")
		}
		if err != nil {
			return badBody(err)
		}
		if part.FormName() != "file" {
			continue
		}
		name, err := b.save(part, part.FileName())
		if err != nil {
			return err
		}
		added := b.notes.add(note{By: user(c).Name, Text: part.FileName(), File: "/files/" + name})
		b.events.publish("note", added)
		return c.Status(gallop.StatusCreated).JSON(added)
	}
}

// allowed lists the extensions of files that may be uploaded. None of them makes a browser run scripts.
var allowed = map[string]bool{".txt": true, ".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true, ".pdf": true}

// save writes a file under a random name with the client's extension. It removes the file if the upload is too large or
// breaks off.
func (b *board) save(r io.Reader, called string) (name string, err error) {
	ext := strings.ToLower(path.Ext(called))
	if !allowed[ext] {
		return "", web.NewError(gallop.StatusUnsupportedMediaType, "only text, PDF and image files are accepted")
	}
	file, err := b.files.Create(rand.Text() + ext)
	if err != nil {
		return "", err
	}
	defer func() {
		if failed := file.Close(); err == nil {
			err = failed
		}
		if err != nil {
			b.files.Remove(filepath.Base(file.Name()))
		}
	}()
	n, err := io.Copy(file, io.LimitReader(r, maxFile+1))
	if err != nil {
		return "", badBody(err)
	}
	if n > maxFile {
		return "", web.NewError(gallop.StatusRequestEntityTooLarge, "a file has at most 8 MiB")
	}
	return filepath.Base(file.Name()), nil
}

// badBody is the error for a body that could not be read.
func badBody(err error) error {
	if errors.Is(err, gallop.ErrBodyTooLarge) {
		return &web.Error{Status: gallop.StatusRequestEntityTooLarge, Err: err}
	}
	return &web.Error{Status: gallop.StatusBadRequest, Err: err}
}
